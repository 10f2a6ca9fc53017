//! What `simulate` prints: the DTO of `-o json|yaml`. Times are seconds of virtual time since the rollout began.

use serde::Serialize;

use super::API_VERSION;
use super::plan::Commit;
use crate::model::{Phase, Reason};

/// A rollout as it was played.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Simulation {
    /// `phaseline.dev/v1alpha1`.
    pub(crate) api_version: &'static str,
    /// `Simulation`.
    pub(crate) kind: &'static str,
    /// What was rolled out; without an id where it is no commit.
    pub(crate) commit: Commit,
    /// The Kubernetes that the embedded cluster behaved like.
    pub(crate) kubernetes: &'static str,
    /// What chance was made of.
    pub(crate) seed: u64,
    /// What is taken for granted.
    pub(crate) assumptions: Vec<String>,
    /// `Healthy`, `NotHealthy`, or `TimedOut` where something was still going on.
    pub(crate) outcome: Outcome,
    /// When everything was Healthy; left out where that never was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) eta_seconds: Option<f64>,
    /// When there was nothing more to see.
    pub(crate) ended_seconds: f64,
    /// One for each workload, by namespace and name.
    pub(crate) items: Vec<SimulatedItem>,
    /// What went wrong on purpose.
    pub(crate) faults: Vec<FaultOutcome>,
    /// What happened, in order.
    pub(crate) timeline: Vec<Entry>,
    /// How many events were too many for the timeline.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) left_out: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Simulation {
    /// The API version and kind of every one.
    pub(crate) const HEAD: (&'static str, &'static str) = (API_VERSION, "Simulation");

    /// 0 where everything ended Healthy and every failure struck, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        let struck = self.faults.iter().all(|fault| fault.struck_seconds.is_some());
        u8::from(self.outcome != Outcome::Healthy || !struck)
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Outcome {
    /// Every workload is Healthy and every pod Ready.
    Healthy,
    /// One of them is not, and nothing will change that.
    NotHealthy,
    /// Something was still going on.
    TimedOut,
}

/// What became of one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SimulatedItem {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// The phase at the end.
    pub(crate) phase: Phase,
    /// Its reason.
    pub(crate) reason: Reason,
    /// The stage at which it stands, `2/3 third`; left out where no rollout runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) stage: String,
    /// The pod to blame and its trouble; left out where there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) culprit: String,
    /// What the reason leaves out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    /// What it waits for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) waiting: String,
    /// Since when it is in that phase.
    pub(crate) since_seconds: f64,
    /// `spec.replicas`.
    pub(crate) replicas: u32,
    /// Pods that are Ready at the end.
    pub(crate) ready: u32,
    /// Pods that run the revision that was rolled out, at the end.
    pub(crate) updated: u32,
    /// How many pods were not there when.
    pub(crate) unavailable: Unavailable,
}

/// How many pods were not Ready when.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unavailable {
    /// The most at once.
    pub(crate) most: u32,
    /// For how long it was at least one.
    pub(crate) seconds: f64,
    /// When it was how many, where it was any.
    pub(crate) intervals: Vec<Interval>,
}

/// A time in which as many pods were not Ready.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Interval {
    /// Its begin.
    pub(crate) from_seconds: f64,
    /// Its end; left out where it was so to the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to_seconds: Option<f64>,
    /// How many.
    pub(crate) pods: u32,
}

/// What became of one failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FaultOutcome {
    /// As it was asked for.
    pub(crate) fault: String,
    /// When it struck; left out where it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) struck_seconds: Option<f64>,
    /// The pod that it struck first; left out where it never did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) pod: String,
    /// What came of it, in words.
    pub(crate) answer: String,
}

/// Who did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Who {
    /// A commit came.
    Git,
    /// A person.
    Person,
    /// A failure that was asked for.
    Fault,
    /// A stage of the plan.
    Stage,
    /// The daemon.
    Daemon,
    /// A pod.
    Pod,
}

impl Who {
    /// In one word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Person => "person",
            Self::Fault => "fault",
            Self::Stage => "stage",
            Self::Daemon => "daemon",
            Self::Pod => "pod",
        }
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// When.
    pub(crate) seconds: f64,
    /// Who.
    pub(crate) who: Who,
    /// The workload; left out where it is about all of them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) workload: String,
    /// The pod; left out where it is about none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) pod: String,
    /// What.
    pub(crate) what: String,
    /// Whether it is what every pod goes through.
    #[serde(skip)]
    pub(crate) ordinary: bool,
}
