//! Says whether a stage is done: pods are counted, status counts are never asked.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::steady::Steady;
use crate::model::{LiveSet, Ordinal, Partition, Pod, PodPhase, WaitingOn};

/// What a gate is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The set.
    pub set: &'a LiveSet,
    /// Its pods and orphans, by ordinal.
    pub pods: &'a BTreeMap<Ordinal, Pod>,
    /// Every pod at or above it has to run the target.
    pub partition: Partition,
    /// At least that many pods have to be verified.
    pub need: u32,
    /// How long each has to have been Ready, in seconds.
    pub soak: u32,
    /// What was broken before this moment is not held against the stage.
    pub began: Timestamp,
    /// What else tells that time has passed.
    pub steady: Steady<'a>,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Pods that run the target, Ready for long enough.
    pub verified: u32,
    /// What is missing; none when the stage is done.
    pub waiting_on: Option<WaitingOn>,
    /// The pod to blame, and its trouble.
    pub culprit: Option<(Ordinal, String)>,
    /// The latest Ready transition among the pods that run the target.
    pub latest_ready: Option<Timestamp>,
    /// When the last of them was seen to be Ready, by the steady clock.
    pub latest_seen: Option<SignedDuration>,
    /// When the last of the Ready pods will have been Ready for long enough, if some are not yet.
    pub available_at: Option<Timestamp>,
}

/// The moment from which a pod that is Ready since `since` counts as available.
///
/// Kubernetes writes whole seconds, cut off: a second is added so that the soak is never shorter than asked for.
pub fn available_at(since: Timestamp, soak: u32) -> Timestamp {
    if soak == 0 { since } else { after(since, i64::from(soak).saturating_add(1)) }
}

/// `seconds` later, or the end of time.
pub fn after(moment: Timestamp, seconds: i64) -> Timestamp {
    moment.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

/// The pods of the set itself: those it controls.
pub fn own_pods<'a>(set: &'a LiveSet, pods: &'a BTreeMap<Ordinal, Pod>) -> impl Iterator<Item = &'a Pod> {
    pods.values().filter(move |pod| pod.owner == set.uid)
}

/// The ordinals the set is to have, lowest first.
pub fn ordinals(set: &LiveSet) -> impl DoubleEndedIterator<Item = Ordinal> {
    (set.start..set.start.saturating_add(set.replicas)).map(Ordinal)
}

/// The highest partition that has every pod of a kind at or above it; none without such a pod.
pub fn lowest(set: &LiveSet, pods: &BTreeMap<Ordinal, Pod>, is: impl Fn(&Pod) -> bool) -> Option<Partition> {
    let within = |pod: &&Pod| pod.ordinal.0 >= set.start && pod.ordinal.0 - set.start < set.replicas;
    let found = own_pods(set, pods).filter(within).filter(|pod| !pod.terminating).find(|pod| is(pod));
    found.map(|pod| Partition(pod.ordinal.0 - set.start))
}

/// Whether an ordinal is at or above a partition.
pub fn is_exposed(set: &LiveSet, partition: Partition, ordinal: Ordinal) -> bool {
    ordinal.0.saturating_sub(set.start) >= partition.0
}

/// Kubernetes' word for what is wrong with a pod; empty where nothing is known.
///
/// One steady word where the kubelet tells the same trouble in turns, and the cause that is furthest up: what a pod says of
/// itself is old news where its node does not answer.
pub fn trouble(pod: &Pod) -> String {
    /// How a container that crashes is told of between two pauses.
    const CRASHED: [&str; 4] = ["Error", "OOMKilled", "ContainerCannotRun", "StartError"];
    let out_of_memory = pod.faults.iter().any(|fault| fault.reason == "OOMKilled");
    let crashes = |word: &str| word == "CrashLoopBackOff" || (pod.restarts > 0 && CRASHED.contains(&word));
    match (pod.faults.first(), pod.phase) {
        _ if pod.node_lost && !pod.node.is_empty() => match pod.ready_since {
            Some(since) => format!("{} does not answer since {since}", pod.node),
            None => format!("{} does not answer", pod.node),
        },
        (Some(fault), _) if crashes(&fault.reason) && out_of_memory => "CrashLoopBackOff (OOMKilled)".into(),
        (Some(fault), _) if crashes(&fault.reason) => "CrashLoopBackOff".into(),
        (Some(fault), _) if fault.reason == "ErrImagePull" => "ImagePullBackOff".into(),
        (Some(fault), _) => fault.reason.clone(),
        (None, PodPhase::Failed) => "Failed".into(),
        (None, PodPhase::Succeeded) => "Succeeded".into(),
        (None, _) if pod.node_lost => "NodeLost".into(),
        (None, _) => String::new(),
    }
}

/// Why a pod that is being deleted is still there long after it was to be gone; none where it is not.
fn lingers(pod: &Pod, now: Timestamp) -> Option<String> {
    /// The kubelet's last report comes a little late.
    const SLACK_SECONDS: i64 = 10;
    let since = pod.gone_by.filter(|by| pod.terminating && after(*by, SLACK_SECONDS) < now)?;
    Some(match pod.finalizers.as_slice() {
        _ if pod.node_lost && !pod.node.is_empty() => trouble(pod),
        [] if pod.node.is_empty() => format!("Terminating since {since}"),
        [] => format!("Terminating since {since}, its kubelet on {} has not let go of it", pod.node),
        held => format!("Terminating since {since}, held by the finalizer {}", held.join(", ")),
    })
}

/// Looks at every pod of the set.
pub fn ask(question: Question<'_>, now: Timestamp) -> Answer {
    let Question { set, pods, partition, need, soak, began, steady } = question;
    let soak = soak.max(set.min_ready_seconds);
    let mut answer = Answer {
        verified: 0,
        waiting_on: None,
        culprit: None,
        latest_ready: None,
        latest_seen: None,
        available_at: None,
    };
    if set.observed_generation < set.generation {
        answer.waiting_on = Some(WaitingOn::ObservedGeneration { generation: set.generation });
        return answer;
    }
    let mut blame: Vec<(Ordinal, String)> = Vec::new();
    let wait = |waiting: WaitingOn, answer: &mut Answer| {
        // What only takes time is the last thing to name.
        let keep = match &answer.waiting_on {
            None => true,
            Some(WaitingOn::PodAvailable { .. }) => !matches!(waiting, WaitingOn::PodAvailable { .. }),
            Some(_) => false,
        };
        if keep {
            answer.waiting_on = Some(waiting);
        }
    };
    // From the top down, as the controller goes: what is named first is what it works on.
    for ordinal in ordinals(set).rev() {
        let exposed = is_exposed(set, partition, ordinal);
        let Some(pod) = pods.get(&ordinal).filter(|pod| pod.owner == set.uid) else {
            wait(WaitingOn::PodCreated { ordinal }, &mut answer);
            continue;
        };
        let at_target = pod.revision == set.update_revision;
        if let (true, true, Some(since)) = (at_target, pod.ready, pod.ready_since) {
            answer.latest_ready = answer.latest_ready.max(Some(since));
            answer.latest_seen = answer.latest_seen.max(steady.seen(pod));
        }
        if !pod.ready && !pod.terminating {
            blame.push((ordinal, trouble(pod)));
        }
        blame.extend(lingers(pod, now).map(|why| (ordinal, why)));
        if pod.terminating {
            wait(WaitingOn::PodGone { ordinal }, &mut answer);
        } else if exposed && !at_target {
            wait(WaitingOn::PodUpdated { ordinal, revision: pod.revision.clone() }, &mut answer);
        } else if !pod.ready {
            if at_target || !was_broken_before(pod, began) {
                wait(WaitingOn::PodReady { ordinal, why: trouble(pod) }, &mut answer);
            }
        } else if at_target {
            let available = steady.passed(pod.ready_since.unwrap_or(pod.created), steady.seen(pod), soak, now);
            // Without a soak there is nothing to wait for, whatever the clock of its node says.
            if soak > 0 && available > now {
                answer.available_at = answer.available_at.max(Some(available));
                wait(WaitingOn::PodAvailable { ordinal, at: available }, &mut answer);
            } else {
                answer.verified += 1;
            }
        }
    }
    // The one that still soaks the longest is the one that is waited for.
    if let (Some(WaitingOn::PodAvailable { at, .. }), Some(last)) = (&mut answer.waiting_on, answer.available_at) {
        *at = last;
    }
    let condemned = own_pods(set, pods)
        .map(|pod| pod.ordinal)
        .find(|ordinal| ordinal.0 < set.start || ordinal.0 - set.start >= set.replicas);
    if let (None, Some(ordinal)) = (&answer.waiting_on, condemned) {
        answer.waiting_on = Some(WaitingOn::PodGone { ordinal });
    }
    if answer.waiting_on.is_none() && answer.verified < need {
        answer.waiting_on = Some(WaitingOn::PodCount { have: answer.verified, need });
    }
    answer.culprit = culprit(blame, &answer.waiting_on);
    answer
}

/// Whether a pod was already broken when the rollout began.
fn was_broken_before(pod: &Pod, began: Timestamp) -> bool {
    // Strictly: in the second of the start itself the start may have made it.
    pod.created < began && pod.ready_since.is_none_or(|since| since < began)
}

/// The pod to blame: one whose trouble has a name before one that is only not Ready, the highest ordinal first.
fn culprit(blame: Vec<(Ordinal, String)>, waiting_on: &Option<WaitingOn>) -> Option<(Ordinal, String)> {
    waiting_on.as_ref()?;
    blame
        .iter()
        .find(|(_, why)| !why.is_empty())
        .or_else(|| blame.first())
        .map(|(ordinal, why)| (*ordinal, if why.is_empty() { "NotReady".into() } else { why.clone() }))
}
