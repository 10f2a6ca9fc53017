//! Makes a set again over the pods that it has left behind: parked, at what their old side runs.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::body::compose;
use super::restart;
use super::start;
use super::view::say;
use crate::manifest::default::{self, Level};
use crate::model::{Action, Decision, Desired, Mode, Observed, Phase, Reason, Version, WaitingOn};
use crate::revision::controller_revision;

/// Pods that a set has left behind.
///
/// Where the tip is what their old side runs, the set is made again as it was: parked, it adopts them and restarts none.
/// At another template the old side would be lost, and pods that die would come back at what nobody has verified.
pub(super) fn left_alone(desired: &Desired, observed: &Observed, now: Timestamp) -> Decision {
    let (id, pods) = (&observed.workload, observed.pods.len());
    let say = |phase| say(observed, phase, Reason::Missing);
    let blocked = |why: String| say(Phase::Blocked).waiting(WaitingOn::Correction).message(why);
    let revision = match old_side(observed) {
        Ok(revision) => revision,
        Err(why) => return blocked(why),
    };
    if runs(&desired.tip, &id.name, revision) {
        return match action(desired, &desired.tip, observed, now) {
            Ok(action) => say(Phase::Progressing)
                .message(format!("the set is made again as its {pods} pods run: it adopts them, and restarts none"))
                .with(action),
            Err(why) => blocked(why),
        };
    }
    let lowest = observed.pods.values().next().map_or(0, |pod| pod.ordinal.0);
    blocked(format!(
        "the set is gone, {pods} of its pods are not, and {0}-{lowest} runs {revision}, which is not what Git has at the \
         tip: made at another template the set would lose the old side. `phaseline resume {0} --recreate -n {1}` makes \
         it again at the commit that {0}-{lowest} runs, without a restart; then the tip is rolled out by the plan",
        id.name, id.namespace
    ))
}

/// The write that makes a set again over its orphans, at the newest of these versions that their old side runs; with
/// that version. It is of the tip but for the template, as everywhere where a newer template is not in force yet.
///
/// # Errors
/// Why not, in words for people.
pub fn recreate<'a>(
    desired: &Desired,
    newest_first: impl IntoIterator<Item = &'a Version>,
    observed: &Observed,
    now: Timestamp,
) -> Result<(Action, &'a Version), String> {
    let id = &observed.workload;
    if observed.set.is_some() {
        return Err("the set is there, and is never made anew".to_owned());
    }
    if observed.pods.is_empty() {
        return Err(
            "the set is gone and so are its pods: there is nothing to hold back, and the daemon creates it at \
                    the tip"
                .to_owned(),
        );
    }
    let revision = old_side(observed)?;
    let found = newest_first.into_iter().find(|version| runs(version, &id.name, revision)).ok_or_else(|| {
        let lowest = observed.pods.values().next().map_or(0, |pod| pod.ordinal.0);
        format!(
            "{0}-{lowest} runs {revision}, and no commit of the repository has a template of that name (`phaseline \
             history {0}` lists them): it was changed by hand or restarted after it came from Git, or the server adds \
             to templates; a set made at any commit would not be what its pods run",
            id.name
        )
    })?;
    Ok((action(desired, found, observed, now)?, found))
}

/// The ControllerRevision that the old side of a set's orphans runs.
fn old_side(observed: &Observed) -> Result<&str, String> {
    if let Some(owned) = observed.pods.values().find(|pod| !pod.owner.is_empty()) {
        return Err(format!(
            "the set is gone and {} of its pods are not yet ({}-{} still has an owner): it is made again when they are \
             gone, or when they are nobody's",
            observed.pods.len(),
            observed.workload.name,
            owned.ordinal
        ));
    }
    // A rollout goes from the top down: the lowest pod is the old side.
    let lowest = observed.pods.values().next().map(|pod| pod.revision.as_str());
    lowest.filter(|revision| !revision.is_empty()).ok_or_else(|| {
        "the set is gone, and its lowest pod has no label controller-revision-hash: nobody knows what it runs"
            .to_owned()
    })
}

/// Whether a server of any version that is known calls the version's template so.
fn runs(version: &Version, set: &str, revision: &str) -> bool {
    let template = version.manifest.pointer("/spec/template").unwrap_or(&Value::Null);
    [Level::V1_33, Level::V1_36]
        .into_iter()
        .any(|level| controller_revision::name(set, &default::template(template, level), 0) == revision)
}

/// The write itself: parked and at rest, as the pods were. Every one of them has to have a place in the new set, or the
/// controller would remove it.
fn action(desired: &Desired, version: &Version, observed: &Observed, now: Timestamp) -> Result<Action, String> {
    let (tip, name) = (&desired.tip, &observed.workload.name);
    let ordinals = || observed.pods.values().map(|pod| pod.ordinal.0);
    if let Some(below) = ordinals().find(|ordinal| *ordinal < tip.start) {
        return Err(format!(
            "Git lets ordinals begin at {}, and {name}-{below} runs below: made like that the set would remove it",
            tip.start
        ));
    }
    let needed = ordinals().max().map_or(0, |top| top.saturating_sub(tip.start).saturating_add(1));
    // Left out it would be one, and the set would remove all pods but the first.
    let replicas = tip.replicas.unwrap_or(needed);
    if replicas < needed {
        return Err(format!(
            "Git states {replicas} replicas, and {name}-{} is beyond: made like that the set would remove it; let Git \
             state {needed} replicas first, and fewer when the set is there",
            needed.saturating_add(tip.start).saturating_sub(1)
        ));
    }
    let at = Desired { tip: Version { replicas: Some(replicas), ..version.clone() }, ..desired.clone() };
    let mut action = start::create(&at, now.as_second());
    if let Action::Apply { manifest, record, .. } = &mut action {
        let mut body = compose(tip, version, "");
        if let Some(spec) = Arc::make_mut(&mut body).get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("replicas".into(), replicas.into());
        }
        *manifest = body;
        record.rest.clone_from(&tip.rest);
        record.stated = restart::statement(version);
        record.mode = Mode::Staged;
        record.done = true;
        record.stable = Some(record.target.clone());
        record.back = old_side(observed)?.to_owned();
        record.proven = vec![record.target.hash.clone()];
    }
    Ok(action)
}
