//! Resolves a plan at a number of replicas: stages to counts and partitions, equal ones merged.

use crate::model::{PARKED, Partition, Pause, Plan, Record, Schedule};

/// One or several stages of a plan that reach the same pods at the current number of replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The first of them, an index into the plan's stages.
    pub first: u32,
    /// The last of them.
    pub last: u32,
    /// Their names, joined by `+`.
    pub name: String,
    /// How many pods are to run the target.
    pub count: u32,
    /// The partition that exposes them.
    pub partition: Partition,
    /// How long every one of them must have been Ready, in seconds: the longest of the merged stages.
    pub soak: u32,
    /// The wait after it.
    pub pause: Pause,
}

/// Resolves a plan: stages in order, rising counts, the last one all pods.
///
/// Stages that come to the same count merge. The longest soak counts, and the strongest wait; but what is merged into
/// the last stage has nothing left to hold back, so there the wait of the plan's own last stage alone counts.
pub fn resolve(plan: &Plan, replicas: u32) -> Vec<Resolved> {
    let stages = plan.stages(replicas);
    let last_pause = stages.last().map_or(Pause::None, |stage| stage.pause);
    let mut resolved: Vec<Resolved> = Vec::with_capacity(stages.len());
    for (index, stage) in (0_u32..).zip(stages) {
        let count = stage.size.count(replicas);
        match resolved.last_mut() {
            // A mix of numbers and percents may fall at some size of the set; it never exposes less than before.
            Some(group) if count <= group.count => {
                group.last = index;
                group.soak = group.soak.max(stage.min_ready_seconds);
                group.pause = group.pause.max(stage.pause);
                if !stage.name.is_empty() {
                    if !group.name.is_empty() {
                        group.name.push('+');
                    }
                    group.name.push_str(&stage.name);
                }
            }
            _ => resolved.push(Resolved {
                first: index,
                last: index,
                name: stage.name,
                count,
                partition: Partition(replicas.saturating_sub(count)),
                soak: stage.min_ready_seconds,
                pause: stage.pause,
            }),
        }
    }
    if let Some(group) = resolved.last_mut() {
        group.pause = last_pause;
    }
    resolved
}

/// Where a running rollout stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How many pods are to run the target now.
    pub count: u32,
    /// The partition that exposes exactly them.
    pub partition: Partition,
    /// The stage it counts as; none before the first.
    pub group: Option<Resolved>,
    /// The stage that comes next; none when everything is exposed.
    pub next: Option<Resolved>,
    /// How many stages there are.
    pub of: u32,
    /// The number of the stage among them, from 1; 0 before the first.
    pub number: u32,
}

/// Finds where a record's rollout stands at that many replicas.
pub fn standing(record: &Record, replicas: u32) -> Standing {
    let groups = resolve(&record.plan, replicas);
    let of = u32::try_from(groups.len()).unwrap_or(u32::MAX);
    if let Schedule::ByHand(_) = record.plan.schedule {
        // By hand a partition is an ordinal, not a share: it stays what it is when the set is scaled.
        let (count, partition) = (exposed(record.partition, replicas), record.partition);
        return Standing { count, partition, group: None, next: None, of: 1, number: 1 };
    }
    let at = record.stage.map(|stage| {
        groups.iter().position(|group| stage <= group.last).unwrap_or_else(|| groups.len().saturating_sub(1))
    });
    // Kept pods may be those of another stage since the set was scaled: its soak and its wait count.
    let at = match record.exposed {
        Some(exposed) => at.max(groups.iter().rposition(|group| group.count <= exposed.min(replicas))),
        None => at,
    };
    let group = at.and_then(|at| groups.get(at)).cloned();
    let count = match (record.exposed, &group) {
        (Some(exposed), _) => exposed.min(replicas),
        (None, Some(group)) => group.count,
        (None, None) => 0,
    };
    let next = groups.into_iter().find(|group| group.count > count);
    Standing {
        count,
        partition: Partition(replicas.saturating_sub(count)),
        number: at.map_or(0, |at| u32::try_from(at).unwrap_or(u32::MAX).saturating_add(1)),
        group,
        next,
        of,
    }
}

/// How many pods a partition exposes.
pub fn exposed(partition: Partition, replicas: u32) -> u32 {
    replicas.saturating_sub(partition.0)
}

/// Where exposed pods are found in a plan: the stage they count as, and their number where that is another one.
///
/// Used where a new target takes over the pods of the one before: exactly those, no more.
pub fn locate(plan: &Plan, replicas: u32, exposed: u32) -> (Option<u32>, Option<u32>) {
    let groups = resolve(plan, replicas);
    match groups.iter().rfind(|group| group.count <= exposed) {
        Some(group) if group.count == exposed => (Some(group.first), None),
        Some(group) => (Some(group.first), Some(exposed)),
        None => (None, Some(exposed)),
    }
}

/// Whether a partition is the one of a set at rest.
pub fn is_parked(partition: Option<Partition>) -> bool {
    partition == Some(PARKED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Ramp, Size, Stage};

    fn plan(stages: &[(&str, Size, u32, Pause)]) -> Plan {
        let stages = stages
            .iter()
            .map(|(name, size, soak, pause)| Stage {
                name: (*name).into(),
                size: *size,
                min_ready_seconds: *soak,
                pause: *pause,
            })
            .collect();
        Plan { schedule: Schedule::Stages(stages), ..Plan::default() }
    }

    fn product() -> Plan {
        plan(&[
            ("canary", Size::Pods(1), 0, Pause::UntilPromoted),
            ("third", Size::Percent(34), 60, Pause::Seconds(600)),
            ("rest", Size::Percent(100), 0, Pause::None),
        ])
    }

    #[test]
    fn a_plan_resolves_to_partitions() {
        let table = |replicas| -> Vec<(String, u32, u32)> {
            resolve(&product(), replicas).into_iter().map(|s| (s.name, s.count, s.partition.0)).collect()
        };
        assert_eq!(table(6), [("canary".into(), 1, 5), ("third".into(), 3, 3), ("rest".into(), 6, 0)]);
        assert_eq!(table(2), [("canary+third".into(), 1, 1), ("rest".into(), 2, 0)]);
        assert_eq!(table(1), [("canary+third+rest".into(), 1, 0)]);
        assert_eq!(table(0), [("canary+third+rest".into(), 0, 0)]);
    }

    #[test]
    fn merged_stages_keep_the_strictest_wait_but_the_last_has_its_own() {
        let two = resolve(&product(), 2);
        assert_eq!((two[0].soak, two[0].pause), (60, Pause::UntilPromoted));
        let one = resolve(&product(), 1);
        assert_eq!((one[0].soak, one[0].pause), (60, Pause::None));
    }

    #[test]
    fn a_mix_that_falls_never_exposes_less() {
        let mixed = plan(&[
            ("five", Size::Pods(5), 0, Pause::None),
            ("tenth", Size::Percent(10), 0, Pause::None),
            ("all", Size::Percent(100), 0, Pause::None),
        ]);
        let counts: Vec<u32> = resolve(&mixed, 10).iter().map(|group| group.count).collect();
        assert_eq!(counts, [5, 10]);
    }

    #[test]
    fn kept_pods_are_found_in_a_plan() {
        assert_eq!(locate(&product(), 6, 1), (Some(0), None));
        assert_eq!(locate(&product(), 6, 2), (Some(0), Some(2)));
        assert_eq!(locate(&product(), 6, 6), (Some(2), None));
        let big = plan(&[("half", Size::Percent(50), 0, Pause::None), ("all", Size::Percent(100), 0, Pause::None)]);
        assert_eq!(locate(&big, 6, 1), (None, Some(1)));
    }

    #[test]
    fn a_ramp_stage_keeps_its_count_when_the_set_grows() {
        let ramp = Plan {
            schedule: Schedule::Ramp { ramp: Ramp::Linear(2), min_ready_seconds: 0, pause: Pause::None },
            ..Plan::default()
        };
        assert_eq!(resolve(&ramp, 5).iter().map(|s| s.count).collect::<Vec<_>>(), [2, 4, 5]);
        assert_eq!(resolve(&ramp, 9).iter().map(|s| s.count).collect::<Vec<_>>(), [2, 4, 6, 8, 9]);
    }
}
