//! What a pod tells the controller, read once for each version of it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::set::Set;
use crate::sim::controllers::meta;
use crate::sim::{Compat, Version};

/// The label with the revision's name.
pub(super) const REVISION: &str = "controller-revision-hash";
/// The label with the pod's own name.
pub(super) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
/// The label with the ordinal.
pub(super) const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// A pod as the set sees it.
#[derive(Debug)]
pub(super) struct Pod {
    pub(super) object: Arc<Value>,
    pub(super) name: String,
    pub(super) uid: String,
    /// -1 where the name has none.
    pub(super) ordinal: i64,
    pub(super) phase: Phase,
    pub(super) terminating: bool,
    /// Whether its Ready condition is true, whatever the phase.
    pub(super) ready: bool,
    /// Since when.
    pub(super) ready_since: Option<Timestamp>,
    /// The name of its revision; empty where the label is missing.
    pub(super) revision: String,
    /// Whether the selector takes it and its name is one of the set's.
    pub(super) matches: bool,
    pub(super) controller: Controller,
    /// Whether name and labels are those of its ordinal.
    pub(super) identity: bool,
    /// Whether its volumes are the claims of its ordinal.
    pub(super) storage: bool,
    /// At which look at the claims its own were last found to have the right owners; 0: at none.
    pub(super) claims_fit: AtomicU64,
}

/// Who controls a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Set,
    Other,
    Nobody,
}

/// `status.phase`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// None: the pod is not there yet.
    Absent,
    Pending,
    Running,
    Succeeded,
    Failed,
    Other,
}

impl Pod {
    /// Reads a pod for a set.
    pub(super) fn read(object: Arc<Value>, set: &Set) -> Self {
        let name = meta::text(&object, "name").to_owned();
        let (parent, ordinal) = parent_and_ordinal(&name);
        let member = parent == set.name;
        let status = object.get("status");
        let phase = match status.and_then(|it| it.get("phase")).and_then(Value::as_str).unwrap_or_default() {
            "" => Phase::Absent,
            "Pending" => Phase::Pending,
            "Running" => Phase::Running,
            "Succeeded" => Phase::Succeeded,
            "Failed" => Phase::Failed,
            _ => Phase::Other,
        };
        let condition = status.and_then(|it| it.get("conditions")).and_then(Value::as_array);
        let condition = condition.and_then(|all| all.iter().find(|it| it["type"] == "Ready"));
        let controller = match meta::controller_of(&object) {
            None => Controller::Nobody,
            Some(owner) if meta::of_owner(owner, "uid") == set.uid => Controller::Set,
            Some(_) => Controller::Other,
        };
        Self {
            uid: meta::text(&object, "uid").to_owned(),
            ordinal,
            phase,
            terminating: meta::terminating(&object),
            ready: condition.is_some_and(|it| it["status"] == "True"),
            ready_since: condition
                .and_then(|it| it.get("lastTransitionTime"))
                .and_then(Value::as_str)
                .and_then(|it| it.parse().ok()),
            revision: meta::label(&object, REVISION).to_owned(),
            matches: member && set.selector.matches(meta::labels(&object)),
            controller,
            identity: member
                && ordinal >= 0
                && name == format!("{}-{ordinal}", set.name)
                && meta::text(&object, "namespace") == set.namespace
                && meta::label(&object, POD_NAME) == name,
            storage: ordinal >= 0 && has_claims(&object, set, ordinal),
            claims_fit: AtomicU64::new(0),
            name,
            object,
        }
    }

    /// Whether the API server holds it: it gives every pod a phase.
    pub(super) fn is_created(&self) -> bool {
        self.phase != Phase::Absent
    }

    /// Whether it runs and is ready.
    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Running && self.ready
    }

    /// Whether it has been ready for as long as the set asks. 1.33 wants the moment to have passed, 1.36 is content when
    /// it has come.
    ///
    /// Mirrors `IsPodAvailable` in `pkg/api/v1/pod/util.go`.
    pub(super) fn is_available(&self, min_ready: i64, now: Timestamp, compat: Compat) -> bool {
        if !self.ready || min_ready == 0 {
            return self.ready;
        }
        let due = self.ready_since.and_then(|it| it.checked_add(SignedDuration::from_secs(min_ready)).ok());
        due.is_some_and(|due| if compat.version == Version::V1_33 { due < now } else { due <= now })
    }

    /// Whether it counts as missing. To 1.33 a pod that is ready is there, however short a time.
    ///
    /// Mirrors `isUnavailable`, at 1.33 the opposite of `isHealthy`.
    pub(super) fn is_unavailable(&self, min_ready: i64, now: Timestamp, compat: Compat) -> bool {
        let there = match compat.version {
            Version::V1_33 => self.is_ready(),
            Version::V1_36 | Version::V1_37 => self.is_available(min_ready, now, compat),
        };
        !there || self.terminating
    }
}

/// The set's name and the ordinal that a pod's name consists of; nothing and -1 where it does not.
///
/// Mirrors `getParentNameAndOrdinal`.
pub(super) fn parent_and_ordinal(name: &str) -> (&str, i64) {
    match name.rsplit_once('-') {
        Some((parent, digits)) if !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()) => {
            (parent, digits.parse::<i32>().map_or(-1, i64::from))
        }
        _ => ("", -1),
    }
}

/// Mirrors `storageMatches`.
fn has_claims(pod: &Value, set: &Set, ordinal: i64) -> bool {
    let volumes =
        pod.get("spec").and_then(|it| it.get("volumes")).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    set.claim_templates().iter().all(|template| {
        // Of two volumes with one name the last counts.
        let volume = volumes.iter().rev().find(|it| it["name"] == meta::text(template, "name"));
        let claim = volume.and_then(|it| it.get("persistentVolumeClaim")).and_then(|it| it.get("claimName"));
        claim.and_then(Value::as_str) == Some(set.claim_name(template, ordinal).as_str())
    })
}

/// One of the places of a set.
#[derive(Debug, Clone)]
pub(super) enum Replica {
    /// A pod.
    Pod(Arc<Pod>),
    /// No pod yet; which side it is to be made of.
    Missing {
        /// Its ordinal.
        ordinal: i64,
        /// Whether it is to be made of the update revision.
        update: bool,
    },
}

/// The pods of a namespace as they were read last, for one set.
#[derive(Debug, Default)]
pub(super) struct Pods {
    /// What their reading depends on beside themselves: the set's uid and its claim templates' names.
    of: (String, Vec<String>),
    read: Vec<Arc<Pod>>,
}

impl Pods {
    /// Reads pods, those again that are the same as before without looking at them.
    pub(super) fn read(&mut self, objects: Vec<Arc<Value>>, set: &Set) -> &[Arc<Pod>] {
        let names = set.claim_templates().iter().map(|it| meta::text(it, "name").to_owned()).collect();
        let of = (set.uid.clone(), names);
        let before = if self.of == of { std::mem::take(&mut self.read) } else { Vec::new() };
        self.of = of;
        let mut before = before.into_iter().peekable();
        self.read.clear();
        for object in objects {
            let mut known = before.next_if(|it| Arc::ptr_eq(&it.object, &object));
            if known.is_none() {
                // Both are in the order of their names: what comes earlier is gone.
                let name = meta::text(&object, "name");
                while before.next_if(|it| it.name.as_str() < name).is_some() {}
                known = before.next_if(|it| Arc::ptr_eq(&it.object, &object));
                if known.is_none() {
                    let _changed = before.next_if(|it| it.name == name);
                }
            }
            self.read.push(known.unwrap_or_else(|| Arc::new(Pod::read(object, set))));
        }
        &self.read
    }

    /// Those that were read last.
    #[cfg(test)]
    pub(super) fn read_pods(&self) -> Vec<Arc<Pod>> {
        self.read.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::parent_and_ordinal;

    #[test]
    fn an_ordinal_is_what_stands_behind_the_last_hyphen() {
        for (name, expected) in [
            ("web-0", ("web", 0)),
            ("my-web-12", ("my-web", 12)),
            ("web-007", ("web", 7)),
            ("-1", ("", 1)),
            ("web-", ("", -1)),
            ("web", ("", -1)),
            ("web-a", ("", -1)),
            ("web--1", ("web-", 1)),
            ("web-2147483648", ("web", -1)),
        ] {
            assert_eq!(parent_and_ordinal(name), expected, "{name}");
        }
    }
}
