//! What a plan comes to at a number of replicas, in words.

use std::cmp::Ordering;

use super::output::plan::PlanStage;
use crate::model::{Mode, Partition, Pause, Plan, Record, Schedule};
use crate::rollout::stage::{self, Resolved};

/// A warning where stages of a plan reach the same pods and merge; none where every stage is one of its own.
pub(crate) fn merged(plan: &Plan, replicas: u32) -> Option<String> {
    let written = plan.stages(replicas).len();
    let resolved = stage::resolve(plan, replicas);
    if resolved.len() >= written {
        return None;
    }
    if replicas <= 1 {
        return Some(format!(
            "with {replicas} replica{} there is nothing to stage: all {written} stages are one",
            plural(replicas)
        ));
    }
    let groups: Vec<String> = resolved
        .iter()
        .filter(|group| group.last > group.first)
        .map(|group| {
            let name = if group.name.is_empty() { String::new() } else { format!(" ({})", group.name) };
            format!("{} to {}{name} reach {} pod{}", group.first + 1, group.last + 1, group.count, plural(group.count))
        })
        .collect();
    Some(format!("with {replicas} replicas stages merge: {}", groups.join("; ")))
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The stages of a plan that nothing has begun yet.
pub(crate) fn of_plan(plan: &Plan, replicas: u32, start: u32, min_ready: u32) -> Vec<PlanStage> {
    if let Schedule::ByHand(partition) = plan.schedule {
        let count = stage::exposed(Partition(partition), replicas);
        return vec![PlanStage {
            name: "by hand".to_owned(),
            count,
            partition,
            ordinals: ordinals(start, replicas, partition),
            ..first_to_last(replicas, start, min_ready)
        }];
    }
    let groups = stage::resolve(plan, replicas);
    (1..).zip(groups).map(|(number, group)| one(number, &group, replicas, start, min_ready, "next")).collect()
}

/// The stages of a rollout; `here` is the state of the one where it stands.
pub(crate) fn of_record(
    record: &Record,
    replicas: u32,
    start: u32,
    min_ready: u32,
    here: &'static str,
) -> Vec<PlanStage> {
    match record.mode {
        Mode::Install | Mode::Fast | Mode::Full => {
            let all = first_to_last(replicas, start, min_ready);
            return vec![PlanStage { state: here, ..all }];
        }
        Mode::Back => {
            let partition = record.partition.0;
            return vec![PlanStage {
                count: stage::exposed(record.partition, replicas),
                partition,
                ordinals: ordinals(start, replicas, partition),
                state: here,
                ..first_to_last(replicas, start, min_ready)
            }];
        }
        Mode::Staged => {}
    }
    if let Schedule::ByHand(_) = record.plan.schedule {
        return of_plan(&record.plan, replicas, start, min_ready);
    }
    let standing = stage::standing(record, replicas);
    let mut stages: Vec<PlanStage> = (1..)
        .zip(stage::resolve(&record.plan, replicas))
        .map(|(number, group)| {
            let state = match number.cmp(&standing.number) {
                Ordering::Less => "done",
                Ordering::Equal => here,
                Ordering::Greater => "next",
            };
            one(number, &group, replicas, start, min_ready, state)
        })
        .collect();
    // Pods that were exposed before, where that is not what a stage says.
    if let Some(exposed) = record.exposed {
        let partition = replicas.saturating_sub(exposed);
        let kept = PlanStage {
            name: "exposed before".to_owned(),
            number: standing.number,
            count: exposed.min(replicas),
            partition,
            ordinals: ordinals(start, replicas, partition),
            state: here,
            ..first_to_last(replicas, start, min_ready)
        };
        let at = stages.iter().take_while(|stage| stage.count < kept.count).count();
        for stage in &mut stages {
            stage.state = if stage.count <= kept.count { "done" } else { "next" };
        }
        stages.insert(at, kept);
    }
    stages
}

/// Says of each stage which pods it replaces, and how many of them are down at a time at most.
///
/// The controller replaces from the highest ordinal down, and waits for each pod before it takes the next: one at a time
/// under either `podManagementPolicy`, or as many as `maxUnavailable` says where the server knows it.
pub(crate) fn say_what_is_down(stages: &mut [PlanStage], at_most: u32) {
    let mut above = None;
    for stage in stages {
        let Some([low, high]) = stage.ordinals else { continue };
        let top = above.map_or(Some(high), |lowest: u32| lowest.checked_sub(1));
        stage.replaced = top.filter(|top| *top >= low && stage.state != "done").map(|top| [low, top]);
        let pods = stage.replaced.map_or(0, |[low, top]| top - low + 1);
        stage.down_at_most = pods.min(at_most.max(1));
        above = Some(above.map_or(low, |lowest| lowest.min(low)));
    }
}

/// The least seconds that stages take, and whether somebody has to promote one of them.
///
/// Soak and pause of a stage are counted from the same moment, the last pod's Ready. Within a stage the controller waits
/// `min_ready` seconds after each pod.
pub(crate) fn earliest(stages: &[PlanStage], min_ready: u32) -> (u64, bool) {
    let mut seconds = 0;
    for stage in stages.iter().filter(|stage| stage.state != "done") {
        let pods = stage.replaced.map_or(0, |[low, top]| top - low + 1);
        let rounds = pods.div_ceil(stage.down_at_most.max(1));
        let soak = u64::from(stage.ready_seconds).max(u64::from(stage.pause_seconds.unwrap_or_default()));
        seconds += u64::from(rounds.saturating_sub(1)) * u64::from(min_ready) + soak;
    }
    let promoted = stages.iter().any(|stage| stage.state != "done" && stage.pause == "untilPromoted");
    (seconds, promoted)
}

/// Every pod at once, no pause.
fn first_to_last(replicas: u32, start: u32, ready_seconds: u32) -> PlanStage {
    PlanStage {
        number: 1,
        name: String::new(),
        count: replicas,
        partition: 0,
        ordinals: ordinals(start, replicas, 0),
        replaced: None,
        down_at_most: 0,
        ready_seconds,
        pause: "none",
        pause_seconds: None,
        state: "next",
    }
}

fn one(number: u32, group: &Resolved, replicas: u32, start: u32, min_ready: u32, state: &'static str) -> PlanStage {
    let (pause, pause_seconds) = match group.pause {
        Pause::None => ("none", None),
        Pause::Seconds(seconds) => ("duration", Some(seconds)),
        Pause::UntilPromoted => ("untilPromoted", None),
    };
    PlanStage {
        number,
        name: group.name.clone(),
        count: group.count,
        partition: group.partition.0,
        ordinals: ordinals(start, replicas, group.partition.0),
        replaced: None,
        down_at_most: 0,
        ready_seconds: group.soak.max(min_ready),
        pause,
        pause_seconds,
        state,
    }
}

/// The lowest and the highest ordinal at or above a partition; none where there is none.
fn ordinals(start: u32, replicas: u32, partition: u32) -> Option<[u32; 2]> {
    (partition < replicas).then(|| [start.saturating_add(partition), start.saturating_add(replicas - 1)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Size, Stage};

    fn plan() -> Plan {
        let stage =
            |name: &str, size, min_ready_seconds, pause| Stage { name: name.into(), size, min_ready_seconds, pause };
        Plan {
            schedule: Schedule::Stages(vec![
                stage("canary", Size::Pods(1), 0, Pause::UntilPromoted),
                stage("third", Size::Percent(34), 60, Pause::Seconds(600)),
                stage("rest", Size::Percent(100), 0, Pause::None),
            ]),
            ..Plan::default()
        }
    }

    #[test]
    fn ordinals_are_counted_from_the_start() {
        let table: Vec<_> = of_plan(&plan(), 6, 10, 5)
            .into_iter()
            .map(|s| (s.number, s.count, s.partition, s.ordinals, s.ready_seconds))
            .collect();
        assert_eq!(table, [(1, 1, 5, Some([15, 15]), 5), (2, 3, 3, Some([13, 15]), 60), (3, 6, 0, Some([10, 15]), 5)]);
        assert_eq!(of_plan(&plan(), 0, 0, 0)[0].ordinals, None);
    }

    #[test]
    fn what_is_down_and_how_long_it_takes_is_told() {
        let mut stages = of_plan(&plan(), 6, 10, 5);
        say_what_is_down(&mut stages, 1);
        let down: Vec<_> = stages.iter().map(|stage| (stage.replaced, stage.down_at_most)).collect();
        assert_eq!(down, [(Some([15, 15]), 1), (Some([13, 14]), 1), (Some([10, 12]), 1)]);
        // canary 5 s; third: 5 s after its first pod, then the longer one of 60 s and 600 s; rest: twice 5 s, then 5 s.
        assert_eq!(earliest(&stages, 5), (5 + 5 + 600 + 10 + 5, true));
        say_what_is_down(&mut stages, 2);
        assert_eq!(stages.iter().map(|stage| stage.down_at_most).collect::<Vec<_>>(), [1, 2, 2]);
        stages[0].state = "done";
        say_what_is_down(&mut stages, 1);
        assert_eq!((stages[0].replaced, stages[1].replaced), (None, Some([13, 14])));
        assert_eq!(earliest(&stages[1..2], 0), (600, false));
    }

    #[test]
    fn merged_stages_are_told() {
        assert_eq!(merged(&plan(), 6), None);
        assert_eq!(merged(&plan(), 2).unwrap(), "with 2 replicas stages merge: 1 to 2 (canary+third) reach 1 pod");
        assert_eq!(merged(&plan(), 1).unwrap(), "with 1 replica there is nothing to stage: all 3 stages are one");
        assert_eq!(merged(&Plan::default(), 1), None);
    }
}
