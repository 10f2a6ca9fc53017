//! What the cluster says of itself: its version, its kinds and what can be done with them, and that it is well.

use serde_json::{Map, Value, json};

use super::{accept, events};
use crate::sim::request::{Answer, Request, Response};
use crate::sim::resource::Resource;
use crate::sim::world::World;

/// The content type of discovery in one piece.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// What can be done with objects.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// A kind under the API that it is found in: events are in two.
struct Entry {
    resource: Resource,
    group: &'static str,
}

/// A part of a kind's objects with verbs of its own.
struct Part {
    name: &'static str,
    /// Group, version and kind where they are not those of the object.
    kind: Option<(&'static str, &'static str, &'static str)>,
    verbs: &'static [&'static str],
}

const STATUS: Part = Part { name: "status", kind: None, verbs: &["get", "patch", "update"] };
const SCALE: Part =
    Part { name: "scale", kind: Some(("autoscaling", "v1", "Scale")), verbs: &["get", "patch", "update"] };
const EVICTION: Part = Part { name: "eviction", kind: Some(("policy", "v1", "Eviction")), verbs: &["create"] };

/// Singular, short names and categories of a kind.
const fn words(resource: Resource) -> (&'static str, &'static [&'static str], &'static [&'static str]) {
    match resource {
        Resource::Namespaces => ("namespace", &["ns"], &[]),
        Resource::Pods => ("pod", &["po"], &["all"]),
        Resource::Claims => ("persistentvolumeclaim", &["pvc"], &[]),
        Resource::Events => ("event", &["ev"], &[]),
        Resource::StatefulSets => ("statefulset", &["sts"], &["all"]),
        Resource::Revisions => ("controllerrevision", &[], &[]),
        Resource::Leases => ("lease", &[], &[]),
        Resource::ConfigMaps => ("configmap", &["cm"], &[]),
        Resource::Secrets => ("secret", &[], &[]),
        Resource::Services => ("service", &["svc"], &["all"]),
        Resource::Budgets => ("poddisruptionbudget", &["pdb"], &[]),
    }
}

const fn parts(resource: Resource) -> &'static [Part] {
    match resource {
        Resource::Pods => &[EVICTION, STATUS],
        Resource::StatefulSets => &[SCALE, STATUS],
        Resource::Namespaces | Resource::Claims | Resource::Services | Resource::Budgets => &[STATUS],
        Resource::Events | Resource::Revisions | Resource::Leases | Resource::ConfigMaps | Resource::Secrets => &[],
    }
}

fn verbs(resource: Resource) -> Vec<&'static str> {
    // A namespace is not deleted together with others.
    let all = VERBS.into_iter();
    all.filter(|verb| resource != Resource::Namespaces || *verb != "deletecollection").collect()
}

/// The groups besides core, with their versions, in the order in which a server names them.
const GROUPS: [(&str, &str); 4] =
    [("apps", "v1"), (events::GROUP, "v1"), ("policy", "v1"), ("coordination.k8s.io", "v1")];

/// The kinds of a group, by plural.
fn entries(group: &'static str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Resource::ALL
        .into_iter()
        .filter(|it| it.group() == group || (group == events::GROUP && *it == Resource::Events))
        .map(|resource| Entry { resource, group })
        .collect();
    entries.sort_by_key(|entry| entry.resource.plural());
    entries
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Answers a GET of what is no object; none where the path is no such thing.
pub(super) fn answer(world: &World, request: &Request) -> Option<Answer> {
    let whole = |body| Some(Answer::Whole(Response::new(200, body)));
    let parts: Vec<&str> = request.path.split('/').filter(|part| !part.is_empty()).collect();
    let aggregated = || accept::aggregated(&request.accept);
    match parts.as_slice() {
        ["version"] => whole(version(world)),
        ["healthz" | "readyz" | "livez"] => Some(Answer::Whole(Response::text(200, "ok"))),
        [] => whole(json!({"paths": paths()})),
        ["api"] if aggregated() => Some(in_one_piece(std::iter::once(("", "v1")))),
        ["apis"] if aggregated() => Some(in_one_piece(GROUPS.into_iter())),
        ["api"] => whole(json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})),
        ["apis"] => {
            let groups: Vec<Value> = GROUPS.into_iter().map(|(group, version)| api_group(group, version)).collect();
            whole(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        ["api", "v1"] => whole(resources("", "v1")),
        ["apis", group] => {
            let (group, version) = GROUPS.into_iter().find(|(name, _)| name == group)?;
            let mut answer = api_group(group, version);
            answer["kind"] = "APIGroup".into();
            answer["apiVersion"] = "v1".into();
            whole(answer)
        }
        ["apis", group, version] => {
            let (group, version) = GROUPS.into_iter().find(|it| it.0 == *group && it.1 == *version)?;
            whole(resources(group, version))
        }
        ["openapi", "v3"] => whole(json!({"paths": schemas()})),
        ["openapi", "v3", "api", "v1"] => whole(schema(world, "", "v1")),
        ["openapi", "v3", "apis", group, version] => {
            let (group, version) = GROUPS.into_iter().find(|it| it.0 == *group && it.1 == *version)?;
            whole(schema(world, group, version))
        }
        _ => None,
    }
}

fn version(world: &World) -> Value {
    let git = world.compat.git_version();
    let mut numbers = git.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    json!({
        "major": major, "minor": minor, "emulationMajor": major, "emulationMinor": minor,
        "gitVersion": git, "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "phaseline", "platform": "embedded",
    })
}

/// Every group with its version, core first.
fn all_groups() -> impl Iterator<Item = (&'static str, &'static str)> {
    std::iter::once(("", "v1")).chain(GROUPS)
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

fn paths() -> Vec<String> {
    let mut paths: Vec<String> = all_groups().map(|(group, version)| root(group, version)).collect();
    paths.extend(GROUPS.iter().map(|(group, _)| format!("/apis/{group}")));
    for path in ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"] {
        paths.push(path.to_owned());
    }
    paths.sort();
    paths
}

fn api_group(group: &str, version: &str) -> Value {
    let it = json!({"groupVersion": group_version(group, version), "version": version});
    json!({"name": group, "versions": [it], "preferredVersion": it})
}

fn resources(group: &'static str, version: &str) -> Value {
    let mut list = Vec::new();
    for Entry { resource, .. } in entries(group) {
        let (singular, short, categories) = words(resource);
        let mut it = json!({
            "name": resource.plural(), "singularName": singular, "namespaced": resource.namespaced(),
            "kind": resource.kind(), "verbs": verbs(resource),
        });
        if !short.is_empty() {
            it["shortNames"] = json!(short);
        }
        if !categories.is_empty() {
            it["categories"] = json!(categories);
        }
        list.push(it);
        for part in parts(resource) {
            let mut it = json!({
                "name": format!("{}/{}", resource.plural(), part.name), "singularName": "",
                "namespaced": resource.namespaced(), "kind": resource.kind(), "verbs": part.verbs,
            });
            if let Some((group, version, kind)) = part.kind {
                it["group"] = group.into();
                it["version"] = version.into();
                it["kind"] = kind.into();
            }
            list.push(it);
        }
    }
    let mut answer = json!({
        "kind": "APIResourceList", "groupVersion": group_version(group, version), "resources": list,
    });
    // Core is older than this field.
    if !group.is_empty() {
        answer["apiVersion"] = "v1".into();
    }
    answer
}

fn in_one_piece(groups: impl Iterator<Item = (&'static str, &'static str)>) -> Answer {
    let items: Vec<Value> = groups
        .map(|(group, version)| {
            let resources: Vec<Value> = entries(group).iter().map(discovered).collect();
            let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            let version = json!({"version": version, "resources": resources, "freshness": "Current"});
            json!({"metadata": metadata, "versions": [version]})
        })
        .collect();
    let body = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    Answer::Whole(Response { content_type: AGGREGATED, ..Response::new(200, body) })
}

fn discovered(entry: &Entry) -> Value {
    let resource = entry.resource;
    let (singular, short, categories) = words(resource);
    let of = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut it = json!({
        "resource": resource.plural(), "responseKind": of("", "", resource.kind()), "singularResource": singular,
        "scope": if resource.namespaced() { "Namespaced" } else { "Cluster" }, "verbs": verbs(resource),
    });
    if !short.is_empty() {
        it["shortNames"] = json!(short);
    }
    if !categories.is_empty() {
        it["categories"] = json!(categories);
    }
    let parts: Vec<Value> = parts(resource)
        .iter()
        .map(|part| {
            let kind = part.kind.map_or_else(|| of("", "", resource.kind()), |(g, v, k)| of(g, v, k));
            json!({"subresource": part.name, "responseKind": kind, "verbs": part.verbs})
        })
        .collect();
    if !parts.is_empty() {
        it["subresources"] = json!(parts);
    }
    it
}

/// The index of the schemas.
fn schemas() -> Value {
    let index = all_groups().map(|(group, version)| {
        let root = root(group, version);
        let url = format!("/openapi/v3{root}");
        (root.trim_start_matches('/').to_owned(), json!({"serverRelativeURL": url}))
    });
    Value::Object(index.collect::<Map<_, _>>())
}

/// No schema, but what kubectl looks for before it sends a manifest: that the server checks fields itself.
fn schema(world: &World, group: &'static str, version: &str) -> Value {
    let mut paths = Map::new();
    for Entry { resource, group } in entries(group) {
        let scope = if resource.namespaced() { "/namespaces/{namespace}" } else { "" };
        let path = format!("{}{scope}/{}/{{name}}", root(group, version), resource.plural());
        let operation = json!({
            "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
            "responses": {},
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": resource.kind()},
        });
        paths.insert(path, json!({"patch": operation}));
    }
    let info = json!({"title": "Kubernetes", "version": world.compat.git_version()});
    json!({"openapi": "3.0.0", "info": info, "paths": paths, "components": {}})
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::Value;

    use crate::sim::{Answer, Request, Response, Settings, World};

    fn get(path: &str, accept: &str) -> Response {
        let start = Timestamp::UNIX_EPOCH;
        let mut world = World::new(&Settings { start, ..Settings::default() });
        let request = Request { method: "GET".into(), path: path.into(), accept: accept.into(), ..Request::default() };
        match world.handle(start, &request) {
            Answer::Whole(response) => response,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn both_forms_of_discovery_name_the_same_kinds() {
        let plain = get("/apis/apps/v1", "application/json").body;
        let names: Vec<_> = plain["resources"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
        assert_eq!(names, ["controllerrevisions", "statefulsets", "statefulsets/scale", "statefulsets/status"]);
        let wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        let whole = get("/apis", wanted);
        assert!(whole.content_type.contains("apidiscovery.k8s.io"), "a client goes by the content type");
        let apps = &whole.body["items"][0];
        assert_eq!(apps["metadata"]["name"], "apps");
        let set = &apps["versions"][0]["resources"][1];
        assert_eq!((&set["resource"], &set["shortNames"][0]), (&"statefulsets".into(), &"sts".into()));
        assert_eq!(set["subresources"][0]["responseKind"]["group"], "autoscaling");
        let core = get("/api", wanted).body;
        assert_eq!(core["items"][0]["versions"][0]["resources"].as_array().map(Vec::len), Some(7));
        let groups = get("/apis", "application/json").body;
        assert_eq!(groups["groups"].as_array().map(Vec::len), Some(4));
    }

    #[test]
    fn it_says_that_it_is_well_and_what_it_is_not() {
        let health = get("/readyz", "");
        assert_eq!((health.code, health.bytes()), (200, b"ok".to_vec()));
        assert_eq!(health.content_type, "text/plain; charset=utf-8");
        let version = get("/version", "").body;
        assert_eq!((&version["minor"], &version["platform"]), (&"36".into(), &"embedded".into()));
        assert_eq!(get("/openapi/v2", "").code, 404);
        assert_eq!(get("/apis/apps/v1/deployments", "").code, 501);
    }

    #[test]
    fn the_schema_says_that_fields_are_checked_here() {
        let index = get("/openapi/v3", "").body;
        let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
        let schema = get(url, "").body;
        let patch = &schema["paths"]["/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], Value::from("StatefulSet"));
        assert_eq!(patch["parameters"][0]["name"], "fieldValidation");
    }
}
