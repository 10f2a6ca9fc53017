//! What an apply makes of an object, and who owns what after an apply or an update.

use serde_json::Value;

use super::compare::Comparison;
use super::conflict::Conflict;
use super::members;
use super::merge;
use super::owners::{Owner, Owners};
use super::remove::remove;
use super::set::FieldSet;
use super::shape::Shape;

/// Who acts: with the set of what it owns then.
pub(super) struct Acting<'a> {
    pub(super) of: Shape,
    pub(super) api_version: &'a str,
    /// What a request at this door cannot set, and so nobody owns by it.
    pub(super) reset: FieldSet,
}

impl Acting<'_> {
    /// Lays what is applied over the live object and takes away what its applier no longer names and nobody else owns.
    /// None where that changes nothing.
    ///
    /// # Errors
    /// With the fields that others own, where it is not forced.
    pub(super) fn apply(
        &self,
        live: &Value,
        applied: &Value,
        mut owners: Owners,
        owner: Owner,
        force: bool,
    ) -> Result<(Option<Value>, Owners), Vec<Conflict>> {
        let merged = merge::merge(self.of, live, applied);
        let id = owner.id();
        let last = owners.all.remove(&id);
        let time = last.as_ref().and_then(|last| last.time.clone());
        let set = members::of(self.of, applied).without(&self.reset);
        owners.all.insert(id.clone(), Owner { set, time, ..owner });
        let new = match last.filter(|last| !last.set.is_empty() && last.api_version == self.api_version) {
            Some(last) => self.prune(merged, &owners, &last.set),
            None => merged,
        };
        let change = Comparison::of(self.of, live, &new).without(&self.reset);
        self.take(&mut owners, &change, &id, force)?;
        let is_same = super::element::same(live, &new);
        Ok(((!is_same).then_some(new), owners))
    }

    /// Who owns what after an update, and what of it is the updater's.
    pub(super) fn update(&self, live: &Value, new: &Value, owners: &mut Owners) -> FieldSet {
        let change = Comparison::of(self.of, live, new).without(&self.reset);
        // Forced: there are no conflicts.
        let _ = self.take(owners, &change, "", true);
        change.modified.union(&change.added)
    }

    /// Takes what changed from all others.
    fn take(&self, owners: &mut Owners, change: &Comparison, by: &str, force: bool) -> Result<(), Vec<Conflict>> {
        // What is told in a version that is no longer served is forgotten.
        owners.all.retain(|id, owner| id == by || owner.api_version == self.api_version);
        let changed = change.modified.union(&change.added);
        let mut conflicts = Vec::new();
        for (_, owner) in owners.all.iter_mut().filter(|(id, _)| id.as_str() != by) {
            let taken = owner.set.intersection(&changed);
            conflicts.extend(taken.paths().into_iter().map(|path| Conflict::new(owner, path)));
            owner.set = owner.set.difference(&taken).difference(&change.removed);
        }
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        owners.drop_empty();
        Ok(())
    }

    /// Takes what was applied last and is not any more out, unless somebody owns it, or something in it.
    fn prune(&self, merged: Value, owners: &Owners, last: &FieldSet) -> Value {
        let of = Some(self.of);
        let last = last.with_fields(of);
        let all = members::of(self.of, &merged).with_fields(of);
        let pruned = remove(of, &merged, &last);
        // What is owned comes back.
        let owned = owners
            .all
            .values()
            .filter(|owner| owner.api_version == self.api_version)
            .fold(FieldSet::default(), |owned, owner| owned.union(&owner.set));
        let left = members::of(self.of, &pruned).with_fields(of);
        let pruned = remove(of, &merged, &all.difference(&left.union(&owned.with_fields(of))));
        // And so does what was removed with what holds it, and never was the applier's.
        let left = members::of(self.of, &pruned).with_fields(of);
        remove(of, &merged, &all.difference(&left).intersection(&last))
    }
}
