//! Describes volume claims: those of a StatefulSet and those within a volume.

use serde_json::{Map, Value};

use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::schema::{Key, Object, Reading, object, objects, quantity_map, text, text_map, texts, time};

/// `PersistentVolumeClaim`.
pub(super) static PERSISTENT_VOLUME_CLAIM: Object = Object::of(&[
    text("kind"),
    text("apiVersion"),
    object("metadata", &OBJECT_META).always(),
    object("spec", &PERSISTENT_VOLUME_CLAIM_SPEC).always(),
    object("status", &PERSISTENT_VOLUME_CLAIM_STATUS).always(),
])
.then(after_claim);

/// `PersistentVolumeClaimTemplate`.
pub(super) static PERSISTENT_VOLUME_CLAIM_TEMPLATE: Object =
    Object::of(&[object("metadata", &OBJECT_META).always(), object("spec", &PERSISTENT_VOLUME_CLAIM_SPEC).always()]);

/// `PersistentVolumeClaimSpec`.
pub(super) static PERSISTENT_VOLUME_CLAIM_SPEC: Object = Object::of(&[
    texts("accessModes"),
    object("selector", &LABEL_SELECTOR),
    object("resources", &VOLUME_RESOURCE_REQUIREMENTS).always(),
    text("volumeName"),
    text("storageClassName").pointer(),
    text("volumeMode").pointer().or_text("Filesystem"),
    object("dataSource", &TYPED_LOCAL_OBJECT_REFERENCE),
    object("dataSourceRef", &TYPED_OBJECT_REFERENCE),
    text("volumeAttributesClassName").pointer(),
]);

/// `VolumeResourceRequirements`.
pub(super) static VOLUME_RESOURCE_REQUIREMENTS: Object =
    Object::of(&[quantity_map("limits"), quantity_map("requests")]);

/// `TypedLocalObjectReference`.
pub(super) static TYPED_LOCAL_OBJECT_REFERENCE: Object =
    Object::of(&[text("apiGroup").or_null(), text("kind").always(), text("name").always()]).whole();

/// `TypedObjectReference`.
pub(super) static TYPED_OBJECT_REFERENCE: Object = Object::of(&[
    text("apiGroup").or_null(),
    text("kind").always(),
    text("name").always(),
    text("namespace").pointer(),
]);

/// `PersistentVolumeClaimStatus`.
pub(super) static PERSISTENT_VOLUME_CLAIM_STATUS: Object = Object::of(&[
    text("phase").or_text("Pending"),
    texts("accessModes"),
    quantity_map("capacity"),
    objects("conditions", &PERSISTENT_VOLUME_CLAIM_CONDITION).keyed(&[Key::of("type")]),
    quantity_map("allocatedResources"),
    text_map("allocatedResourceStatuses"),
    text("currentVolumeAttributesClassName").pointer(),
    object("modifyVolumeStatus", &MODIFY_VOLUME_STATUS),
]);

/// `PersistentVolumeClaimCondition`.
pub(super) static PERSISTENT_VOLUME_CLAIM_CONDITION: Object = Object::of(&[
    text("type").always(),
    text("status").always(),
    time("lastProbeTime").or_null(),
    time("lastTransitionTime").or_null(),
    text("reason"),
    text("message"),
]);

/// `ModifyVolumeStatus`.
pub(super) static MODIFY_VOLUME_STATUS: Object =
    Object::of(&[text("targetVolumeAttributesClassName"), text("status").always()]);

/// `Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec`: every claim template says what it is, whatever was given.
fn after_claim(claim: &mut Map<String, Value>, _: Reading) {
    claim.insert("apiVersion".to_owned(), "v1".into());
    claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
}
