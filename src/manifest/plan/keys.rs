//! The keys a plan may have, level by level; the schema is made from the same tables.

/// The keys of one level.
#[derive(Debug, Clone, Copy)]
pub(in crate::manifest) struct Keys {
    /// What the level is called in a message; empty at the top.
    pub(in crate::manifest) level: &'static str,
    /// The keys that are read.
    pub(in crate::manifest) known: &'static [&'static str],
    /// Keys that other tools or later versions have: refused by name, with the way out.
    pub(in crate::manifest) refused: &'static [(&'static str, &'static str)],
}

pub(in crate::manifest) const TOP: Keys =
    Keys { level: "", known: &["apiVersion", "kind", "metadata", "spec"], refused: &[] };

pub(in crate::manifest) const METADATA: Keys =
    Keys { level: "metadata", known: &["name", "namespace", "labels", "annotations"], refused: &[] };

const NOT_BUILT: &str = "it is not built yet: leave it out";

pub(in crate::manifest) const SPEC: Keys = Keys {
    level: "spec",
    known: &[
        "workloadRef",
        "progressDeadlineSeconds",
        "onFailure",
        "onNewRevision",
        "rollbackWindow",
        "repairPolicy",
        "maxRestarts",
        "failureThreshold",
        "stages",
        "ramp",
    ],
    refused: &[
        ("analysis", NOT_BUILT),
        ("autoRollback", NOT_BUILT),
        ("dependsOn", NOT_BUILT),
        ("failureLimit", NOT_BUILT),
        ("gates", NOT_BUILT),
        ("progressDeadlineAbort", NOT_BUILT),
        ("rolloutGroup", NOT_BUILT),
        ("syncWindows", NOT_BUILT),
        ("webhooks", NOT_BUILT),
        ("windows", NOT_BUILT),
        ("disabled", "hold a rollout with `phaseline pause`"),
        ("paused", "hold a rollout with `phaseline pause`"),
        ("suspend", "hold a rollout with `phaseline pause`"),
        ("steps", "the steps of a plan are called `stages`"),
        ("strategy", "Argo's `strategy.canary.steps` are `stages` here: write `spec.stages`"),
        ("replicas", "the number of pods stands in the StatefulSet; a plan says how many a stage reaches"),
        ("partition", "write it in a stage: `stages: [{partition: 2}, {partition: 0}]`"),
        ("maxUnavailable", "it belongs to `spec.updateStrategy.rollingUpdate` of the StatefulSet"),
        ("minReadySeconds", "write it in a stage, or in `ramp`; for every rollout it stands in the StatefulSet"),
        ("pause", "write it in a stage, or in `ramp`"),
        ("revisionHistoryLimit", "it belongs to the StatefulSet"),
    ],
};

pub(in crate::manifest) const WORKLOAD_REF: Keys = Keys {
    level: "workloadRef",
    known: &["apiVersion", "kind", "name"],
    refused: &[("namespace", "the set is in the plan's namespace: write `metadata.namespace`")],
};

pub(in crate::manifest) const ROLLBACK_WINDOW: Keys =
    Keys { level: "rollbackWindow", known: &["revisions"], refused: &[] };

pub(in crate::manifest) const STAGE: Keys = Keys {
    level: "a stage",
    known: &["name", "replicas", "partition", "setWeight", "minReadySeconds", "pause"],
    refused: &[
        ("analysis", NOT_BUILT),
        ("gate", NOT_BUILT),
        ("gates", NOT_BUILT),
        ("webhooks", NOT_BUILT),
        ("bake", "the time every pod must have been Ready is `minReadySeconds`"),
        ("duration", "write it in the pause: `pause: {duration: 10m}`"),
        ("maxUnavailable", "it belongs to `spec.updateStrategy.rollingUpdate` of the StatefulSet"),
        ("percent", "write a share as `replicas: \"25%\"`"),
        ("weight", "write a share as `replicas: \"25%\"`"),
    ],
};

pub(in crate::manifest) const PAUSE: Keys = Keys { level: "pause", known: &["duration"], refused: &[] };

pub(in crate::manifest) const RAMP: Keys = Keys {
    level: "ramp",
    known: &["linear", "geometric", "exponential", "minReadySeconds", "pause"],
    refused: &[("stages", "stages stand beside `ramp`, and only one of the two can be")],
};

/// The rules of a ramp: name, its one key, the least value of it, and what the value does.
pub(in crate::manifest) const RAMP_RULES: [(&str, Keys, u32, &str); 3] = [
    ("linear", Keys { level: "ramp.linear", known: &["step"], refused: &[] }, 1, "Every stage adds that many pods."),
    (
        "geometric",
        Keys { level: "ramp.geometric", known: &["factor"], refused: &[] },
        1,
        "Every stage adds that many times the pods that the one before added.",
    ),
    (
        "exponential",
        Keys { level: "ramp.exponential", known: &["base"], refused: &[] },
        2,
        "Every stage reaches that many times as far as the one before.",
    ),
];
