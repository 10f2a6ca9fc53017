//! The levels at which the embedded cluster is compared.

use crate::controlplane::{Options, Version};

/// A Kubernetes version with its feature gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// 1.36, gates at their defaults.
    V1_36,
    /// 1.33, gates at their defaults.
    V1_33,
    /// 1.36 with `MaxUnavailableStatefulSet`.
    V1_36Max,
}

impl Level {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::V1_36, Self::V1_33, Self::V1_36Max];

    /// As scripts, folders and the report name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V1_36 => "1.36",
            Self::V1_33 => "1.33",
            Self::V1_36Max => "1.36-max",
        }
    }

    /// The level of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The control plane's version.
    pub(super) fn version(self) -> Version {
        match self {
            Self::V1_36 | Self::V1_36Max => Version::V1_36,
            Self::V1_33 => Version::V1_33,
        }
    }

    /// The feature gates it is started with, as `--feature-gates` takes them.
    pub(super) fn gates(self) -> &'static str {
        match self {
            Self::V1_36Max => "MaxUnavailableStatefulSet=true",
            Self::V1_36 | Self::V1_33 => "",
        }
    }

    /// How its control plane is started.
    pub(super) fn options(self) -> Options {
        Options { volumes: 3000, feature_gates: self.gates().to_owned() }
    }
}
