//! The kinds of objects that the embedded cluster has.

/// A kind of objects, as a path of the API names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// core/v1 namespaces.
    Namespaces,
    /// core/v1 pods.
    Pods,
    /// core/v1 persistentvolumeclaims.
    Claims,
    /// Events: one store, read and written as core/v1 and as events.k8s.io/v1.
    Events,
    /// apps/v1 statefulsets.
    StatefulSets,
    /// apps/v1 controllerrevisions.
    Revisions,
    /// coordination.k8s.io/v1 leases.
    Leases,
    /// core/v1 configmaps: kept, nothing acts on them.
    ConfigMaps,
    /// core/v1 secrets: kept, nothing acts on them.
    Secrets,
    /// core/v1 services: kept, nothing acts on them.
    Services,
    /// policy/v1 poddisruptionbudgets: evictions keep to them.
    Budgets,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Namespaces,
        Self::Pods,
        Self::Claims,
        Self::Events,
        Self::StatefulSets,
        Self::Revisions,
        Self::Leases,
        Self::ConfigMaps,
        Self::Secrets,
        Self::Services,
        Self::Budgets,
    ];

    /// The API group; empty for core.
    pub const fn group(self) -> &'static str {
        match self {
            Self::Namespaces
            | Self::Pods
            | Self::Claims
            | Self::Events
            | Self::ConfigMaps
            | Self::Secrets
            | Self::Services => "",
            Self::Budgets => "policy",
            Self::StatefulSets | Self::Revisions => "apps",
            Self::Leases => "coordination.k8s.io",
        }
    }

    /// `apiVersion` of its objects.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Namespaces
            | Self::Pods
            | Self::Claims
            | Self::Events
            | Self::ConfigMaps
            | Self::Secrets
            | Self::Services => "v1",
            Self::Budgets => "policy/v1",
            Self::StatefulSets | Self::Revisions => "apps/v1",
            Self::Leases => "coordination.k8s.io/v1",
        }
    }

    /// As a path has it.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Pods => "pods",
            Self::Claims => "persistentvolumeclaims",
            Self::Events => "events",
            Self::StatefulSets => "statefulsets",
            Self::Revisions => "controllerrevisions",
            Self::Leases => "leases",
            Self::ConfigMaps => "configmaps",
            Self::Secrets => "secrets",
            Self::Services => "services",
            Self::Budgets => "poddisruptionbudgets",
        }
    }

    /// `kind` of its objects.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Namespaces => "Namespace",
            Self::Pods => "Pod",
            Self::Claims => "PersistentVolumeClaim",
            Self::Events => "Event",
            Self::StatefulSets => "StatefulSet",
            Self::Revisions => "ControllerRevision",
            Self::Leases => "Lease",
            Self::ConfigMaps => "ConfigMap",
            Self::Secrets => "Secret",
            Self::Services => "Service",
            Self::Budgets => "PodDisruptionBudget",
        }
    }

    /// Whether its objects lie in namespaces.
    pub const fn namespaced(self) -> bool {
        !matches!(self, Self::Namespaces)
    }

    /// As an error names it: `pods`, `statefulsets.apps`.
    pub fn qualified(self) -> String {
        match self.group() {
            "" => self.plural().to_owned(),
            group => format!("{}.{group}", self.plural()),
        }
    }

    /// The one with this group and plural.
    pub fn find(group: &str, plural: &str) -> Option<Self> {
        if (group, plural) == ("events.k8s.io", "events") {
            return Some(Self::Events);
        }
        Self::ALL.into_iter().find(|it| it.group() == group && it.plural() == plural)
    }
}
