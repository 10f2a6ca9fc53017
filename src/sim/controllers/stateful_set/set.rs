//! What a StatefulSet states, read once a sync.

use std::sync::Arc;

use serde_json::Value;

use crate::manifest::Selector;
use crate::sim::controllers::meta;

/// A set as the cache has it.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) object: Arc<Value>,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) terminating: bool,
    pub(super) selector: Selector,
    pub(super) replicas: i64,
    /// The first ordinal.
    pub(super) start: i64,
    pub(super) parallel: bool,
    pub(super) min_ready: i64,
    pub(super) strategy: Strategy,
    pub(super) rolling: Option<Rolling>,
    pub(super) retention: Retention,
    /// How many revisions that nobody uses are kept; all where negative.
    pub(super) history_limit: i64,
}

/// `spec.updateStrategy.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    RollingUpdate,
    OnDelete,
    Recreate,
    Other,
}

/// `spec.updateStrategy.rollingUpdate`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rolling {
    /// Counted from the first ordinal.
    pub(super) partition: i64,
    pub(super) max_unavailable: Value,
}

/// `spec.persistentVolumeClaimRetentionPolicy`: whether claims are deleted, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Retention {
    pub(super) when_scaled: bool,
    pub(super) when_deleted: bool,
}

impl Set {
    /// Reads a set; where the server fills in a default, that counts for what is absent.
    ///
    /// # Errors
    /// Its selector is none.
    pub(super) fn read(object: Arc<Value>) -> Result<Self, String> {
        let selector = Selector::read(object.pointer("/spec/selector"))?;
        let number = |pointer, default| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(default);
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let deletes = |pointer| text(pointer) == "Delete";
        let rolling = object.pointer("/spec/updateStrategy/rollingUpdate").filter(|it| !it.is_null());
        let rolling = rolling.map(|it| Rolling {
            partition: it.get("partition").and_then(Value::as_i64).unwrap_or(0),
            max_unavailable: it.get("maxUnavailable").cloned().unwrap_or_default(),
        });
        Ok(Self {
            namespace: meta::text(&object, "namespace").to_owned(),
            name: meta::text(&object, "name").to_owned(),
            uid: meta::text(&object, "uid").to_owned(),
            terminating: meta::terminating(&object),
            selector,
            replicas: number("/spec/replicas", 1),
            start: number("/spec/ordinals/start", 0),
            parallel: text("/spec/podManagementPolicy") == "Parallel",
            min_ready: number("/spec/minReadySeconds", 0),
            strategy: match text("/spec/updateStrategy/type") {
                "RollingUpdate" => Strategy::RollingUpdate,
                "OnDelete" => Strategy::OnDelete,
                "Recreate" => Strategy::Recreate,
                _ => Strategy::Other,
            },
            rolling,
            retention: Retention {
                when_scaled: deletes("/spec/persistentVolumeClaimRetentionPolicy/whenScaled"),
                when_deleted: deletes("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted"),
            },
            history_limit: number("/spec/revisionHistoryLimit", 10),
            object,
        })
    }

    /// The template that it states.
    pub(super) fn template(&self) -> &Value {
        self.object.pointer("/spec/template").unwrap_or(&Value::Null)
    }

    /// Its claim templates.
    pub(super) fn claim_templates(&self) -> &[Value] {
        self.object.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The claim of a template and an ordinal.
    pub(super) fn claim_name(&self, template: &Value, ordinal: i64) -> String {
        format!("{}-{}-{ordinal}", meta::text(template, "name"), self.name)
    }

    /// Whether an ordinal is one of its replicas.
    pub(super) fn includes(&self, ordinal: i64) -> bool {
        ordinal >= self.start && ordinal < self.start.saturating_add(self.replicas)
    }

    /// `status.collisionCount`.
    pub(super) fn collision_count(&self) -> i32 {
        let count = self.object.pointer("/status/collisionCount").and_then(Value::as_i64);
        count.and_then(|it| i32::try_from(it).ok()).unwrap_or(0)
    }

    /// The index from which the update loop looks at pods.
    pub(super) fn partition(&self) -> i64 {
        self.rolling.as_ref().map_or(0, |it| it.partition)
    }

    /// How many pods may be unavailable during an update: a number, or a percentage of the replicas rounded down, at
    /// least one.
    ///
    /// Mirrors `getStatefulSetMaxUnavailable` in `stateful_set_utils.go`.
    ///
    /// # Errors
    /// It is neither.
    pub(super) fn max_unavailable(&self) -> Result<i64, String> {
        let stated = self.rolling.as_ref().map_or(&Value::Null, |it| &it.max_unavailable);
        let number = match stated {
            Value::Null => 1,
            Value::Number(number) => number.as_i64().unwrap_or(1),
            other => {
                let text = other.as_str().unwrap_or_default();
                let percent = text.strip_suffix('%').and_then(|it| it.parse::<i64>().ok());
                let Some(percent) = percent else {
                    return Err(format!(
                        "invalid value for IntOrString: invalid type: string is not a percentage: {text}"
                    ));
                };
                percent.saturating_mul(self.replicas).div_euclid(100)
            }
        };
        Ok(number.max(1))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::Set;

    #[test]
    fn a_percentage_is_rounded_down_and_never_nothing() {
        let most = |replicas: i64, stated: Value| {
            let spec = json!({"replicas": replicas, "updateStrategy": {"rollingUpdate": {"maxUnavailable": stated}}});
            Set::read(Arc::new(json!({"spec": spec}))).unwrap().max_unavailable()
        };
        assert_eq!(most(10, json!("25%")), Ok(2));
        assert_eq!(most(3, json!("10%")), Ok(1));
        assert_eq!(most(3, json!(7)), Ok(7));
        assert_eq!(most(3, json!(null)), Ok(1));
        assert!(most(3, json!("half")).is_err());
    }
}
