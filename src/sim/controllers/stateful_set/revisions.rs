//! Finds, makes, renumbers, adopts and cuts the revisions of a set.

use std::sync::Arc;

use serde_json::{Value, json};

use super::errors::Errors;
use super::pod::Pod;
use super::revision::{Revision, proposed};
use super::{Found, Sync};
use crate::manifest::default;
use crate::revision::controller_revision;
use crate::sim::Version;
use crate::sim::controllers::control::Delete;
use crate::sim::controllers::meta;
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// How many names are tried for one revision; Go would try for ever.
const MOST_COLLISIONS: usize = 1000;

impl Sync<'_> {
    /// The revisions that the set selects and that are its own or nobody's, oldest first.
    ///
    /// Mirrors `ListRevisions`.
    pub(super) fn list_revisions(&mut self) -> Vec<Arc<Revision>> {
        let set = self.set;
        let ours = |object: &Arc<Value>| {
            set.selector.matches(meta::labels(object))
                && meta::controller_of(object).is_none_or(|owner| meta::of_owner(owner, "uid") == set.uid)
        };
        let listed = self.control.listed(Resource::Revisions, Some(&set.namespace));
        let memory = &mut self.memory.revisions;
        let mut revisions: Vec<_> = listed.into_iter().filter(ours).map(|object| memory.read(object)).collect();
        memory.keep(&revisions);
        revisions.sort_by(|one, two| one.order().cmp(&two.order()));
        revisions
    }

    /// Adopts the revisions that nobody owns. One whose data is not as Go writes it cannot be adopted by any patch: the
    /// server refuses it, and every sync of the set ends here.
    ///
    /// Mirrors `adoptOrphanRevisions` in `stateful_set.go` and `AdoptControllerRevision`.
    pub(super) fn adopt_revisions(&mut self) -> Result<(), Errors> {
        let mut orphans = self.list_revisions();
        orphans.retain(|revision| meta::controller_of(&revision.object).is_none());
        if orphans.is_empty() {
            return Ok(());
        }
        self.may_adopt().map_err(|why| Errors::of(format!("can't adopt ControllerRevisions: {why}")))?;
        for orphan in orphans {
            let owner = meta::controller_reference("apps/v1", "StatefulSet", &self.set.name, &self.set.uid);
            let patch = json!({"metadata": {"ownerReferences": [owner], "uid": meta::text(&orphan.object, "uid")}});
            self.control.patch_owners(Resource::Revisions, &self.set.namespace, &orphan.name, &patch)?;
        }
        Ok(())
    }

    /// The revision that the set's template is, found or made, and the one that its pods come from.
    ///
    /// Mirrors `getStatefulSetRevisions`: equal bytes come first, be they in an older revision; only the newest is asked
    /// whether it is equal in meaning.
    pub(super) fn find_revisions(&mut self, revisions: &[Arc<Revision>]) -> Result<Found, Errors> {
        let set = self.set;
        let by_hash = self.compat.version == Version::V1_33;
        let last = revisions.last();
        let data = self.memory.revisions.patch(set.template());
        let next = last.map_or(1, |last| last.number.saturating_add(1));
        let mut collision_count = set.collision_count();
        // Most syncs find the newest revision to be equal, and need no proposal to see that: a hash in a label that is a
        // number is asked for at 1.33 only.
        let unchanged = last.filter(|last| !by_hash && last.data == data);
        let update = match unchanged {
            Some(last) => last.clone(),
            None => {
                let proposal = proposed(set, &data, next).map_err(Errors::of)?;
                let equal = revisions.iter().rev().find(|it| it.equals(&proposal, by_hash));
                match (last, equal) {
                    (Some(last), Some(equal)) if last.equals(equal, by_hash) => last.clone(),
                    (_, Some(equal)) => self.renumber(equal, next)?,
                    (Some(last), None) if self.means_the_same(&data, last) => last.clone(),
                    _ => self.create_revision(proposal, &mut collision_count)?,
                }
            }
        };
        let current = set.object.pointer("/status/currentRevision").and_then(Value::as_str).unwrap_or_default();
        let current = revisions.iter().find(|it| it.name == current).unwrap_or(&update).clone();
        Ok(Found { current, update, collision_count })
    }

    /// Whether a revision would bring back the set's template once the server has filled in its defaults.
    ///
    /// Mirrors `setMatchesLatestExistingRevision`, which came with 1.34.2.
    fn means_the_same(&mut self, data: &str, revision: &Revision) -> bool {
        if self.compat.version == Version::V1_33 || !revision.replaces() {
            return false;
        }
        let generation = self.set.object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        let version = meta::text(&revision.object, "resourceVersion").to_owned();
        let key = Some((self.set.uid.clone(), generation, version));
        if self.memory.revisions.same == key {
            return true;
        }
        let restored = default::template(&revision.bare_template(), self.compat.level());
        let same = controller_revision::patch(&restored) == data;
        if same {
            self.memory.revisions.same = key;
        }
        same
    }

    /// Makes an older revision the newest: it keeps its name, labels and annotations.
    ///
    /// Mirrors `UpdateControllerRevision`. Its retry after a conflict never works: what it would send again is the empty
    /// object that the client returned beside the error.
    fn renumber(&mut self, revision: &Arc<Revision>, number: i64) -> Result<Arc<Revision>, Errors> {
        if revision.number == number {
            return Ok(revision.clone());
        }
        let mut object = revision.object.as_ref().clone();
        object["revision"] = number.into();
        match self.control.update(Resource::Revisions, object) {
            Ok(object) => Ok(Arc::new(Revision::read(object))),
            Err(refusal) if refusal.reason == "Conflict" => Err(Errors::of("resource name may not be empty")),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Creates a revision, under another name each time that its name is taken by other data.
    ///
    /// Mirrors `CreateControllerRevision`: the label keeps the hash of the first name.
    fn create_revision(&mut self, proposal: Revision, collision_count: &mut i32) -> Result<Arc<Revision>, Errors> {
        for _ in 0..MOST_COLLISIONS {
            let hash = controller_revision::hash_of(&proposal.data, *collision_count);
            let name = controller_revision::name_of(&self.set.name, &hash);
            let mut object = proposal.object.as_ref().clone();
            object["metadata"]["name"] = name.clone().into();
            match self.control.create(Resource::Revisions, object) {
                Ok(created) => return Ok(Arc::new(Revision::read(created))),
                Err(refusal) if refusal.reason == "AlreadyExists" => {
                    let there = Revision::read(self.control.get(Resource::Revisions, &self.set.namespace, &name)?);
                    if there.data == proposal.data {
                        return Ok(Arc::new(there));
                    }
                    *collision_count = collision_count.wrapping_add(1);
                }
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Err(Errors::of(format!("{MOST_COLLISIONS} names of a revision are taken")))
    }

    /// Deletes the oldest revisions that no pod and neither side uses, down to the limit. One that this sync made is not
    /// counted yet.
    ///
    /// Mirrors `truncateHistory`.
    pub(super) fn truncate_history(
        &mut self,
        pods: &[Arc<Pod>],
        revisions: &[Arc<Revision>],
        live: &[String],
    ) -> Result<(), Status> {
        let Ok(limit) = usize::try_from(self.set.history_limit) else { return Ok(()) };
        if revisions.len() <= limit {
            return Ok(());
        }
        let used = |name: &String| live.contains(name) || pods.iter().any(|pod| pod.revision == *name);
        let unused: Vec<_> = revisions.iter().filter(|it| !used(&it.name)).collect();
        let surplus = unused.len().saturating_sub(limit);
        for revision in unused.into_iter().take(surplus) {
            self.control.delete(Resource::Revisions, &self.set.namespace, &revision.name, &Delete::default())?;
        }
        Ok(())
    }
}
