//! A rollout plan as it is in force: what `rollout-plan.yaml` says, after checking.

use serde::{Deserialize, Serialize};

/// How far a stage reaches, counted in pods from the top ordinal down; cumulative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Size {
    /// That many pods (all of them where the set has fewer).
    #[serde(rename = "n")]
    Pods(u32),
    /// That share of the current replicas, rounded up, at least one pod. 1 to 100.
    #[serde(rename = "%")]
    Percent(u32),
    /// All pods at or above this partition.
    #[serde(rename = "p")]
    Partition(u32),
}

impl Size {
    /// How many pods this is of `replicas`: never more than there are, at least one when there is one.
    pub fn count(self, replicas: u32) -> u32 {
        match self {
            Self::Pods(pods) => pods.max(1).min(replicas),
            Self::Percent(percent) => {
                let share = (u64::from(replicas) * u64::from(percent)).div_ceil(100);
                u32::try_from(share).unwrap_or(u32::MAX).max(1).min(replicas)
            }
            Self::Partition(partition) => replicas.saturating_sub(partition).max(1).min(replicas),
        }
    }
}

/// A wait after a stage has been reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Pause {
    /// Go on at once.
    #[default]
    #[serde(rename = "0")]
    None,
    /// That many seconds, counted from the latest Ready transition of the stage's pods.
    #[serde(rename = "s")]
    Seconds(u32),
    /// Until somebody promotes.
    #[serde(rename = "promote")]
    UntilPromoted,
}

impl Pause {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// One stage of a plan. The keys are short because a frozen plan lives in the rollout record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The stage's name; empty when the plan gives none.
    #[serde(rename = "n", default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How far it reaches.
    #[serde(rename = "z")]
    pub size: Size,
    /// How long every updated pod must have been Ready before the stage is done, in seconds.
    #[serde(rename = "m", default, skip_serializing_if = "is_zero")]
    pub min_ready_seconds: u32,
    /// The wait after it.
    #[serde(rename = "w", default, skip_serializing_if = "Pause::is_none")]
    pub pause: Pause,
}

/// A rule that makes the stages from the number of replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ramp {
    /// Every stage adds `step` pods: step, 2·step, ..
    #[serde(rename = "lin")]
    Linear(u32),
    /// Every stage adds `factor` times the pods that the one before added: 1, 1+f, 1+f+f², ..
    #[serde(rename = "geo")]
    Geometric(u32),
    /// Every stage reaches `base` times as far as the one before: 1, base, base², ..
    #[serde(rename = "exp")]
    Exponential(u32),
}

impl Ramp {
    /// The number of exposed pods after each stage, rising, the last one being `replicas` (or 1 for an empty set).
    pub fn counts(self, replicas: u32) -> Vec<u32> {
        let last = replicas.max(1);
        let (mut counts, mut reached, mut step) = (Vec::new(), 0_u32, 1_u32);
        while reached < last {
            reached = match self {
                Self::Linear(by) => reached.saturating_add(by.max(1)),
                Self::Geometric(factor) => {
                    let next = reached.saturating_add(step);
                    step = step.saturating_mul(factor.max(1));
                    next
                }
                // A base of 1 would never arrive; it is refused when the plan is read.
                Self::Exponential(base) => {
                    if reached == 0 {
                        1
                    } else {
                        reached.saturating_mul(base.max(2))
                    }
                }
            }
            .min(last);
            counts.push(reached);
        }
        counts
    }
}

/// The stages of a plan, written out or generated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schedule {
    /// Written out; never empty, the last one reaches every pod.
    #[serde(rename = "st")]
    Stages(Vec<Stage>),
    /// Generated; every stage but the last has the same wait.
    #[serde(rename = "ramp")]
    Ramp {
        /// The rule.
        #[serde(rename = "r")]
        ramp: Ramp,
        /// As in [`Stage`].
        #[serde(rename = "m", default, skip_serializing_if = "is_zero")]
        min_ready_seconds: u32,
        /// As in [`Stage`].
        #[serde(rename = "w", default, skip_serializing_if = "Pause::is_none")]
        pause: Pause,
    },
    /// No plan, and the manifest states a partition: each commit that lowers it is one stage.
    /// The number is that of the manifest at the commit in force.
    #[serde(rename = "hand")]
    ByHand(u32),
}

/// What happens to a new template that arrives while a rollout runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnNewRevision {
    /// The pods already exposed get it; verified again from the stage where the rollout stands.
    #[default]
    Continue,
    /// From stage 0.
    Restart,
    /// The running rollout ends first.
    Queue,
    /// A person decides.
    Block,
}

/// What is done about a pod that a newer decision left broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RepairPolicy {
    /// Deleted, once, with preconditions.
    #[default]
    Delete,
    /// Left alone.
    None,
}

/// A checked plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The stages.
    #[serde(flatten)]
    pub schedule: Schedule,
    /// Seconds without progress after which a stage has failed; not counted while paused.
    #[serde(rename = "d")]
    pub progress_deadline_seconds: u32,
    /// What a new template does to a running rollout.
    #[serde(rename = "on", default, skip_serializing_if = "is_default")]
    pub on_new_revision: OnNewRevision,
    /// A revert to one of that many proven revisions skips pauses and gates. 0 to 10.
    #[serde(rename = "win")]
    pub rollback_window: u32,
    /// What is done about broken pods.
    #[serde(rename = "rep", default, skip_serializing_if = "is_default")]
    pub repair_policy: RepairPolicy,
    /// Container restarts of one updated pod after which its stage has failed.
    #[serde(rename = "mr")]
    pub max_restarts: u32,
}

impl Plan {
    /// Seconds without progress, where the plan does not say.
    pub const DEFAULT_PROGRESS_DEADLINE_SECONDS: u32 = 600;
    /// Proven revisions in the rollback window, where the plan does not say.
    pub const DEFAULT_ROLLBACK_WINDOW: u32 = 3;
    /// Restarts of a pod, where the plan does not say.
    pub const DEFAULT_MAX_RESTARTS: u32 = 3;
    /// The most bytes a plan may take in the rollout record, as [`Plan::frozen`] writes it.
    pub const MAX_FROZEN_BYTES: usize = 900;

    /// The plan as it is written into the rollout record.
    pub fn frozen(&self) -> String {
        // Serialising plain data with string keys into a string has no way to fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The stages for that many replicas, as written or generated; not merged.
    pub fn stages(&self, replicas: u32) -> Vec<Stage> {
        match &self.schedule {
            Schedule::Stages(stages) => stages.clone(),
            Schedule::ByHand(partition) => vec![Stage {
                name: String::new(),
                size: Size::Partition(*partition),
                min_ready_seconds: 0,
                pause: Pause::None,
            }],
            Schedule::Ramp { ramp, min_ready_seconds, pause } => {
                let counts = ramp.counts(replicas);
                let last = counts.len().saturating_sub(1);
                counts
                    .into_iter()
                    .enumerate()
                    .map(|(index, count)| Stage {
                        name: String::new(),
                        // The last one is "all": it stays the last when replicas grow under way.
                        size: if index == last { Size::Percent(100) } else { Size::Pods(count) },
                        min_ready_seconds: *min_ready_seconds,
                        pause: if index == last { Pause::None } else { *pause },
                    })
                    .collect()
            }
        }
    }
}

impl Default for Plan {
    /// The plan of a set without one: a single stage, everything, ten minutes.
    fn default() -> Self {
        Self {
            schedule: Schedule::Stages(vec![Stage {
                name: String::new(),
                size: Size::Percent(100),
                min_ready_seconds: 0,
                pause: Pause::None,
            }]),
            progress_deadline_seconds: Self::DEFAULT_PROGRESS_DEADLINE_SECONDS,
            on_new_revision: OnNewRevision::default(),
            rollback_window: Self::DEFAULT_ROLLBACK_WINDOW,
            repair_policy: RepairPolicy::default(),
            max_restarts: Self::DEFAULT_MAX_RESTARTS,
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_round_up_and_stay_within_the_set() {
        for (size, replicas, count) in [
            (Size::Percent(30), 7, 3),
            (Size::Percent(34), 3, 2),
            (Size::Percent(1), 1000, 10),
            (Size::Percent(1), 3, 1),
            (Size::Percent(100), 5, 5),
            (Size::Percent(100), 0, 0),
            (Size::Percent(100), u32::MAX, u32::MAX),
            (Size::Pods(1), 0, 0),
            (Size::Pods(4), 3, 3),
            (Size::Partition(2), 5, 3),
            (Size::Partition(9), 5, 1),
        ] {
            assert_eq!(size.count(replicas), count, "{size:?} of {replicas}");
        }
    }

    #[test]
    fn ramps_rise_to_the_whole_set() {
        assert_eq!(Ramp::Linear(2).counts(5), [2, 4, 5]);
        assert_eq!(Ramp::Geometric(2).counts(10), [1, 3, 7, 10]);
        assert_eq!(Ramp::Exponential(2).counts(10), [1, 2, 4, 8, 10]);
        assert_eq!(Ramp::Exponential(10).counts(1), [1]);
        assert_eq!(Ramp::Geometric(1).counts(3), [1, 2, 3]);
    }

    #[test]
    fn a_frozen_plan_reads_back() {
        let plan = Plan {
            schedule: Schedule::Stages(vec![
                Stage { name: "canary".into(), size: Size::Pods(1), min_ready_seconds: 0, pause: Pause::UntilPromoted },
                Stage {
                    name: "rest".into(),
                    size: Size::Percent(100),
                    min_ready_seconds: 60,
                    pause: Pause::Seconds(600),
                },
            ]),
            ..Plan::default()
        };
        let ramp = Plan {
            schedule: Schedule::Ramp { ramp: Ramp::Geometric(2), min_ready_seconds: 5, pause: Pause::None },
            ..Plan::default()
        };
        for plan in [plan, ramp, Plan::default()] {
            assert_eq!(serde_json::from_str::<Plan>(&plan.frozen()).unwrap(), plan);
        }
    }
}
