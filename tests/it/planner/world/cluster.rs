//! What the server stores: one set, its pods.

use std::collections::BTreeMap;
use std::rc::Rc;

use phaseline::model::{FieldOwner, Request, TemplateHash};

use crate::planner::bench::{hash, owner};

/// A pod template: its letter, and the restart that travels with it (0 for none).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tpl {
    pub(crate) id: char,
    pub(crate) restart: u32,
}

impl Tpl {
    /// The name of its ControllerRevision: the same for an equal template.
    pub(crate) fn revision(self) -> String {
        if self.restart == 0 { format!("web-{}", self.id) } else { format!("web-{}@{}", self.id, self.restart) }
    }

    pub(crate) fn hash(self) -> TemplateHash {
        hash(&self.id.to_string())
    }

    /// The annotation's text.
    pub(crate) fn restarted_at(self) -> String {
        if self.restart == 0 { String::new() } else { format!("r{}", self.restart) }
    }
}

/// Who owns which field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owners {
    pub(crate) template: &'static str,
    pub(crate) strategy: &'static str,
    pub(crate) record: &'static str,
    /// None where managedFields name nobody.
    pub(crate) replicas: Option<&'static str>,
    /// A second owner of the same value.
    pub(crate) replicas_too: Option<&'static str>,
}

impl Owners {
    pub(crate) fn list(&self) -> Vec<FieldOwner> {
        let mut list: BTreeMap<&str, FieldOwner> = BTreeMap::new();
        let mut add = |manager: &'static str, set: fn(&mut FieldOwner)| {
            set(list.entry(manager).or_insert_with(|| owner(manager)));
        };
        add(self.template, |owner| owner.template = true);
        add(self.strategy, |owner| owner.strategy = true);
        if !self.record.is_empty() {
            add(self.record, |owner| owner.record = true);
        }
        for manager in self.replicas.into_iter().chain(self.replicas_too) {
            add(manager, |owner| owner.replicas = true);
        }
        list.into_values().collect()
    }
}

/// The StatefulSet.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    pub(crate) uid: u32,
    pub(crate) rv: u64,
    pub(crate) generation: i64,
    pub(crate) observed: i64,
    pub(crate) tpl: Tpl,
    pub(crate) current: Tpl,
    pub(crate) update: Tpl,
    pub(crate) partition: u32,
    pub(crate) replicas: u32,
    pub(crate) start: u32,
    pub(crate) min_ready: u32,
    pub(crate) parallel: bool,
    pub(crate) max_unavailable: bool,
    pub(crate) when_scaled_delete: bool,
    pub(crate) record: Option<Rc<str>>,
    pub(crate) request: Option<Rc<Request>>,
    pub(crate) owners: Owners,
}

/// A pod.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pod {
    pub(crate) ordinal: u32,
    pub(crate) uid: u32,
    pub(crate) rv: u64,
    pub(crate) tpl: Tpl,
    pub(crate) created: i64,
    pub(crate) scheduled: Option<i64>,
    pub(crate) started: Option<i64>,
    pub(crate) ready: bool,
    pub(crate) ready_since: i64,
    /// When it is gone, while it terminates.
    pub(crate) gone_at: Option<i64>,
    pub(crate) restarts: u32,
    pub(crate) fault: Option<&'static str>,
    /// When the kubelet does the next thing with it.
    pub(crate) next: i64,
}

/// The server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cluster {
    pub(crate) set: Option<Set>,
    pub(crate) pods: BTreeMap<u32, Pod>,
    /// The version of the whole store.
    pub(crate) rv: u64,
    pub(crate) uids: u32,
}

/// The server at one version.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) rv: u64,
    pub(crate) set: Option<Set>,
    pub(crate) pods: BTreeMap<u32, Pod>,
}

impl Cluster {
    pub(crate) fn view(&self) -> View {
        View { rv: self.rv, set: self.set.clone(), pods: self.pods.clone() }
    }

    /// A new version for something that changed.
    pub(crate) fn touch(&mut self) -> u64 {
        self.rv += 1;
        self.rv
    }

    /// A new version of the set; with a new generation where its spec changed.
    pub(crate) fn touch_set(&mut self, spec: bool) {
        let rv = self.touch();
        if let Some(set) = &mut self.set {
            set.rv = rv;
            set.generation += i64::from(spec);
        }
    }

    /// Begins to delete a pod.
    pub(crate) fn delete_pod(&mut self, ordinal: u32, gone_at: i64) {
        let rv = self.touch();
        if let Some(pod) = self.pods.get_mut(&ordinal)
            && pod.gone_at.is_none()
        {
            (pod.gone_at, pod.rv) = (Some(gone_at), rv);
        }
    }
}
