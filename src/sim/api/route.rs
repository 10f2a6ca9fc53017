//! What a path names.

use crate::sim::resource::Resource;

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// Objects of a kind: all, those of a namespace, or one.
    Objects {
        /// The kind.
        resource: Resource,
        /// The namespace; none: all of them.
        namespace: Option<&'a str>,
        /// The name; none: all of them.
        name: Option<&'a str>,
        /// The part of the object.
        sub: Sub,
    },
}

/// A part of an object with verbs of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sub {
    /// The object itself.
    None,
    /// `/status`.
    Status,
    /// `/scale`.
    Scale,
    /// `/eviction`.
    Eviction,
}

impl Sub {
    /// As a path has it; empty for the object itself.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Eviction => "eviction",
        }
    }

    fn find(name: &str) -> Option<Self> {
        [Self::Status, Self::Scale, Self::Eviction].into_iter().find(|it| it.name() == name)
    }
}

/// What a path names; none where the embedded cluster has no such thing.
pub(crate) fn route(path: &str) -> Option<Route<'_>> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (group, rest) = match parts.as_slice() {
        ["api", "v1", rest @ ..] => ("", rest),
        ["apis", group, version, rest @ ..] => {
            let known = Resource::ALL.into_iter().any(|it| it.api_version() == format!("{group}/{version}"));
            if !known && (*group, *version) != ("events.k8s.io", "v1") {
                return None;
            }
            (*group, rest)
        }
        _ => return None,
    };
    let objects = |resource, namespace, name, sub| Some(Route::Objects { resource, namespace, name, sub });
    match rest {
        // A namespace itself, not something in it.
        ["namespaces"] => objects(Resource::Namespaces, None, None, Sub::None),
        ["namespaces", name] => objects(Resource::Namespaces, None, Some(*name), Sub::None),
        ["namespaces", name, "status"] => objects(Resource::Namespaces, None, Some(*name), Sub::Status),
        ["namespaces", namespace, plural, rest @ ..] => {
            let resource = Resource::find(group, plural).filter(|it| it.namespaced())?;
            match rest {
                [] => objects(resource, Some(*namespace), None, Sub::None),
                [name] => objects(resource, Some(*namespace), Some(*name), Sub::None),
                [name, sub] => objects(resource, Some(*namespace), Some(*name), Sub::find(sub)?),
                _ => None,
            }
        }
        [plural] => objects(Resource::find(group, plural)?, None, None, Sub::None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Route, Sub, route};
    use crate::sim::resource::Resource;

    #[test]
    fn paths_name_kinds_namespaces_names_and_parts() {
        let about = |resource, namespace, name, sub| Some(Route::Objects { resource, namespace, name, sub });
        for (path, expected) in [
            ("/api/v1/namespaces", about(Resource::Namespaces, None, None, Sub::None)),
            ("/api/v1/namespaces/shop", about(Resource::Namespaces, None, Some("shop"), Sub::None)),
            ("/api/v1/pods", about(Resource::Pods, None, None, Sub::None)),
            ("/api/v1/namespaces/shop/pods", about(Resource::Pods, Some("shop"), None, Sub::None)),
            ("/api/v1/namespaces/shop/pods/a/eviction", about(Resource::Pods, Some("shop"), Some("a"), Sub::Eviction)),
            (
                "/apis/apps/v1/namespaces/shop/statefulsets/web/scale",
                about(Resource::StatefulSets, Some("shop"), Some("web"), Sub::Scale),
            ),
            ("/apis/events.k8s.io/v1/events", about(Resource::Events, None, None, Sub::None)),
            ("/apis/apps/v1/namespaces/shop/pods", None),
            ("/apis/apps/v1beta1/statefulsets", None),
            ("/api/v1/namespaces/shop/pods/a/log", None),
            ("/apis/apps/v1/namespaces/shop/deployments", None),
        ] {
            assert_eq!(route(path), expected, "{path}");
        }
    }
}
