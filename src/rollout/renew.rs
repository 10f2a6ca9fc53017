//! Brings a record up to date whose digests another phaseline made.
//!
//! A change of defaulting, or of the digest itself, makes every recorded digest unequal to the template that it was taken
//! of. Nothing has changed for that: the live template is compared by its content, the record takes the new digests of
//! the same templates, and no rollout starts.

use super::view::Case;
use crate::model::{CommitId, Failed, LiveSet, Record, RecordState, TemplateHash, Version};
use crate::revision::digest::HASH_VERSION;

/// What is said of it, once.
pub(super) const WORDS: &str = "the record is brought up to date: it was written by a phaseline that tells templates \
                                apart in another way; nothing is rolled for that";

/// Whether the record's digests are of another definition: it says so, or the spec is as we left it and its digest is
/// not.
fn is_due(set: &LiveSet, record: &Record) -> bool {
    record.hashes != HASH_VERSION || (set.generation == record.generation && set.template != record.live)
}

/// The commit whose template has to be read for it.
pub fn asks_for(set: &LiveSet) -> Option<&CommitId> {
    let RecordState::Is(record, _) = &set.record else { return None };
    let stable = record.stable.as_ref().filter(|stable| stable.hash != record.target.hash)?;
    (is_due(set, record) && !stable.commit.0.is_empty()).then_some(&stable.commit)
}

/// The record with the digests of this phaseline; none where it has them already.
pub(super) fn renewed(case: &Case<'_>) -> Option<Record> {
    let (set, record) = (case.set, case.record);
    let untouched = set.generation == record.generation;
    if !is_due(set, record) {
        return None;
    }
    let target = target(case, untouched);
    let stable = record.stable.as_ref().map(|stable| {
        if stable.hash == record.target.hash {
            return target.clone();
        }
        let asked = case.desired.and_then(|desired| desired.stable.as_ref());
        at(case, &stable.commit).or(asked.filter(|_| !stable.commit.0.is_empty())).unwrap_or(&stable.hash).clone()
    });
    let mut new = record.clone();
    new.hashes = HASH_VERSION;
    // Whose template it is: ours as long as nobody else owns any of it, whatever an admission made of it.
    let ours = !set.owners.iter().any(|owner| owner.template && !owner.is_ours());
    if untouched || ours || set.template == target {
        new.live.clone_from(&set.template);
    }
    let known = |old: &TemplateHash| match (&record.stable, &stable) {
        _ if *old == record.target.hash => Some(target.clone()),
        (Some(before), Some(now)) if *old == before.hash => Some(now.clone()),
        _ => None,
    };
    // What cannot be told any more is proven by nothing, and not barred.
    new.proven = record.proven.iter().filter_map(known).collect();
    new.failed = record
        .failed
        .iter()
        .filter_map(|failed| {
            let hash = if failed.commit == record.target.commit && failed.hash == record.target.hash {
                target.clone()
            } else {
                at(case, &failed.commit)?.clone()
            };
            Some(Failed { hash, ..failed.clone() })
        })
        .collect();
    if let (Some(seen), Some(hash)) = (&mut new.stable, stable) {
        seen.hash = hash;
    }
    new.target.hash = target;
    Some(new)
}

/// The digest of the target's template.
fn target(case: &Case<'_>, untouched: bool) -> TemplateHash {
    let (set, record) = (case.set, case.record);
    if let Some(hash) = at(case, &record.target.commit) {
        return hash.clone();
    }
    // Git has the commit no more. What was applied unaltered is what is live; and what the tip would make is what is.
    let unaltered = record.target.hash == record.live;
    let same = case.desired.is_some_and(|desired| desired.tip.hash == set.template);
    if untouched && (unaltered || same) { set.template.clone() } else { record.target.hash.clone() }
}

/// The digest of the template that a commit brought, as far as Git was asked.
fn at<'a>(case: &Case<'a>, commit: &CommitId) -> Option<&'a TemplateHash> {
    let desired = case.desired?;
    let is_it = |version: &&Version| version.commit.id == *commit && !commit.0.is_empty();
    [Some(&desired.tip), desired.target.as_ref()].into_iter().flatten().find(is_it).map(|version| &version.hash)
}
