//! The rules that need Git's side, the daemon's words, or what became of pods since our last write.

use jiff::{SignedDuration, Timestamp};

use super::Write;
use super::facts::{Pod, Set, template};
use super::forward::Git;
use super::told::STAMP;
use super::track::{Found, Track};
use crate::model::Mode;

impl Track {
    /// What is wrong with what becomes of a pod: it is made, changed, or gone.
    pub(super) fn happened(
        &mut self,
        ordinal: u32,
        pod: &Pod,
        gone: bool,
        now: Timestamp,
        lag: SignedDuration,
    ) -> Found {
        let mut found = Found::new();
        let before = self.pods.get(&ordinal).filter(|before| before.uid == pod.uid);
        let stood = before.is_some_and(|before| before.ready.is_some() && !before.terminating);
        if stood && (gone || pod.terminating) && self.counts() {
            let what = self.budget.taken(ordinal, &pod.uid, &pod.revision, &self.set);
            found.extend(what.map(|what| ("budget", what)));
        }
        if before.is_none() && !gone && !self.meddled {
            let what = self.words.made(ordinal, &pod.revision, &self.set, now, lag);
            found.extend(what.map(|what| ("frozen", what)));
        }
        found
    }

    /// Whether there is a stable revision, and nobody else moved the set.
    fn counts(&self) -> bool {
        let record = self.set.record.as_ref();
        !self.meddled && record.is_some_and(|record| record.stable.is_some() && record.mode != Mode::Install)
    }

    /// Whether a write of ours brings what an earlier commit says.
    pub(super) fn backwards(&self, write: &Write<'_>, git: &Git, now: Timestamp) -> Found {
        let mut found = Found::new();
        let (Some(before), Some(after)) = (&write.before, &write.after) else { return found };
        let (old, new) = (Set::read(before), Set::read(after));
        if let (Some(old), Some(new)) = (&old.record, &new.record)
            // The target may be of a line that was given up since, and then the mark has moved on.
            && ![&old.target.commit, old.mark()].iter().any(|it| git.may_follow(it, &new.target.commit, now))
        {
            let (old, new) = (old.target.commit.short(), new.target.commit.short());
            found.push(("forward", format!("commit {new} becomes the target after {old}, which it does not follow")));
        }
        let stamp =
            |object: &serde_json::Value| git.stamped(object.get("metadata")?.get("annotations")?.get(STAMP)?.as_str()?);
        if let (Some(old), Some(new)) = (stamp(before), stamp(after))
            && !git.may_follow(old, new, now)
        {
            let (old, new) = (old.short(), new.short());
            found.push(("forward", format!("what commit {new} says is applied after {old}, which it does not follow")));
        }
        found
    }

    /// A write of ours that exposes more, or another template: the budget counts from here, and a frozen set has none.
    pub(super) fn exposing(&mut self, write: &Write<'_>, lag: SignedDuration, now: Timestamp, found: &mut Found) {
        self.ours = true;
        let (Some(before), Some(after)) = (&write.before, &write.after) else { return };
        let (old, new) = (Set::read(before), Set::read(after));
        let share = |set: &Set| set.replicas.saturating_sub(set.partition);
        let another = template(before) != template(after);
        if !another && share(&new) <= share(&old) {
            return;
        }
        let (Some(was), Some(is)) = (&old.record, &new.record) else {
            // Adopted, released: a person's word.
            return self.budget.exposes(true, now, lag);
        };
        let asked = was.req != is.req;
        let by_word = asked || is.promoted || was.promoted || is.mode == Mode::Full;
        self.budget.exposes(by_word, now, lag);
        let same = was.rollout == is.rollout && was.target == is.target;
        if let Some(reason) = self.words.frozen_to(&write.request.user).filter(|_| same && !asked && !self.meddled) {
            let (from, to) = (share(&old), share(&new));
            found.push(("frozen", format!("{to} pods are exposed after {from}, and {reason} was said")));
        }
    }
}
