//! A set that was there before: taken over only when told, and no pod restarts for it.

use super::gate;
use super::start;
use super::stood;
use super::view::say;
use crate::model::{
    Action, CommitId, Decision, Desired, LiveSet, Mode, Observed, PARKED, Phase, Pod, Reason, Record, Seen, Verb,
    WaitingOn,
};
use crate::revision::digest::{HASH_VERSION, restart_mark};

/// Looks at a set without a record.
pub(super) fn look(desired: Option<&Desired>, observed: &Observed, set: &LiveSet, now: i64) -> Decision {
    let name = &observed.workload.name;
    let drop_request = |why: String| {
        required(observed).with(Action::DropRequest {
            uid: set.uid.clone(),
            resource_version: set.resource_version.clone(),
            why,
        })
    };
    let request = match &set.request {
        Some(Ok(request)) if request.verb == Verb::Adopt => Some(request),
        Some(Ok(request)) => return drop_request(format!("{:?} is asked of a set that is not ours", request.verb)),
        Some(Err(why)) => return drop_request(format!("it cannot be read: {why}")),
        None => None,
    };
    let asked = request.is_some();
    let Some(desired) = desired else {
        return required(observed).message("the set is not managed by phaseline, or Git was not asked");
    };
    if !asked && !desired.tip.adopt {
        return required(observed).message(format!(
            "a set of that name exists and is not managed by phaseline{}: `phaseline adopt {name}` takes it over \
             without restarting a pod (or `phaseline.dev/adopt: \"true\"` in the manifest)",
            last_written(set)
        ));
    }
    if let Some((reason, message)) = &observed.refused {
        return say(observed, Phase::Blocked, *reason).waiting(WaitingOn::Correction).message(message.clone());
    }
    if let Some(why) = obstacle(observed, set) {
        return say(observed, Phase::Blocked, Reason::NotAdoptable).waiting(WaitingOn::Correction).message(why);
    }
    let live = if set.template == desired.tip.hash {
        // A restart that only Git knows of is yet to be rolled out.
        Seen { restart: restart_mark(&set.restarted_at), ..start::tip(desired, &set.restarted_at, None) }
    } else {
        // What runs there is in no commit: the difference will be the first rollout.
        Seen { commit: CommitId::default(), hash: set.template.clone(), restart: restart_mark(&set.restarted_at) }
    };
    let record = Record {
        v: Record::VERSION,
        epoch: 1,
        rollout: format!("{}-1", live.hash.short()),
        target: live.clone(),
        // What is not Ready anywhere is proven by nothing.
        proven: if is_seen_ready(observed, set) { vec![live.hash.clone()] } else { Vec::new() },
        src: None,
        mark: CommitId::default(),
        stable: Some(live),
        back: set.current_revision.clone(),
        mode: Mode::Staged,
        plan: desired.plan.clone(),
        digest: desired.plan_digest.clone(),
        stage: None,
        exposed: None,
        done: true,
        partition: PARKED,
        generation: set.generation,
        live: set.template.clone(),
        // Empty: the first apply, which brings everything but the template, is due.
        rest: String::new(),
        began: now,
        at: now,
        promoted: false,
        hashes: HASH_VERSION,
        stated: String::new(),
        hold: None,
        accepted: false,
        was: None,
        failed: Vec::new(),
        replicas: Some(set.replicas),
        req: request.map(|request| crate::model::record::Answer { id: request.id.clone(), refused: String::new() }),
    };
    say(observed, Phase::Progressing, Reason::Starting).message("the set is taken over").with(Action::Adopt {
        record: Box::new(record),
        base: (set.uid.clone(), set.resource_version.clone()),
        clear_request: set.request.is_some(),
    })
}

/// Who wrote its template last, as far as the server tells: it may have been ours before, and been replaced.
fn last_written(set: &LiveSet) -> String {
    let owner = set.owners.iter().filter(|owner| owner.template && !owner.is_ours()).max_by_key(|owner| owner.time);
    owner.map(|owner| format!(" (last written by {})", owner.manager)).unwrap_or_default()
}

/// Whether a pod of the live template is Ready, or once was, and stays.
fn is_seen_ready(observed: &Observed, set: &LiveSet) -> bool {
    let good = |pod: &Pod| stood::was_ready(pod) && !pod.terminating && pod.revision == set.update_revision;
    gate::own_pods(set, &observed.pods).any(good)
}

fn required(observed: &Observed) -> Decision {
    say(observed, Phase::Blocked, Reason::AdoptionRequired).waiting(WaitingOn::Adoption)
}

/// Why a set cannot be taken over now.
fn obstacle(observed: &Observed, set: &LiveSet) -> Option<String> {
    if set.strategy != "RollingUpdate" {
        return Some(format!(
            "its update strategy is {}: phaseline drives RollingUpdate; change it first",
            set.strategy
        ));
    }
    if set.observed_generation < set.generation {
        return Some("the StatefulSet controller has not seen its last change yet".into());
    }
    let strangers =
        gate::own_pods(set, &observed.pods).find(|pod| pod.revision != set.current_revision && !pod.terminating);
    // At zero replicas too: until the controller has made its template current, pods would come back at another.
    if set.current_revision != set.update_revision || (set.replicas > 0 && strangers.is_some()) {
        return Some(format!(
            "a rollout is under way in it (current revision {}, update revision {}): let it end, or set it back first",
            set.current_revision, set.update_revision
        ));
    }
    None
}
