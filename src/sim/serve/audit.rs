//! The audit log: who asked for what and what came of it, a line of `audit.k8s.io/v1` for each.
//!
//! A line is written by the time its answer is. Bodies are there for what the rollout of a set is about: sets, their
//! revisions, pods and claims. The cluster's own controllers are in it too; they act without requests, and what they
//! write is told from the changes, in the form of the requests that real ones send.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};
use tracing::error;

use crate::sim::api::route::{Route, Sub, route};
use crate::sim::request::{Answer, Request};
use crate::sim::resource::Resource;
use crate::sim::store::{Change, Key};
use crate::sim::world::World;

/// A log that is being written.
#[derive(Debug)]
pub struct Audit {
    file: File,
    /// Up to which change everything is in it.
    told: u64,
    lines: u64,
    /// Whether it could not be written once: then nothing more is.
    broken: bool,
}

impl Audit {
    /// Opens a log; what is in the file stays.
    ///
    /// # Errors
    /// Where the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file, told: 0, lines: 0, broken: false })
    }

    /// Puts down what the cluster did by itself since it was last asked.
    pub(super) fn catch_up(&mut self, world: &World) {
        let from = std::mem::replace(&mut self.told, world.version());
        let changes: Vec<Change> = world.store.since(from).into_iter().flatten().cloned().collect();
        for change in changes {
            self.line(&own(&change, world.now));
        }
    }

    /// Puts a request down with its answer. What it changed is not told again.
    pub(super) fn request(&mut self, world: &World, uri: &str, request: &Request, answer: &Answer) {
        self.told = world.version();
        self.line(&asked(uri, request, answer, world.now));
    }

    fn line(&mut self, entry: &Entry<'_>) {
        if self.broken {
            return;
        }
        self.lines += 1;
        let line = entry.line(self.lines);
        if let Err(why) = self.file.write_all(line.as_bytes()) {
            error!(%why, "the audit log cannot be written: it ends here");
            self.broken = true;
        }
    }
}

/// One line.
#[derive(Debug)]
struct Entry<'a> {
    stage: &'static str,
    verb: &'static str,
    uri: &'a str,
    user: &'a str,
    agent: &'a str,
    /// What it is about, and which part of it.
    about: Option<(Key, &'static str)>,
    code: u16,
    request: Value,
    response: Value,
    at: Timestamp,
}

impl Entry<'_> {
    /// As it is written: what it is about stands before the bodies, which readers count on.
    fn line(&self, number: u64) -> String {
        let time = crate::sim::moment::micros(self.at);
        let detailed = self.about.as_ref().is_some_and(|(key, _)| {
            matches!(key.resource, Resource::StatefulSets | Resource::Revisions | Resource::Pods | Resource::Claims)
        });
        let reads = matches!(self.verb, "watch" | "list");
        let mut fields = vec![
            ("kind", json!("Event")),
            ("apiVersion", json!("audit.k8s.io/v1")),
            ("level", json!(if detailed { "RequestResponse" } else { "Metadata" })),
            ("auditID", json!(format!("{number:032x}"))),
            ("stage", json!(self.stage)),
            ("requestURI", json!(self.uri)),
            ("verb", json!(self.verb)),
            ("user", json!({"username": self.user})),
            ("sourceIPs", json!(["127.0.0.1"])),
            ("userAgent", json!(self.agent)),
        ];
        if let Some((key, part)) = &self.about {
            let mut object = json!({"resource": key.resource.plural()});
            let (group, version) = key.resource.api_version().rsplit_once('/').unwrap_or(("", "v1"));
            for (name, text) in [
                ("namespace", key.namespace.as_str()),
                ("name", key.name.as_str()),
                ("apiGroup", group),
                ("apiVersion", version),
                ("subresource", part),
            ] {
                if !text.is_empty() {
                    object[name] = text.into();
                }
            }
            fields.push(("objectRef", object));
        }
        fields.push(("responseStatus", json!({"metadata": {}, "code": self.code})));
        if detailed && !self.request.is_null() {
            fields.push(("requestObject", self.request.clone()));
        }
        if detailed && !reads && !self.response.is_null() {
            fields.push(("responseObject", self.response.clone()));
        }
        fields.push(("requestReceivedTimestamp", json!(time)));
        fields.push(("stageTimestamp", json!(time)));
        fields.push(("annotations", json!({"authorization.k8s.io/decision": "allow"})));
        let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}\n", fields.join(","))
    }
}

/// The line of a client's request.
fn asked<'a>(uri: &'a str, request: &'a Request, answer: &Answer, at: Timestamp) -> Entry<'a> {
    let (code, response) = outcome(answer);
    let watches = matches!(answer, Answer::Watch(_));
    let mut about = None;
    let mut named = true;
    if let Some(Route::Objects { resource, namespace, name, sub }) = route(&request.path) {
        named = name.is_some();
        // A new object may have got its name here.
        let made = response["metadata"]["name"].as_str().filter(|_| request.method == "POST" && code < 300);
        let name = name.or(made).unwrap_or_default();
        about = Some((Key::new(resource, namespace.unwrap_or_default(), name), sub.name()));
    }
    let verb = match request.method.as_str() {
        "GET" if watches => "watch",
        "GET" if named => "get",
        "GET" => "list",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if named => "delete",
        "DELETE" => "deletecollection",
        _ => "unknown",
    };
    Entry {
        stage: if watches { "ResponseStarted" } else { "ResponseComplete" },
        verb,
        uri,
        user: &request.user,
        agent: &request.agent,
        about,
        code,
        request: serde_json::from_slice(&request.body).unwrap_or_default(),
        response,
        at,
    }
}

/// What came of a request, whether or not the client is told.
fn outcome(answer: &Answer) -> (u16, Value) {
    match answer {
        Answer::Whole(response) => (response.code, response.body.clone()),
        Answer::Watch(_) => (200, Value::Null),
        Answer::Late(_, late) => outcome(late),
        // The same as a real server has of a connection that broke.
        Answer::Lost(_) => (0, Value::Null),
    }
}

/// The line of a change that the cluster made by itself.
fn own(change: &Change, at: Timestamp) -> Entry<'static> {
    let (before, now) = (change.before.as_deref().unwrap_or(&Value::Null), &*change.object);
    let key = change.key.clone();
    let user = actor(key.resource, before, now, change.gone);
    let status = !change.gone && !before.is_null() && before["status"] != now["status"];
    let (verb, code) = match (before.is_null(), change.gone) {
        (_, true) => ("delete", 200),
        (true, false) => ("create", 201),
        // A pod or claim that begins to go was deleted.
        _ if before["metadata"]["deletionTimestamp"].is_null() && !now["metadata"]["deletionTimestamp"].is_null() => {
            ("delete", 200)
        }
        _ => ("update", 200),
    };
    let part = if status && verb == "update" { Sub::Status.name() } else { "" };
    Entry {
        stage: "ResponseComplete",
        verb,
        uri: "",
        user,
        agent: user,
        about: Some((key, part)),
        code,
        request: Value::Null,
        response: now.clone(),
        at,
    }
}

/// Which of the cluster's parts makes such a change.
fn actor(resource: Resource, before: &Value, now: &Value, gone: bool) -> &'static str {
    const CONTROLLERS: &str = "system:kube-controller-manager";
    const SCHEDULER: &str = "system:kube-scheduler";
    const KUBELET: &str = "kwok";
    let bound = before["spec"]["nodeName"].is_null() && !now["spec"]["nodeName"].is_null();
    match resource {
        Resource::Pods if gone => KUBELET,
        Resource::Pods if before.is_null() => CONTROLLERS,
        Resource::Pods if bound || now["spec"]["nodeName"].is_null() && before["status"] != now["status"] => SCHEDULER,
        Resource::Pods if before["status"] == now["status"] => CONTROLLERS,
        Resource::Pods => KUBELET,
        Resource::Events if now["reportingComponent"] == "default-scheduler" => SCHEDULER,
        Resource::Namespaces
        | Resource::Claims
        | Resource::Events
        | Resource::StatefulSets
        | Resource::Revisions
        | Resource::Leases
        | Resource::ConfigMaps
        | Resource::Secrets
        | Resource::Services
        | Resource::Budgets => CONTROLLERS,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::Audit;
    use crate::sim::resource::Resource;
    use crate::sim::store::Key;
    use crate::sim::{Request, Settings, World};

    #[test]
    fn requests_and_the_clusters_own_writes_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut audit = Audit::open(&path).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let mut world = World::new(&Settings::default());
        audit.told = world.version();
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let request = Request {
            method: "POST".into(),
            path: "/api/v1/namespaces/default/configmaps".into(),
            content_type: "application/json".into(),
            body: body.to_string().into_bytes(),
            user: "admin".into(),
            agent: "kubectl/1".into(),
            ..Request::default()
        };
        let answer = world.handle(now, &request);
        audit.request(&world, "/api/v1/namespaces/default/configmaps?x=1", &request, &answer);
        let pod = |status: Value| json!({"metadata": {"name": "web-0", "namespace": "shop"}, "spec": {"nodeName": "n"}, "status": status});
        let key = Key::new(Resource::Pods, "shop", "web-0");
        world.store.put(key.clone(), pod(json!({"phase": "Pending"})));
        world.store.put(key.clone(), pod(json!({"phase": "Running"})));
        world.store.remove(&key);
        audit.catch_up(&world);
        audit.catch_up(&world);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = lines
            .iter()
            .map(|it| {
                let at = |path: &str| it.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
                [
                    at("/user/username"),
                    at("/verb"),
                    at("/objectRef/resource"),
                    at("/objectRef/name"),
                    at("/objectRef/subresource"),
                ]
            })
            .collect();
        assert_eq!(
            told,
            [
                ["admin", "create", "configmaps", "a", ""],
                ["system:kube-controller-manager", "create", "pods", "web-0", ""],
                ["kwok", "update", "pods", "web-0", "status"],
                ["kwok", "delete", "pods", "web-0", ""],
            ]
        );
        assert_eq!(lines[0]["responseStatus"]["code"], 201);
        assert_eq!(lines[0]["requestObject"], Value::Null, "bodies are there for what a rollout is about");
        assert_eq!(lines[2]["responseObject"]["status"]["phase"], "Running");
        assert!(
            text.lines().all(|line| line.find("\"objectRef\"") < line.find("\"responseObject\"").or(Some(usize::MAX)))
        );
    }
}
