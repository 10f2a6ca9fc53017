//! The state that a cluster shows, read once: sets, their pods, revisions and claims, and which Kubernetes it is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::cli::error::{CliError, Kind};
use crate::cli::session::Session;
use crate::cluster::{RequestError, read};
use crate::daemon::View;
use crate::model::WorkloadId;
use crate::sim::{Resource, World};

/// What there is.
pub(super) struct Live {
    /// The objects, as the server shows them.
    objects: Vec<(Resource, Value)>,
    replicas: BTreeMap<WorkloadId, u32>,
}

impl Live {
    /// How many pods a set is to have there.
    pub(super) fn replicas(&self, workload: &WorkloadId) -> Option<u32> {
        self.replicas.get(workload).copied()
    }

    /// Puts it all into a world.
    pub(super) fn put_into(&self, world: &mut World) {
        for (resource, object) in &self.objects {
            world.take_over(*resource, object.clone());
        }
    }

    /// The namespaces that it lies in.
    pub(super) fn namespaces(&self) -> BTreeSet<String> {
        self.objects
            .iter()
            .filter_map(|(_, object)| Some(object.pointer("/metadata/namespace")?.as_str()?.to_owned()))
            .collect()
    }
}

/// Reads what there is of the sets that a commit names.
pub(super) fn read(session: &Session, view: &View) -> Result<Live, CliError> {
    let mut live = Live { objects: Vec::new(), replicas: BTreeMap::new() };
    for workload in view.wishes.keys() {
        let set = session.object(workload)?;
        if set.is_null() {
            continue;
        }
        let replicas = set.pointer("/spec/replicas").and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
        live.replicas.insert(workload.clone(), replicas.unwrap_or(1));
        let uid = set.pointer("/metadata/uid").cloned().unwrap_or_default();
        let owned = session.wait(read::owned_objects(&session.cluster, workload, &set))?;
        let is_its = |object: &Value| {
            let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            owners.into_iter().flatten().any(|owner| owner.get("uid") == Some(&uid))
        };
        for (plural, object) in owned.into_iter().filter(|(_, object)| is_its(object)) {
            let Some(resource) = [Resource::Pods, Resource::Revisions].into_iter().find(|it| it.plural() == plural)
            else {
                return Err(CliError::new(Kind::Cluster, format!("{plural} of {workload} were not asked for")));
            };
            live.objects.push((resource, object));
        }
        // Claims that may not be read are made anew when the pods come back: it takes them no longer.
        let claims = match session.wait(read::claims(&session.cluster, workload, &set)) {
            Err(RequestError::Forbidden { .. }) => Vec::new(),
            claims => claims?,
        };
        live.objects.extend(claims.into_iter().map(|claim| (Resource::Claims, claim)));
        live.objects.push((Resource::StatefulSets, set));
    }
    Ok(live)
}
