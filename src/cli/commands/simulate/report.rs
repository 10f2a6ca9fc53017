//! Puts together what was heard: how each set ended, how many pods were missing when, what came of each failure.

use jiff::Timestamp;

use super::SimulateArgs;
use super::failures::Trouble;
use super::subject::Subject;
use super::timeline::{Heard, Tally, stage_name};
use crate::cli::output::plan::Commit;
use crate::cli::output::simulation::{FaultOutcome, Interval, Outcome, SimulatedItem, Simulation, Unavailable};
use crate::cli::output::simulation_text::time;
use crate::daemon::Said;
use crate::model::{Phase, WorkloadId};
use crate::sim::Stroke;

/// How the play ended.
pub(super) struct Ended {
    /// When.
    pub(super) at: Timestamp,
    /// Whether nothing was going on any more.
    pub(super) over: bool,
}

/// The report of a play.
pub(super) fn of(args: &SimulateArgs, subject: &Subject, trouble: &Trouble, heard: &Heard, ended: Ended) -> Simulation {
    let items: Vec<SimulatedItem> =
        subject.workloads().filter_map(|workload| item(workload, heard.sets.get(workload)?, heard, ended.at)).collect();
    let fine = items.iter().all(|item| item.phase == Phase::Healthy && item.ready >= item.replicas);
    let outcome = match (fine && items.len() == subject.workloads().count(), ended.over) {
        (true, true) => Outcome::Healthy,
        (false, true) => Outcome::NotHealthy,
        (_, false) => Outcome::TimedOut,
    };
    let done = items.iter().map(|item| item.since_seconds).fold(0.0, f64::max);
    let faults = trouble.written.iter().zip(&heard.strokes).map(|(written, (stroke, struck))| {
        let struck = struck.as_ref();
        FaultOutcome {
            fault: written.clone(),
            struck_seconds: struck.map(|(at, _)| heard.seconds(*at)),
            pod: struck.map(|(_, pod)| pod.clone()).unwrap_or_default(),
            answer: answer(stroke, struck, heard),
        }
    });
    let (api_version, kind) = Simulation::HEAD;
    Simulation {
        api_version,
        kind,
        commit: if subject.not_committed { Commit::work_tree() } else { Commit::of(&subject.view.commit) },
        kubernetes: subject.kubernetes.number(),
        seed: args.seed,
        assumptions: subject.assumptions.clone(),
        outcome,
        eta_seconds: (outcome == Outcome::Healthy).then_some(done),
        ended_seconds: heard.seconds(ended.at),
        faults: faults.collect(),
        items,
        timeline: heard.entries.clone(),
        left_out: heard.left_out,
    }
}

fn item(workload: &WorkloadId, tally: &Tally, heard: &Heard, end: Timestamp) -> Option<SimulatedItem> {
    let (since, said) = tally.last()?;
    Some(SimulatedItem {
        namespace: workload.namespace.clone(),
        name: workload.name.clone(),
        phase: said.phase,
        reason: said.reason,
        stage: said.stage.as_ref().map(stage_name).unwrap_or_default(),
        culprit: said.culprit.clone(),
        message: said.message.clone(),
        waiting: said.waiting.clone(),
        since_seconds: heard.seconds(since).max(0.0),
        replicas: tally.replicas,
        ready: tally.ready(),
        updated: tally.updated(),
        unavailable: unavailable(tally, heard, end),
    })
}

fn unavailable(tally: &Tally, heard: &Heard, end: Timestamp) -> Unavailable {
    let mut told = Unavailable::default();
    let ends = tally.steps.iter().skip(1).map(|(at, _)| Some(heard.seconds(*at))).chain([None]);
    for ((from, pods), to_seconds) in tally.steps.iter().zip(ends).filter(|((_, pods), _)| *pods > 0) {
        let from_seconds = heard.seconds(*from);
        told.most = told.most.max(*pods);
        told.seconds += to_seconds.unwrap_or(heard.seconds(end)) - from_seconds;
        told.intervals.push(Interval { from_seconds, to_seconds, pods: *pods });
    }
    told.seconds = (told.seconds * 1e3).round() / 1e3;
    told
}

/// What the plan and the daemon did about a failure, in words.
fn answer(stroke: &Stroke, struck: Option<&(Timestamp, String)>, heard: &Heard) -> String {
    let Some((at, pod)) = struck else {
        return format!("it never struck: no pod {} was there to be hit in that time", stroke.pod);
    };
    let Some((_, tally)) = heard.sets.iter().find(|(workload, _)| {
        let number = pod.strip_prefix(&format!("{}-", workload.name));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    }) else {
        return "its set is gone".to_owned();
    };
    let before = tally.said.iter().rev().find(|(when, _)| when < at).map(|(_, said)| said);
    let over = before.is_some_and(|said| said.phase == Phase::Healthy);
    let later = || tally.said.iter().filter(|(when, _)| when >= at);
    let repairs: Vec<String> = tally
        .wrote
        .iter()
        .filter(|(when, what)| when >= at && what.starts_with("delete the broken pod"))
        .map(|(when, _)| time(heard.seconds(*when)))
        .collect();
    let mut words = Vec::new();
    if over {
        words.push("the rollout was over by then".to_owned());
    }
    match later().find(|(_, said)| matches!(said.phase, Phase::Degraded | Phase::Blocked)) {
        Some((when, said)) => words.push(halted(said, heard.seconds(*when), tally)),
        None if !over => match later().find(|(_, said)| said.phase == Phase::Healthy) {
            Some((when, _)) => {
                words.push(format!("the rollout bore it and was Healthy after {}", time(heard.seconds(*when))));
            }
            None => words.push("the rollout waited".to_owned()),
        },
        None => {}
    }
    if !repairs.is_empty() {
        words.push(format!("the pod was replaced ({})", repairs.join(", ")));
    }
    if tally.pods.get(pod).is_some_and(|(ready, _)| !ready) {
        words.push(format!("{pod} is not Ready at the end"));
    }
    words.join("; ")
}

fn halted(said: &Said, seconds: f64, tally: &Tally) -> String {
    let stage = said.stage.as_ref().map(|stage| format!(" at stage {}", stage_name(stage))).unwrap_or_default();
    let culprit = if said.culprit.is_empty() { String::new() } else { format!(", {}", said.culprit) };
    let spared = tally.replicas.saturating_sub(tally.updated());
    format!(
        "halted after {}{stage}: {}{culprit}; {spared} of {} pods were spared",
        time(seconds),
        said.reason,
        tally.replicas
    )
}
