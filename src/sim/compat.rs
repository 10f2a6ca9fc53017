//! Which Kubernetes the embedded cluster behaves like.

use crate::manifest::default::Level;

/// A Kubernetes version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// As 1.33.13 was seen to behave.
    V1_33,
    /// As 1.36.3 was seen to behave.
    V1_36,
    /// As the source of 1.37 says; compared with no real one.
    V1_37,
}

/// A version with its feature gates: all that the embedded cluster's behaviour depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Compat {
    /// The version.
    pub version: Version,
    /// Whether `MaxUnavailableStatefulSet` is on: off by default up to 1.36, on from 1.37.
    pub max_unavailable: bool,
}

impl Compat {
    /// A version with its gates at their defaults.
    pub const fn of(version: Version) -> Self {
        Self { version, max_unavailable: matches!(version, Version::V1_37) }
    }

    /// The form of the API that goes with it.
    pub const fn level(self) -> Level {
        match self.version {
            Version::V1_33 => Level::V1_33,
            Version::V1_36 | Version::V1_37 => Level::V1_36,
        }
    }

    /// The resource version at which the watch caches of a new server begin: at 1.33 it has written down by then how far
    /// its store is compacted.
    pub const fn first_version(self) -> u64 {
        match self.version {
            Version::V1_33 => 2,
            Version::V1_36 | Version::V1_37 => 1,
        }
    }

    /// As `/version` states it.
    pub const fn git_version(self) -> &'static str {
        match self.version {
            Version::V1_33 => "v1.33.13",
            Version::V1_36 => "v1.36.3",
            Version::V1_37 => "v1.37.0",
        }
    }
}
