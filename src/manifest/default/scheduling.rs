//! Describes where a pod may run: affinity, tolerations, spreading.

use super::meta::LABEL_SELECTOR;
use super::schema::{Object, int32, int64, object, objects, text, texts};

/// `Affinity`.
pub(super) static AFFINITY: Object = Object::of(
    "Affinity",
    &[
        object("nodeAffinity", &NODE_AFFINITY),
        object("podAffinity", &POD_AFFINITY),
        object("podAntiAffinity", &POD_ANTI_AFFINITY),
    ],
);

/// `NodeAffinity`.
pub(super) static NODE_AFFINITY: Object = Object::of(
    "NodeAffinity",
    &[
        object("requiredDuringSchedulingIgnoredDuringExecution", &NODE_SELECTOR),
        objects("preferredDuringSchedulingIgnoredDuringExecution", &PREFERRED_SCHEDULING_TERM),
    ],
);

/// `NodeSelector`.
pub(super) static NODE_SELECTOR: Object =
    Object::of("NodeSelector", &[objects("nodeSelectorTerms", &NODE_SELECTOR_TERM).always()]).whole();

/// `NodeSelectorTerm`.
pub(super) static NODE_SELECTOR_TERM: Object = Object::of(
    "NodeSelectorTerm",
    &[objects("matchExpressions", &NODE_SELECTOR_REQUIREMENT), objects("matchFields", &NODE_SELECTOR_REQUIREMENT)],
)
.whole();

/// `NodeSelectorRequirement`.
pub(super) static NODE_SELECTOR_REQUIREMENT: Object = Object::of(
    "NodeSelectorRequirement",
    &[text("key").always(), text("operator").go("v1.NodeSelectorOperator").always(), texts("values")],
);

/// `PreferredSchedulingTerm`.
pub(super) static PREFERRED_SCHEDULING_TERM: Object = Object::of(
    "PreferredSchedulingTerm",
    &[int32("weight").always(), object("preference", &NODE_SELECTOR_TERM).always()],
);

/// `PodAffinity`.
pub(super) static POD_AFFINITY: Object = Object::of(
    "PodAffinity",
    &[
        objects("requiredDuringSchedulingIgnoredDuringExecution", &POD_AFFINITY_TERM),
        objects("preferredDuringSchedulingIgnoredDuringExecution", &WEIGHTED_POD_AFFINITY_TERM),
    ],
);

/// `PodAntiAffinity`.
pub(super) static POD_ANTI_AFFINITY: Object = Object::of(
    "PodAntiAffinity",
    &[
        objects("requiredDuringSchedulingIgnoredDuringExecution", &POD_AFFINITY_TERM),
        objects("preferredDuringSchedulingIgnoredDuringExecution", &WEIGHTED_POD_AFFINITY_TERM),
    ],
);

/// `WeightedPodAffinityTerm`.
pub(super) static WEIGHTED_POD_AFFINITY_TERM: Object = Object::of(
    "WeightedPodAffinityTerm",
    &[int32("weight").always(), object("podAffinityTerm", &POD_AFFINITY_TERM).always()],
);

/// `PodAffinityTerm`.
pub(super) static POD_AFFINITY_TERM: Object = Object::of(
    "PodAffinityTerm",
    &[
        object("labelSelector", &LABEL_SELECTOR),
        texts("namespaces"),
        text("topologyKey").always(),
        object("namespaceSelector", &LABEL_SELECTOR),
        texts("matchLabelKeys"),
        texts("mismatchLabelKeys"),
    ],
);

/// `Toleration`.
pub(super) static TOLERATION: Object = Object::of(
    "Toleration",
    &[
        text("key"),
        text("operator").go("v1.TolerationOperator"),
        text("value"),
        text("effect").go("v1.TaintEffect"),
        int64("tolerationSeconds").pointer(),
    ],
);

/// `TopologySpreadConstraint`.
pub(super) static TOPOLOGY_SPREAD_CONSTRAINT: Object = Object::of(
    "TopologySpreadConstraint",
    &[
        int32("maxSkew").always(),
        text("topologyKey").always(),
        text("whenUnsatisfiable").go("v1.UnsatisfiableConstraintAction").always(),
        object("labelSelector", &LABEL_SELECTOR),
        int32("minDomains").pointer(),
        text("nodeAffinityPolicy").go("v1.NodeInclusionPolicy").pointer(),
        text("nodeTaintsPolicy").go("v1.NodeInclusionPolicy").pointer(),
        texts("matchLabelKeys"),
    ],
);
