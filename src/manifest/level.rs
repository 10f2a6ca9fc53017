//! Says which checks of a manifest are made, and what comes of them.

use super::default::Level;

/// For whom a manifest is read: what is only true of one version of Kubernetes must not stop a rollout on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checks {
    /// For a rollout. An error is what every version refuses, and what Phaseline does not drive; what only one version
    /// refuses is said by the server's own dry run.
    #[default]
    Rollout,
    /// For `lint`. An error is what a server of that version refuses, and never what it takes: what Phaseline would not
    /// drive is a warning, and so is a set that is taken and can never run a pod.
    Server(Level),
    /// For a comparison with what is in force: what every version refuses is no set, all else is.
    Past,
}

impl Checks {
    /// The version that is asked for, if one is.
    pub fn level(self) -> Option<Level> {
        match self {
            Self::Server(level) => Some(level),
            Self::Rollout | Self::Past => None,
        }
    }
}
