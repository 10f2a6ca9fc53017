//! Who owns the number of replicas: told in terms of the Scale, and back.

use serde_json::Value;

use super::element::Element;
use super::owners::{Owner, Owners};
use super::set::FieldSet;

/// In what version the parent tells its sets.
const PARENT: &str = "apps/v1";

/// In what version the Scale does.
const SCALE: &str = "autoscaling/v1";

/// The `managedFields` of a Scale, from those of the set that it scales; null where there are none.
pub fn ownership_of_scale(parent: &Value) -> Value {
    let mut owners = Owners::read(parent.pointer("/metadata/managedFields")).unwrap_or_default();
    owners.all.retain(|_, owner| owner.api_version == PARENT && owner.set.has(&replicas()));
    for owner in owners.all.values_mut() {
        owner.api_version = SCALE.to_owned();
        owner.set = FieldSet::of(&[&["spec", "replicas"]]);
    }
    owners.write().unwrap_or_default()
}

/// The set with those of its owners that are left once the Scale was written: who took the replicas there owns them.
pub fn ownership_of_parent(parent: &Value, scale: &Value) -> Value {
    let of = |object: &Value| Owners::read(object.pointer("/metadata/managedFields")).unwrap_or_default();
    let (before, mut scaled) = (of(parent), of(scale));
    let mut after = Owners::default();
    for (id, owner) in before.all.iter().filter(|(_, owner)| owner.api_version == PARENT) {
        if !owner.set.has(&replicas()) || scaled.all.remove(id).is_some() {
            after.all.insert(id.clone(), owner.clone());
            continue;
        }
        let set = owner.set.difference(&FieldSet::of(&[&["spec", "replicas"]]));
        if !set.is_empty() {
            after.all.insert(id.clone(), Owner { set, ..owner.clone() });
        }
    }
    for (id, owner) in scaled.all.into_iter().filter(|(_, owner)| owner.set.has(&replicas())) {
        // Whoever is new has no time: the server looks it up among the old ones.
        let time = before.all.get(&id).and_then(|before| before.time.clone());
        let set = FieldSet::of(&[&["spec", "replicas"]]);
        after.all.insert(id, Owner { api_version: PARENT.to_owned(), set, time, ..owner });
    }
    let mut parent = parent.clone();
    after.write_into(&mut parent);
    parent
}

/// Whether the sets of a parent look as before once its scale was written: the server passes them through Go's JSON then,
/// and compares what comes out byte by byte.
///
/// They are taken to be in the server's own spelling before, which every other write gives them. After two writes of the
/// scale in a row they are not; but then the first took the times away.
pub(super) fn is_spelled_alike(parent: &Value) -> bool {
    let owners = Owners::read(parent.pointer("/metadata/managedFields")).unwrap_or_default();
    owners.all.values().all(|owner| owner.set.is_spelled_alike())
}

fn replicas() -> [Element; 2] {
    [Element::field("spec"), Element::field("replicas")]
}
