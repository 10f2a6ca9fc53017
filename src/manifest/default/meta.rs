//! Describes metadata, selectors and references: what many API objects share.

use super::schema::{Key, Object, flag, int64, objects, raw, text, text_map, texts, time};

/// `ObjectMeta`.
pub(crate) static OBJECT_META: Object = Object::of(
    "ObjectMeta",
    &[
        text("name"),
        text("generateName"),
        text("namespace"),
        text("selfLink"),
        text("uid").go("types.UID"),
        text("resourceVersion"),
        int64("generation"),
        time("creationTimestamp").null_at_1_33(),
        time("deletionTimestamp").pointer(),
        int64("deletionGracePeriodSeconds").pointer(),
        text_map("labels"),
        text_map("annotations"),
        objects("ownerReferences", &OWNER_REFERENCE).keyed(&[Key::of("uid")]),
        texts("finalizers").set(),
        objects("managedFields", &MANAGED_FIELDS_ENTRY),
    ],
);

/// `OwnerReference`.
pub(super) static OWNER_REFERENCE: Object = Object::of(
    "OwnerReference",
    &[
        text("apiVersion").always(),
        text("kind").always(),
        text("name").always(),
        text("uid").go("types.UID").always(),
        flag("controller").pointer(),
        flag("blockOwnerDeletion").pointer(),
    ],
)
.whole();

/// `ManagedFieldsEntry`.
pub(super) static MANAGED_FIELDS_ENTRY: Object = Object::of(
    "ManagedFieldsEntry",
    &[
        text("manager"),
        text("operation").go("v1.ManagedFieldsOperationType"),
        text("apiVersion"),
        time("time").pointer(),
        text("fieldsType"),
        raw("fieldsV1"),
        text("subresource"),
    ],
);

/// `LabelSelector`.
pub(super) static LABEL_SELECTOR: Object =
    Object::of("LabelSelector", &[text_map("matchLabels"), objects("matchExpressions", &LABEL_SELECTOR_REQUIREMENT)])
        .whole();

/// `LabelSelectorRequirement`.
pub(super) static LABEL_SELECTOR_REQUIREMENT: Object = Object::of(
    "LabelSelectorRequirement",
    &[text("key").always(), text("operator").go("v1.LabelSelectorOperator").always(), texts("values")],
);

/// `LocalObjectReference`.
pub(super) static LOCAL_OBJECT_REFERENCE: Object = Object::of("LocalObjectReference", &[text("name")]).whole();
