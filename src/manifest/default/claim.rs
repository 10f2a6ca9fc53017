//! Describes volume claims: those of a StatefulSet and those within a volume.

use serde_json::{Map, Value};

use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::schema::{Key, Object, Reading, object, objects, quantity_map, text, text_map, texts, time};

/// `PersistentVolumeClaim`.
pub(super) static PERSISTENT_VOLUME_CLAIM: Object = Object::of(
    "PersistentVolumeClaim",
    &[
        text("kind").inlined("TypeMeta"),
        text("apiVersion").inlined("TypeMeta"),
        object("metadata", &OBJECT_META).always(),
        object("spec", &PERSISTENT_VOLUME_CLAIM_SPEC).always(),
        object("status", &PERSISTENT_VOLUME_CLAIM_STATUS).always(),
    ],
)
.then(after_claim);

/// `PersistentVolumeClaimTemplate`.
pub(super) static PERSISTENT_VOLUME_CLAIM_TEMPLATE: Object = Object::of(
    "PersistentVolumeClaimTemplate",
    &[object("metadata", &OBJECT_META).always(), object("spec", &PERSISTENT_VOLUME_CLAIM_SPEC).always()],
);

/// `PersistentVolumeClaimSpec`.
pub(crate) static PERSISTENT_VOLUME_CLAIM_SPEC: Object = Object::of(
    "PersistentVolumeClaimSpec",
    &[
        texts("accessModes").go("[]v1.PersistentVolumeAccessMode"),
        object("selector", &LABEL_SELECTOR),
        object("resources", &VOLUME_RESOURCE_REQUIREMENTS).always(),
        text("volumeName"),
        text("storageClassName").pointer(),
        text("volumeMode").go("v1.PersistentVolumeMode").pointer().or_text("Filesystem"),
        object("dataSource", &TYPED_LOCAL_OBJECT_REFERENCE),
        object("dataSourceRef", &TYPED_OBJECT_REFERENCE),
        text("volumeAttributesClassName").pointer(),
    ],
);

/// `VolumeResourceRequirements`.
pub(super) static VOLUME_RESOURCE_REQUIREMENTS: Object =
    Object::of("VolumeResourceRequirements", &[quantity_map("limits"), quantity_map("requests")]);

/// `TypedLocalObjectReference`.
pub(super) static TYPED_LOCAL_OBJECT_REFERENCE: Object = Object::of(
    "TypedLocalObjectReference",
    &[text("apiGroup").or_null(), text("kind").always(), text("name").always()],
)
.whole();

/// `TypedObjectReference`.
pub(super) static TYPED_OBJECT_REFERENCE: Object = Object::of(
    "TypedObjectReference",
    &[text("apiGroup").or_null(), text("kind").always(), text("name").always(), text("namespace").pointer()],
);

/// `PersistentVolumeClaimStatus`.
pub(super) static PERSISTENT_VOLUME_CLAIM_STATUS: Object = Object::of(
    "PersistentVolumeClaimStatus",
    &[
        text("phase").go("v1.PersistentVolumeClaimPhase").or_text("Pending"),
        texts("accessModes").go("[]v1.PersistentVolumeAccessMode"),
        quantity_map("capacity"),
        objects("conditions", &PERSISTENT_VOLUME_CLAIM_CONDITION).keyed(&[Key::of("type")]),
        quantity_map("allocatedResources"),
        text_map("allocatedResourceStatuses").go("map[v1.ResourceName]v1.ClaimResourceStatus"),
        text("currentVolumeAttributesClassName").pointer(),
        object("modifyVolumeStatus", &MODIFY_VOLUME_STATUS),
    ],
);

/// `PersistentVolumeClaimCondition`.
pub(super) static PERSISTENT_VOLUME_CLAIM_CONDITION: Object = Object::of(
    "PersistentVolumeClaimCondition",
    &[
        text("type").go("v1.PersistentVolumeClaimConditionType").always(),
        text("status").go("v1.ConditionStatus").always(),
        time("lastProbeTime").or_null(),
        time("lastTransitionTime").or_null(),
        text("reason"),
        text("message"),
    ],
);

/// `ModifyVolumeStatus`.
pub(super) static MODIFY_VOLUME_STATUS: Object = Object::of(
    "ModifyVolumeStatus",
    &[
        text("targetVolumeAttributesClassName"),
        text("status").go("v1.PersistentVolumeClaimModifyVolumeStatus").always(),
    ],
);

/// `Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec`: every claim template says what it is, whatever was given.
fn after_claim(claim: &mut Map<String, Value>, _: Reading) {
    claim.insert("apiVersion".to_owned(), "v1".into());
    claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
}
