//! Binds claims to volumes, and keeps those that a pod uses from going.
//!
//! There are volumes for everybody, all alike: those of the default storage class of `tests/controlplane/up`. None of
//! them can be seen as an object.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::control::Control;
use super::meta;
use crate::manifest::quantity;
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// The storage class of claims that name none.
pub const STORAGE_CLASS: &str = "standard";

/// How large every volume is.
const CAPACITY: &str = "100Gi";

/// How every volume can be mounted.
const ACCESS_MODES: [&str; 2] = ["ReadWriteOnce", "ReadWriteMany"];

/// The finalizer of every claim.
pub const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// A claim as admission lets it in: with the default storage class where none is named, and with the finalizer.
///
/// Mirrors the admission plugins DefaultStorageClass and StorageObjectInUseProtection.
pub fn admit(claim: &mut Value) {
    let unnamed = claim.pointer("/spec/storageClassName").is_none_or(Value::is_null)
        && claim.pointer("/metadata/annotations/volume.beta.kubernetes.io~1storage-class").is_none();
    if unnamed && let Some(spec) = claim.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("storageClassName".into(), STORAGE_CLASS.into());
    }
    let finalizers = claim.pointer("/metadata/finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    if !finalizers.iter().any(|it| it == PROTECTION) {
        let finalizers: Vec<Value> = finalizers.into_iter().chain([PROTECTION.into()]).collect();
        claim["metadata"]["finalizers"] = finalizers.into();
    }
}

/// Brings one claim nearer to what it should be: bound, or gone.
///
/// To be called when the claim changed, and for each claim of a pod that changed or went.
///
/// # Errors
/// The server's refusal; to be tried again later.
pub fn sync(control: &mut dyn Control, namespace: &str, name: &str) -> Result<(), Status> {
    let Some(claim) = control.cached(Resource::Claims, namespace, name) else { return Ok(()) };
    if meta::terminating(&claim) {
        return let_go(control, &claim);
    }
    if claim.pointer("/status/phase").and_then(Value::as_str) == Some("Bound") {
        return Ok(());
    }
    if !fits(&claim) {
        return Ok(());
    }
    let mut bound = claim.as_ref().clone();
    bound["spec"]["volumeName"] = volume_name(&claim).into();
    for (annotation, value) in [("bind-completed", "yes"), ("bound-by-controller", "yes")] {
        bound["metadata"]["annotations"][format!("pv.kubernetes.io/{annotation}")] = value.into();
    }
    let mut bound = control.update(Resource::Claims, bound)?.as_ref().clone();
    bound["status"] = json!({"phase": "Bound", "accessModes": ACCESS_MODES, "capacity": {"storage": CAPACITY}});
    control.update_status(Resource::Claims, bound).map(|_| ())
}

/// Whether a volume is what a claim asks for: no class has volumes but the default one.
fn fits(claim: &Value) -> bool {
    let asked = claim.pointer("/spec/resources/requests/storage").and_then(Value::as_str).unwrap_or("0");
    let modes = claim.pointer("/spec/accessModes").and_then(Value::as_array).into_iter().flatten();
    claim.pointer("/spec/storageClassName").and_then(Value::as_str) == Some(STORAGE_CLASS)
        && quantity::compare(asked, CAPACITY).is_some_and(Ordering::is_le)
        && modes.into_iter().all(|mode| ACCESS_MODES.iter().any(|it| mode == it))
}

/// The volume of a claim; one that the claim asks for by name is taken to be there.
fn volume_name(claim: &Value) -> String {
    match claim.pointer("/spec/volumeName").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("pvc-{}", meta::text(claim, "uid")),
    }
}

/// Takes the finalizer off a claim that is going, once no pod uses it.
///
/// Mirrors `pkg/controller/volume/pvcprotection`: pods that have ended use it too, as long as they are there; pods that
/// were never given a node do not.
fn let_go(control: &mut dyn Control, claim: &Value) -> Result<(), Status> {
    let finalizers = claim.pointer("/metadata/finalizers").and_then(Value::as_array);
    let Some(finalizers) = finalizers.filter(|it| it.iter().any(|it| it == PROTECTION)) else { return Ok(()) };
    let (namespace, name) = (meta::text(claim, "namespace"), meta::text(claim, "name"));
    if control
        .listed(Resource::Pods, Some(namespace))
        .iter()
        .any(|pod| is_scheduled(pod) && claims_of(pod).any(|it| it == name))
    {
        return Ok(());
    }
    let mut free = claim.clone();
    let left: Vec<Value> = finalizers.iter().filter(|it| *it != PROTECTION).cloned().collect();
    free["metadata"]["finalizers"] = left.into();
    control.update(Resource::Claims, free).map(|_| ())
}

fn is_scheduled(pod: &Value) -> bool {
    pod.pointer("/spec/nodeName").and_then(Value::as_str).is_some_and(|it| !it.is_empty())
}

/// The claims that a pod's volumes name.
pub fn claims_of(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array).into_iter().flatten();
    volumes.filter_map(|volume| volume.pointer("/persistentVolumeClaim/claimName")?.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::control::{Control, Delete};
    use super::super::fake::Fake;
    use super::{admit, sync};
    use crate::sim::resource::Resource;

    fn with_claim(class: Option<&str>) -> Fake {
        let mut claim = json!({
            "metadata": {"name": "www-web-0", "namespace": "shop", "uid": "u"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Pending"},
        });
        if let Some(class) = class {
            claim["spec"]["storageClassName"] = class.into();
        }
        admit(&mut claim);
        let mut fake = Fake::default();
        fake.put(Resource::Claims, claim);
        fake
    }

    #[test]
    fn a_claim_is_bound_once() {
        let mut fake = with_claim(None);
        sync(&mut fake, "shop", "www-web-0").unwrap();
        let claim = fake.find(Resource::Claims, "www-web-0").unwrap().clone();
        assert_eq!(claim["spec"]["storageClassName"], "standard");
        assert_eq!(claim["spec"]["volumeName"], "pvc-u");
        let modes = ["ReadWriteOnce", "ReadWriteMany"];
        assert_eq!(claim["status"], json!({"phase": "Bound", "accessModes": modes, "capacity": {"storage": "100Gi"}}));
        fake.take_writes();
        sync(&mut fake, "shop", "www-web-0").unwrap();
        assert!(fake.take_writes().is_empty());
        for class in ["", "fast"] {
            let mut fake = with_claim(Some(class));
            sync(&mut fake, "shop", "www-web-0").unwrap();
            assert_eq!(fake.find(Resource::Claims, "www-web-0").unwrap()["status"]["phase"], "Pending");
        }
        for (field, value) in
            [("accessModes", json!(["ReadOnlyMany"])), ("resources", json!({"requests": {"storage": "101Gi"}}))]
        {
            let mut fake = with_claim(None);
            fake.change(Resource::Claims, "www-web-0", |claim| claim["spec"][field] = value);
            sync(&mut fake, "shop", "www-web-0").unwrap();
            assert_eq!(fake.find(Resource::Claims, "www-web-0").unwrap()["status"]["phase"], "Pending");
        }
    }

    #[test]
    fn a_claim_stays_while_a_pod_uses_it() {
        let mut fake = with_claim(None);
        let volumes = json!([{"name": "www", "persistentVolumeClaim": {"claimName": "www-web-0"}}]);
        fake.put(Resource::Pods, json!({"metadata": {"name": "web-0", "namespace": "shop"}, "spec": {"volumes": volumes, "nodeName": "node-0"}}));
        fake.delete(Resource::Claims, "shop", "www-web-0", &Delete::default()).unwrap();
        sync(&mut fake, "shop", "www-web-0").unwrap();
        let finalizers =
            |fake: &Fake| fake.find(Resource::Claims, "www-web-0").unwrap()["metadata"]["finalizers"].clone();
        assert_eq!(finalizers(&fake), json!(["kubernetes.io/pvc-protection"]));
        fake.remove(Resource::Pods, "web-0");
        sync(&mut fake, "shop", "www-web-0").unwrap();
        assert_eq!(finalizers(&fake), json!([]));
    }

    #[test]
    fn a_pod_without_a_node_holds_nothing() {
        let mut fake = with_claim(None);
        let volumes = json!([{"name": "www", "persistentVolumeClaim": {"claimName": "www-web-0"}}]);
        fake.put(
            Resource::Pods,
            json!({"metadata": {"name": "web-0", "namespace": "shop"}, "spec": {"volumes": volumes}}),
        );
        fake.delete(Resource::Claims, "shop", "www-web-0", &Delete::default()).unwrap();
        sync(&mut fake, "shop", "www-web-0").unwrap();
        assert_eq!(fake.find(Resource::Claims, "www-web-0").unwrap()["metadata"]["finalizers"], json!([]));
    }
}
