//! Gives a pod template, or a whole StatefulSet spec, the form in which the API server would return it.
//!
//! Fields the server does not know are dropped, zero values are dropped or written as its Go types say, defaults are
//! filled in, quantities are printed canonically, and what stands behind a closed feature gate goes. The description of
//! the API is a table (`schema`) over plain JSON: typed round trips lose what they do not know, and know nothing of
//! pointers. A value of the wrong kind stays as it is: refusing it is the business of validation.
//!
//! Mirrors `pkg/apis/{core,apps}/v1/{defaults,conversion,zz_generated.defaults}.go`, `pkg/api/pod/util.go`
//! (`DropDisabledTemplateFields`) and `pkg/registry/apps/statefulset/strategy.go` of Kubernetes, for a new set and with
//! the feature gates at their defaults; [`applied()`] does the same for one that is changed.
//! `tests/controlplane/differential` holds both against their code. Not mirrored: admission webhooks, and the rewriting
//! of numbers that are no integers within `managedFields`.

use serde_json::Value;

mod applied;
mod claim;
mod container;
#[cfg(test)]
mod fields;
mod image;
mod legacy_volume;
mod meta;
mod pod;
mod probe;
mod read;
mod scheduling;
mod schema;
mod security;
mod time;
mod volume;
mod workload;

pub(crate) use claim::PERSISTENT_VOLUME_CLAIM_SPEC;
pub(crate) use meta::OBJECT_META;
pub(crate) use pod::POD_SPEC;
use schema::Reading;
pub(crate) use schema::{Field, Kind, Merge, Object, Type};
pub(crate) use time::is_time;
pub(crate) use workload::{SCALE, STATEFUL_SET, STATEFUL_SET_SPEC};

/// The form of the API a control plane speaks: what it knows, which gates are open, and how it writes empty structs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// As Kubernetes 1.33 writes it: `creationTimestamp: null` in every template.
    V1_33,
    /// As Kubernetes 1.36 writes it.
    V1_36,
}

/// The pod template (`.spec.template`) as a server of that level returns it. Idempotent.
pub fn template(template: &Value, level: Level) -> Value {
    stored(&pod::POD_TEMPLATE_SPEC, template, level)
}

/// The whole `.spec` of a StatefulSet, claim templates included, as a server of that level returns it. Idempotent.
pub fn stateful_set(spec: &Value, level: Level) -> Value {
    stored(&STATEFUL_SET_SPEC, spec, level)
}

/// An object as a server of that level decodes it from a request: defaulted, but with what stands behind closed gates.
pub(crate) fn decoded(object: &Object, given: &Value, level: Level) -> Value {
    read::object(object, given, Reading { level, gated: false })
}

/// The same without what stands behind closed gates: as it is stored.
pub(crate) fn stored(object: &Object, given: &Value, level: Level) -> Value {
    read::object(object, given, Reading { level, gated: true })
}

/// The `.metadata` of an object as a server of that level returns it. Idempotent.
pub(crate) fn metadata(metadata: &Value, level: Level) -> Value {
    stored(&OBJECT_META, metadata, level)
}

/// The `.spec` of a pod as the defaults that it shares with a template make it. Idempotent.
pub(crate) fn pod_spec(spec: &Value, level: Level) -> Value {
    stored(&POD_SPEC, spec, level)
}

/// The `.spec` of a volume claim as a server of that level returns it. Idempotent.
pub(crate) fn claim_spec(spec: &Value, level: Level) -> Value {
    stored(&PERSISTENT_VOLUME_CLAIM_SPEC, spec, level)
}

/// The whole `.spec` once `now` is applied over a live one by the manager that applied `before`, and nobody else did.
///
/// All three are `.spec`s: the live one as a server returned it, the others as manifests state them. It may differ from
/// what [`stateful_set`] predicts for a new set, and so may the revision's name. What 1.33 makes of nulls and of empty
/// lists and maps in `now` is told as 1.36 takes them, which is not always so.
pub fn applied(live: &Value, before: &Value, now: &Value, level: Level) -> Value {
    stateful_set(&applied::merged(&STATEFUL_SET_SPEC, live, before, now), level)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Level, stateful_set, template};

    #[test]
    fn values_of_the_wrong_kind_stay_as_they_are() {
        for wrong in [json!(null), json!(1.5), json!(true), json!("x"), json!([1, null, {}]), json!({"a": [null]})] {
            assert_eq!(template(&wrong, Level::V1_36).is_object(), wrong.is_null() || wrong.is_object());
            for field in ["metadata", "spec"] {
                template(&json!({field: wrong}), Level::V1_33);
            }
            for field in ["containers", "volumes", "securityContext", "overhead", "affinity", "priority", "hostname"] {
                let spec = template(&json!({"spec": {field: wrong}}), Level::V1_33);
                if wrong == json!(1.5) {
                    assert_eq!(spec["spec"][field], wrong, "{field}");
                }
            }
            for field in ["updateStrategy", "volumeClaimTemplates", "template", "replicas", "ordinals"] {
                stateful_set(&json!({field: wrong}), Level::V1_33);
            }
        }
    }

    #[test]
    fn whole_numbers_wrap_as_server_side_apply_lets_them() {
        let read = |value: Value| stateful_set(&json!({"replicas": value}), Level::V1_36)["replicas"].clone();
        assert_eq!(read(json!(10.0)), json!(10));
        assert_eq!(read(json!(4_294_967_299_i64)), json!(3));
        assert_eq!(read(json!(9_223_372_036_854_775_808_u64)), json!(0));
        assert_eq!(read(json!(1.5)), json!(1.5));
    }

    #[test]
    fn a_stop_signal_goes_and_takes_an_otherwise_empty_hook_with_it() {
        let lifecycle = |given: Value| {
            let pod = json!({"spec": {"containers": [{"name": "a", "lifecycle": given}]}});
            template(&pod, Level::V1_36)["spec"]["containers"][0].get("lifecycle").cloned()
        };
        assert_eq!(lifecycle(json!({"stopSignal": "SIGTERM"})), None);
        assert_eq!(lifecycle(json!({})), Some(json!({})));
    }

    #[test]
    fn image_volumes_go_with_their_mounts_at_1_33() {
        let pod = json!({"spec": {
            "containers": [{"name": "a", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
            "volumes": [{"name": "v", "image": {"reference": "a"}}],
        }});
        let now = template(&pod, Level::V1_36);
        assert_eq!(now["spec"]["volumes"][0]["image"]["pullPolicy"], "Always");
        let then = template(&pod, Level::V1_33);
        assert_eq!(then["spec"].get("volumes"), None);
        assert_eq!(then["spec"]["containers"][0].get("volumeMounts"), None);
    }

    #[test]
    fn the_service_account_has_two_names() {
        let pod = json!({"spec": {"serviceAccount": "old", "serviceAccountName": ""}});
        let spec = &template(&pod, Level::V1_36)["spec"];
        assert_eq!((&spec["serviceAccount"], &spec["serviceAccountName"]), (&json!("old"), &json!("old")));
    }
}
