//! The garbage collector: what becomes of objects whose owners go.
//!
//! It is told of every change ([`GarbageCollector::observe`]) and keeps the graph of owners by uid; what it then wants to
//! look at is handed to [`GarbageCollector::sync`], one item at a time, some time later. Nothing is deleted on the word
//! of the graph: the API is asked for the object and its owners first.
//!
//! Mirrors `pkg/controller/garbagecollector`. An owner of a kind that the embedded cluster does not have counts as
//! there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::control::{Control, Delete};
use super::meta::{self, of_owner, owners};
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// The finalizer of an object that goes after its dependents.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents are to be left without it.
const ORPHAN: &str = "orphan";

/// An object that has to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// Its kind.
    pub resource: Resource,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: another object of the name is another item.
    pub uid: String,
}

impl Item {
    fn of(resource: Resource, object: &Value) -> Self {
        Self {
            resource,
            namespace: meta::text(object, "namespace").to_owned(),
            name: meta::text(object, "name").to_owned(),
            uid: meta::text(object, "uid").to_owned(),
        }
    }
}

/// The collector and its graph.
#[derive(Debug, Clone, Default)]
pub struct GarbageCollector {
    nodes: BTreeMap<String, Node>,
    /// By the owner's uid, whether or not the owner is known.
    dependents: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug, Clone)]
struct Node {
    item: Item,
    owners: Vec<Value>,
    /// Whether it waits for its dependents to go.
    waits: bool,
}

impl GarbageCollector {
    /// Takes a change in; what has to be looked at because of it.
    pub fn observe(&mut self, resource: Resource, object: &Value, gone: bool) -> Vec<Item> {
        let item = Item::of(resource, object);
        if gone {
            return self.forget(&item.uid);
        }
        let owners_now = owners(object).to_vec();
        let waits = meta::terminating(object) && has_finalizer(object, FOREGROUND);
        let node = Node { item: item.clone(), owners: owners_now.clone(), waits };
        let before = self.nodes.insert(item.uid.clone(), node);
        let owners_before = before.as_ref().map_or(&[][..], |it| it.owners.as_slice());
        let mut look = Vec::new();
        if owners_before != owners_now {
            for owner in owners_before {
                self.unlink(of_owner(owner, "uid"), &item.uid);
            }
            for owner in &owners_now {
                let uid = of_owner(owner, "uid").to_owned();
                self.dependents.entry(uid).or_default().insert(item.uid.clone());
            }
            // An owner that nobody knows may be gone, and one that waited need wait no longer.
            if owners_now.iter().any(|owner| !self.nodes.contains_key(of_owner(owner, "uid"))) {
                look.push(item.clone());
            }
            look.extend(owners_before.iter().filter_map(|owner| self.waiting(of_owner(owner, "uid"))));
        }
        if owners_now.iter().any(|owner| self.waiting(of_owner(owner, "uid")).is_some()) {
            look.push(item.clone());
        }
        let waited = before.is_some_and(|it| it.waits);
        if waits && !waited {
            look.extend(self.dependents_of(&item.uid));
            look.push(item);
        } else if meta::terminating(object) && has_finalizer(object, ORPHAN) {
            look.push(item);
        }
        look.sort();
        look.dedup();
        look
    }

    /// Looks at an item: it may be deleted, freed of an owner, or let go; what has to be looked at next.
    ///
    /// Mirrors `attemptToDeleteItem` and `attemptToOrphanWorker` in `garbagecollector.go`.
    ///
    /// # Errors
    /// The server's refusal; to be tried again later.
    pub fn sync(&mut self, control: &mut dyn Control, item: &Item) -> Result<Vec<Item>, Status> {
        let latest = match control.get(item.resource, &item.namespace, &item.name) {
            Ok(latest) if meta::text(&latest, "uid") == item.uid => latest,
            Ok(_) => return Ok(self.forget(&item.uid)),
            Err(refusal) if refusal.code == 404 => return Ok(self.forget(&item.uid)),
            Err(refusal) => return Err(refusal),
        };
        if meta::terminating(&latest) {
            if has_finalizer(&latest, ORPHAN) {
                return self.orphan(control, item, &latest).map(|()| Vec::new());
            }
            if has_finalizer(&latest, FOREGROUND) {
                return self.wait_for_dependents(control, item, &latest);
            }
            return Ok(Vec::new());
        }
        let found = Owners::classify(control, item, owners(&latest))?;
        if found.solid == 0 && found.dangling.is_empty() && found.waiting.is_empty() {
            return Ok(Vec::new());
        }
        if found.solid > 0 {
            let going: Vec<String> = found.dangling.into_iter().chain(found.waiting).collect();
            if !going.is_empty() {
                disown(control, item, &going)?;
            }
            return Ok(Vec::new());
        }
        let dependents = self.dependents_of(&item.uid);
        let propagation = if !found.waiting.is_empty() && !dependents.is_empty() {
            // Two that wait for each other would wait for ever.
            if dependents.iter().any(|it| self.waiting(&it.uid).is_some()) {
                unblock(control, item, &latest)?;
            }
            "Foreground"
        } else if has_finalizer(&latest, ORPHAN) {
            "Orphan"
        } else if has_finalizer(&latest, FOREGROUND) {
            "Foreground"
        } else {
            "Background"
        };
        let options = Delete { uid: Some(item.uid.clone()), resource_version: None, propagation: Some(propagation) };
        match control.delete(item.resource, &item.namespace, &item.name, &options) {
            Err(refusal) if refusal.code != 404 => Err(refusal),
            _ => Ok(Vec::new()),
        }
    }

    /// An owner that waits goes once nothing that blocks it is left.
    ///
    /// Mirrors `processDeletingDependentsItem`.
    fn wait_for_dependents(&self, control: &mut dyn Control, item: &Item, latest: &Value) -> Result<Vec<Item>, Status> {
        let blocking: Vec<Item> =
            self.dependents_of(&item.uid).into_iter().filter(|it| self.blocks(it, item)).collect();
        if blocking.is_empty() {
            return remove_finalizer(control, item.resource, latest, FOREGROUND).map(|()| Vec::new());
        }
        Ok(blocking.into_iter().filter(|it| self.waiting(&it.uid).is_none()).collect())
    }

    /// Frees the dependents of an owner, then the owner.
    ///
    /// Mirrors `orphanDependents`.
    fn orphan(&self, control: &mut dyn Control, item: &Item, latest: &Value) -> Result<(), Status> {
        let mut refused = None;
        for dependent in self.dependents_of(&item.uid) {
            match disown(control, &dependent, std::slice::from_ref(&item.uid)) {
                Err(refusal) if refusal.code != 404 => refused = Some(refusal),
                _ => {}
            }
        }
        match refused {
            Some(refusal) => Err(refusal),
            None => remove_finalizer(control, item.resource, latest, ORPHAN),
        }
    }

    /// Takes a node out; its dependents, and the owners that waited for it, have to be looked at.
    fn forget(&mut self, uid: &str) -> Vec<Item> {
        let mut look = self.dependents_of(uid);
        if let Some(node) = self.nodes.remove(uid) {
            for owner in &node.owners {
                let owner = of_owner(owner, "uid");
                self.unlink(owner, uid);
                look.extend(self.waiting(owner));
            }
        }
        look
    }

    fn unlink(&mut self, owner: &str, dependent: &str) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    fn dependents_of(&self, uid: &str) -> Vec<Item> {
        let uids = self.dependents.get(uid).into_iter().flatten();
        let mut items: Vec<Item> = uids.filter_map(|uid| self.nodes.get(uid)).map(|node| node.item.clone()).collect();
        items.sort();
        items
    }

    /// An owner, if it waits for its dependents.
    fn waiting(&self, uid: &str) -> Option<Item> {
        self.nodes.get(uid).filter(|node| node.waits).map(|node| node.item.clone())
    }

    fn blocks(&self, dependent: &Item, owner: &Item) -> bool {
        let blocks = |it: &Value| of_owner(it, "uid") == owner.uid && it["blockOwnerDeletion"] == true;
        self.nodes.get(&dependent.uid).is_some_and(|node| node.owners.iter().any(blocks))
    }
}

/// How the owners of an object fare.
#[derive(Default)]
struct Owners {
    /// Those that are there and stay.
    solid: usize,
    /// The uids of those that are gone.
    dangling: Vec<String>,
    /// The uids of those that wait for their dependents.
    waiting: Vec<String>,
}

impl Owners {
    /// Mirrors `classifyReferences`.
    fn classify(control: &mut dyn Control, item: &Item, references: &[Value]) -> Result<Self, Status> {
        let mut found = Self::default();
        for reference in references {
            let uid = of_owner(reference, "uid");
            let Some(resource) = resource_of(reference) else {
                found.solid += 1;
                continue;
            };
            let namespace = if resource.namespaced() { item.namespace.as_str() } else { "" };
            match control.get(resource, namespace, of_owner(reference, "name")) {
                Ok(owner) if meta::text(&owner, "uid") != uid => found.dangling.push(uid.to_owned()),
                Ok(owner) if is_waiting(&owner) => found.waiting.push(uid.to_owned()),
                Ok(_) => found.solid += 1,
                Err(refusal) if refusal.code == 404 => found.dangling.push(uid.to_owned()),
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(found)
    }
}

fn is_waiting(object: &Arc<Value>) -> bool {
    meta::terminating(object) && has_finalizer(object, FOREGROUND)
}

fn resource_of(reference: &Value) -> Option<Resource> {
    let (api_version, kind) = (of_owner(reference, "apiVersion"), of_owner(reference, "kind"));
    Resource::ALL.into_iter().find(|it| it.kind() == kind && it.api_version() == api_version)
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.is_some_and(|it| it.iter().any(|it| it == finalizer))
}

/// Takes owners out of an object.
fn disown(control: &mut dyn Control, item: &Item, uids: &[String]) -> Result<(), Status> {
    let gone: Vec<Value> = uids.iter().map(|uid| json!({"$patch": "delete", "uid": uid})).collect();
    let patch = json!({"metadata": {"uid": item.uid, "ownerReferences": gone}});
    control.patch_owners(item.resource, &item.namespace, &item.name, &patch).map(|_| ())
}

/// Makes an object block none of its owners.
fn unblock(control: &mut dyn Control, item: &Item, latest: &Value) -> Result<(), Status> {
    let mut unblocked = owners(latest).to_vec();
    unblocked
        .iter_mut()
        .filter(|it| it["blockOwnerDeletion"] == true)
        .for_each(|it| it["blockOwnerDeletion"] = false.into());
    let patch = json!({"metadata": {"uid": item.uid, "ownerReferences": unblocked}});
    control.patch_owners(item.resource, &item.namespace, &item.name, &patch).map(|_| ())
}

fn remove_finalizer(
    control: &mut dyn Control,
    resource: Resource,
    latest: &Value,
    finalizer: &str,
) -> Result<(), Status> {
    let mut object = latest.clone();
    if let Some(finalizers) = object.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut) {
        finalizers.retain(|it| it != finalizer);
    }
    match control.update(resource, object) {
        Err(refusal) if refusal.code != 404 => Err(refusal),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::control::{Control, Delete};
    use super::super::fake::Fake;
    use super::super::meta;
    use super::{GarbageCollector, Item};
    use crate::sim::resource::Resource;

    fn owner(name: &str, block: bool) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name, "uid": name, "controller": true, "blockOwnerDeletion": block})
    }

    fn object(name: &str, owners: Value) -> Value {
        json!({"metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": owners}})
    }

    /// A set with two pods and a revision, and one pod of nobody.
    fn family() -> Fake {
        let mut fake = Fake::default();
        fake.put(Resource::StatefulSets, object("web", json!([])));
        fake.put(Resource::Pods, object("web-0", json!([owner("web", true)])));
        fake.put(Resource::Pods, object("web-1", json!([owner("web", false)])));
        fake.put(Resource::Pods, object("alone", json!([])));
        fake.put(Resource::Revisions, object("web-a", json!([owner("web", true)])));
        fake
    }

    /// A collector and what it was told last.
    #[derive(Default)]
    struct Collector {
        collector: GarbageCollector,
        seen: Vec<(Resource, Value)>,
    }

    /// Lets the collector see everything, again and again, until it has nothing more to do.
    fn settle(fake: &mut Fake, Collector { collector, seen }: &mut Collector) {
        for _ in 0..20 {
            let now: Vec<(Resource, Value)> =
                fake.objects.iter().map(|(key, object)| (key.0, object.as_ref().clone())).collect();
            let mut look: Vec<Item> = Vec::new();
            for (resource, object) in seen.iter() {
                let uid = |it: &Value| meta::text(it, "uid").to_owned();
                if !now.iter().any(|(_, it)| uid(it) == uid(object)) {
                    look.extend(collector.observe(*resource, object, true));
                }
            }
            for (resource, object) in now.iter().filter(|it| !seen.contains(it)) {
                look.extend(collector.observe(*resource, object, false));
            }
            if look.is_empty() && *seen == now {
                return;
            }
            *seen = now;
            while let Some(item) = look.pop() {
                look.extend(collector.sync(fake, &item).unwrap());
            }
        }
        panic!("it never rests");
    }

    fn left(fake: &Fake) -> Vec<&str> {
        fake.objects.keys().map(|key| key.2.as_str()).collect()
    }

    fn delete(fake: &mut Fake, propagation: &'static str) {
        let options = Delete { propagation: Some(propagation), ..Delete::default() };
        fake.delete(Resource::StatefulSets, "shop", "web", &options).unwrap();
    }

    #[test]
    fn what_a_gone_owner_leaves_is_deleted() {
        let (mut fake, mut collector) = (family(), Collector::default());
        settle(&mut fake, &mut collector);
        assert_eq!(left(&fake).len(), 5, "nothing to do");
        delete(&mut fake, "Background");
        settle(&mut fake, &mut collector);
        assert_eq!(left(&fake), ["alone"]);
    }

    #[test]
    fn an_owner_that_was_never_there_counts_as_gone() {
        let mut fake = Fake::default();
        fake.put(Resource::Pods, object("web-0", json!([owner("web", true)])));
        fake.put(Resource::StatefulSets, object("other", json!([])));
        fake.put(
            Resource::Pods,
            object("web-1", json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "other", "uid": "older"}])),
        );
        fake.put(
            Resource::Pods,
            object("web-2", json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j"}])),
        );
        settle(&mut fake, &mut Collector::default());
        assert_eq!(left(&fake), ["web-2", "other"], "kinds that are not served are left alone");
    }

    #[test]
    fn in_the_foreground_the_owner_goes_last() {
        let (mut fake, mut collector) = (family(), Collector::default());
        settle(&mut fake, &mut collector);
        fake.change(Resource::Pods, "web-0", |pod| pod["metadata"]["finalizers"] = json!(["a.b/hold"]));
        delete(&mut fake, "Foreground");
        settle(&mut fake, &mut collector);
        assert_eq!(left(&fake), ["alone", "web-0", "web"], "web-0 blocks it");
        fake.change(Resource::Pods, "web-0", |pod| pod["metadata"]["finalizers"] = json!([]));
        fake.remove(Resource::Pods, "web-0");
        settle(&mut fake, &mut collector);
        let web = fake.find(Resource::StatefulSets, "web").unwrap();
        assert_eq!(web["metadata"]["finalizers"], json!([]), "free to go");
    }

    #[test]
    fn orphans_lose_their_owner_and_stay() {
        let (mut fake, mut collector) = (family(), Collector::default());
        settle(&mut fake, &mut collector);
        delete(&mut fake, "Orphan");
        settle(&mut fake, &mut collector);
        assert_eq!(fake.find(Resource::StatefulSets, "web").unwrap()["metadata"]["finalizers"], json!([]));
        fake.remove(Resource::StatefulSets, "web");
        settle(&mut fake, &mut collector);
        assert_eq!(left(&fake), ["alone", "web-0", "web-1", "web-a"]);
        assert!(fake.find(Resource::Pods, "web-0").unwrap()["metadata"].get("ownerReferences").is_none());
    }

    #[test]
    fn with_another_owner_only_the_reference_goes() {
        let (mut fake, mut collector) = (family(), Collector::default());
        fake.put(Resource::StatefulSets, object("second", json!([])));
        fake.change(Resource::Pods, "web-0", |pod| {
            pod["metadata"]["ownerReferences"] = json!([owner("web", true), {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "second", "uid": "second"}]);
        });
        settle(&mut fake, &mut collector);
        delete(&mut fake, "Background");
        settle(&mut fake, &mut collector);
        assert_eq!(left(&fake), ["alone", "web-0", "second"]);
        assert_eq!(fake.find(Resource::Pods, "web-0").unwrap()["metadata"]["ownerReferences"][0]["name"], "second");
    }

    #[test]
    fn a_dependent_with_dependents_goes_in_the_foreground_too() {
        let (mut fake, mut collector) = (family(), Collector::default());
        let pod =
            json!({"apiVersion": "v1", "kind": "Pod", "name": "web-0", "uid": "web-0", "blockOwnerDeletion": true});
        fake.put(Resource::Claims, object("www-web-0", json!([pod])));
        settle(&mut fake, &mut collector);
        delete(&mut fake, "Foreground");
        settle(&mut fake, &mut collector);
        assert!(fake.find(Resource::Claims, "www-web-0").is_none());
        let pod = fake.find(Resource::Pods, "web-0").unwrap();
        assert_eq!(pod["metadata"]["finalizers"], json!([]), "it went after its claim");
    }
}
