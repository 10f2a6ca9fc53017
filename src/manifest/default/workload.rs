//! Describes a StatefulSet.

use serde_json::{Map, Value};

use super::claim::PERSISTENT_VOLUME_CLAIM;
use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::pod::POD_TEMPLATE_SPEC;
use super::read;
use super::schema::{Key, Object, Reading, int_or_text, int32, int64, object, objects, text, time};

/// `StatefulSet`.
pub(crate) static STATEFUL_SET: Object = Object::of(
    "StatefulSet",
    &[
        text("kind").inlined("TypeMeta"),
        text("apiVersion").inlined("TypeMeta"),
        object("metadata", &OBJECT_META).always(),
        object("spec", &STATEFUL_SET_SPEC).always(),
        object("status", &STATEFUL_SET_STATUS).always(),
    ],
);

/// `Scale` of autoscaling/v1.
pub(crate) static SCALE: Object = Object::of(
    "Scale",
    &[
        text("kind").inlined("TypeMeta"),
        text("apiVersion").inlined("TypeMeta"),
        object("metadata", &OBJECT_META).always(),
        object("spec", &SCALE_SPEC).always(),
        object("status", &SCALE_STATUS).always(),
    ],
);

/// `ScaleSpec`.
pub(super) static SCALE_SPEC: Object = Object::of("ScaleSpec", &[int32("replicas")]);

/// `ScaleStatus`.
pub(super) static SCALE_STATUS: Object = Object::of("ScaleStatus", &[int32("replicas").always(), text("selector")]);

/// `StatefulSetStatus`.
pub(super) static STATEFUL_SET_STATUS: Object = Object::of(
    "StatefulSetStatus",
    &[
        int64("observedGeneration"),
        int32("replicas").always(),
        int32("readyReplicas"),
        int32("currentReplicas"),
        int32("updatedReplicas"),
        text("currentRevision"),
        text("updateRevision"),
        int32("collisionCount").pointer(),
        objects("conditions", &STATEFUL_SET_CONDITION).keyed(&[Key::of("type")]),
        int32("availableReplicas").always(),
    ],
);

/// `StatefulSetCondition`.
pub(super) static STATEFUL_SET_CONDITION: Object = Object::of(
    "StatefulSetCondition",
    &[
        text("type").go("v1.StatefulSetConditionType").always(),
        text("status").go("v1.ConditionStatus").always(),
        time("lastTransitionTime").or_null(),
        text("reason"),
        text("message"),
    ],
);

/// `StatefulSetSpec`.
pub(crate) static STATEFUL_SET_SPEC: Object = Object::of(
    "StatefulSetSpec",
    &[
        int32("replicas").pointer().or_int(1),
        object("selector", &LABEL_SELECTOR).or_null(),
        object("template", &POD_TEMPLATE_SPEC).always(),
        objects("volumeClaimTemplates", &PERSISTENT_VOLUME_CLAIM),
        text("serviceName").always(),
        text("podManagementPolicy").go("v1.PodManagementPolicyType").or_text("OrderedReady"),
        object("updateStrategy", &STATEFUL_SET_UPDATE_STRATEGY).always(),
        int32("revisionHistoryLimit").pointer().or_int(10),
        int32("minReadySeconds"),
        object("persistentVolumeClaimRetentionPolicy", &STATEFUL_SET_PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY).always(),
        object("ordinals", &STATEFUL_SET_ORDINALS),
    ],
);

/// `StatefulSetUpdateStrategy`.
pub(super) static STATEFUL_SET_UPDATE_STRATEGY: Object = Object::of(
    "StatefulSetUpdateStrategy",
    &[
        text("type").go("v1.StatefulSetUpdateStrategyType"),
        object("rollingUpdate", &ROLLING_UPDATE_STATEFUL_SET_STRATEGY),
    ],
)
.then(after_update_strategy);

/// `RollingUpdateStatefulSetStrategy`.
pub(super) static ROLLING_UPDATE_STATEFUL_SET_STRATEGY: Object = Object::of(
    "RollingUpdateStatefulSetStrategy",
    &[int32("partition").pointer().or_int(0), int_or_text("maxUnavailable").pointer().dropped()],
);

/// `StatefulSetPersistentVolumeClaimRetentionPolicy`.
pub(super) static STATEFUL_SET_PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY: Object = Object::of(
    "StatefulSetPersistentVolumeClaimRetentionPolicy",
    &[
        text("whenDeleted").go("v1.PersistentVolumeClaimRetentionPolicyType").or_text("Retain"),
        text("whenScaled").go("v1.PersistentVolumeClaimRetentionPolicyType").or_text("Retain"),
    ],
);

/// `StatefulSetOrdinals`.
pub(super) static STATEFUL_SET_ORDINALS: Object = Object::of("StatefulSetOrdinals", &[int32("start").always()]);

/// `SetDefaults_StatefulSet`: a strategy without a type gets a rolling-update block. (Any such block has a partition.)
fn after_update_strategy(strategy: &mut Map<String, Value>, reading: Reading) {
    if !strategy.contains_key("type") {
        strategy.insert("type".to_owned(), "RollingUpdate".into());
        let block = || read::object(&ROLLING_UPDATE_STATEFUL_SET_STRATEGY, &Value::Null, reading);
        strategy.entry("rollingUpdate").or_insert_with(block);
    }
}
