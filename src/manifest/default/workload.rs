//! Describes the spec of a StatefulSet.

use serde_json::{Map, Value};

use super::Level;
use super::claim::PERSISTENT_VOLUME_CLAIM;
use super::meta::LABEL_SELECTOR;
use super::pod::POD_TEMPLATE_SPEC;
use super::read;
use super::schema::{Object, int_or_text, int32, object, objects, text};

/// `StatefulSetSpec`.
pub(crate) static STATEFUL_SET_SPEC: Object = Object::of(&[
    int32("replicas").pointer().or_int(1),
    object("selector", &LABEL_SELECTOR).or_null(),
    object("template", &POD_TEMPLATE_SPEC).always(),
    objects("volumeClaimTemplates", &PERSISTENT_VOLUME_CLAIM),
    text("serviceName").always(),
    text("podManagementPolicy").or_text("OrderedReady"),
    object("updateStrategy", &STATEFUL_SET_UPDATE_STRATEGY).always(),
    int32("revisionHistoryLimit").pointer().or_int(10),
    int32("minReadySeconds"),
    object("persistentVolumeClaimRetentionPolicy", &STATEFUL_SET_PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY).always(),
    object("ordinals", &STATEFUL_SET_ORDINALS),
]);

/// `StatefulSetUpdateStrategy`.
pub(super) static STATEFUL_SET_UPDATE_STRATEGY: Object =
    Object::of(&[text("type"), object("rollingUpdate", &ROLLING_UPDATE_STATEFUL_SET_STRATEGY)])
        .then(after_update_strategy);

/// `RollingUpdateStatefulSetStrategy`.
pub(super) static ROLLING_UPDATE_STATEFUL_SET_STRATEGY: Object =
    Object::of(&[int32("partition").pointer().or_int(0), int_or_text("maxUnavailable").pointer().dropped()]);

/// `StatefulSetPersistentVolumeClaimRetentionPolicy`.
pub(super) static STATEFUL_SET_PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY: Object =
    Object::of(&[text("whenDeleted").or_text("Retain"), text("whenScaled").or_text("Retain")]);

/// `StatefulSetOrdinals`.
pub(super) static STATEFUL_SET_ORDINALS: Object = Object::of(&[int32("start").always()]);

/// `SetDefaults_StatefulSet`: a strategy without a type gets a rolling-update block. (Any such block has a partition.)
fn after_update_strategy(strategy: &mut Map<String, Value>, level: Level) {
    if !strategy.contains_key("type") {
        strategy.insert("type".to_owned(), "RollingUpdate".into());
        let block = || read::object(&ROLLING_UPDATE_STATEFUL_SET_STRATEGY, &Value::Null, level);
        strategy.entry("rollingUpdate").or_insert_with(block);
    }
}
