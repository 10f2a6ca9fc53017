//! Plays a script on a cluster, real or embedded: what came of each step, and what was seen meanwhile.

use std::{collections::BTreeMap, time::Duration};

use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::{
    kubectl::Kubectl,
    memory::Memory,
    script::{Case, Request, Step, merge},
    watch::{Seen, Watches, get, stream},
};

/// How long a condition is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(25);
/// How long a request takes at least.
const REQUEST: Duration = Duration::from_millis(5);
/// How long nothing may happen at the end of a script before it counts as over.
const REST: Duration = Duration::from_millis(1000);

/// How long no event of the cluster may come in then: on a busy plane they are behind.
const LATE: Duration = Duration::from_secs(3);

/// What a run left, as it came.
#[derive(Debug)]
pub(super) struct Raw {
    /// The namespace it was played in.
    pub(super) namespace: String,
    /// One for each step that answers something.
    pub(super) answers: Vec<Answer>,
    /// What the watches saw, in the order of each kind.
    pub(super) seen: Vec<Seen>,
}

/// What came of a step.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// The step, short.
    pub(super) step: String,
    /// `{code, warnings, body}` of a request; `{exit, out, err, requests}` of a command; `{failed}` of a wait.
    pub(super) came: Value,
}

/// A cluster to play on.
pub(super) struct Stage {
    /// A connection.
    pub(super) client: kube::Client,
    /// `kubectl` for it, where there is one.
    pub(super) kubectl: Option<Kubectl>,
    /// Where it remembers what changed.
    pub(super) memory: Memory,
}

/// Plays a case in a new namespace of this name, which goes at the end.
pub(super) async fn play(case: &Case, stage: &Stage, namespace: &str) -> Result<Raw, String> {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let made = send(&stage.client, "POST", "/api/v1/namespaces", "application/json", "", Some(&object)).await?;
    if made["code"] != 201 {
        return Err(format!("no namespace {namespace}: {made}"));
    }
    let watches = Watches::start(&stage.client, namespace).await?;
    let mut player = Player {
        stage,
        namespace,
        watches,
        kept: BTreeMap::new(),
        last: Value::Null,
        answers: Vec::new(),
        beside: None,
    };
    for step in &case.steps {
        player.step(step).await?;
        if player.answers.last().is_some_and(|it| it.came.get("failed").is_some()) {
            break;
        }
    }
    player.settle(REST).await;
    player.watches.silence(LATE, PATIENCE).await;
    let Player { watches, answers, .. } = player;
    let seen = watches.end()?;
    let path = format!("/api/v1/namespaces/{namespace}");
    send(&stage.client, "DELETE", &path, "application/json", "", None).await?;
    Ok(Raw { namespace: namespace.to_owned(), answers, seen })
}

struct Player<'a> {
    stage: &'a Stage,
    namespace: &'a str,
    watches: Watches,
    kept: BTreeMap<String, String>,
    last: Value,
    answers: Vec<Answer>,
    beside: Option<super::kubectl::Running>,
}

impl Player<'_> {
    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Request(request) => {
                let came = self.request(request).await?;
                self.last = came["body"].clone();
                // A real request takes its time, which in virtual time nothing does.
                sleep(REQUEST).await;
                self.answers.push(Answer { step: step.called().unwrap_or_default(), came });
            }
            Step::Kubectl(command) => {
                let kubectl = self.stage.kubectl.as_ref().ok_or("no kubectl here")?;
                let (args, stdin) = (self.filled(&command.args).await?, command.stdin.clone());
                let came = kubectl.run(self.namespace, &args, stdin, command.subset).await?;
                self.answers.push(Answer { step: step.called().unwrap_or_default(), came });
            }
            Step::Start(command) => {
                let kubectl = self.stage.kubectl.as_ref().ok_or("no kubectl here")?;
                self.beside = Some(kubectl.start(self.namespace, &command.args).await?);
                sleep(Duration::from_millis(1500)).await;
            }
            Step::Stop => {
                let running = self.beside.take().ok_or("nothing runs beside")?;
                sleep(Duration::from_millis(500)).await;
                let (args, came) = running.stop().await?;
                self.answers.push(Answer { step: format!("kubectl {args} (beside)"), came });
            }
            Step::Wait(conditions) => self.wait(conditions).await,
            Step::Settle(quiet) => self.settle(*quiet).await,
            Step::Sleep(time) => sleep(*time).await,
            Step::Forget => self.stage.memory.forget().await?,
            Step::Keep(pairs) => {
                for (name, text) in pairs {
                    let text = self.filled(text).await?;
                    self.kept.insert(name.clone(), text);
                }
            }
        }
        Ok(())
    }

    async fn request(&self, request: &Request) -> Result<Value, String> {
        let path = self.path(&request.path).await?;
        let mut body = self.filled_in(&request.body).await?;
        let with = |parameter: &str| format!("{path}{}{parameter}", if path.contains('?') { '&' } else { '?' });
        let (method, path, media, accept) = match request.verb.as_str() {
            "MERGE" => ("PATCH", path, "application/merge-patch+json", ""),
            "JSON" => ("PATCH", path, "application/json-patch+json", ""),
            "STRATEGIC" => ("PATCH", path, "application/strategic-merge-patch+json", ""),
            "APPLY" => ("PATCH", path, "application/apply-patch+yaml", ""),
            "IMAGE" => {
                let place = "/spec/template/spec/containers/0/image";
                body = json!([{"op": "replace", "path": place, "value": body}]);
                ("PATCH", path, "application/json-patch+json", "")
            }
            "EDIT" => {
                let mut object = get(&self.stage.client, path.split('?').next().unwrap_or_default()).await?;
                merge(&mut object, &body);
                body = object;
                ("PUT", path, "application/json", "")
            }
            "WATCH" => return self.watch(&with("watch=true")).await,
            "TABLE" => ("GET", path, "", "application/json;as=Table;v=v1;g=meta.k8s.io"),
            "META" => (
                "GET",
                path,
                "",
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            ),
            "SUBSET" => ("GET", path, "", ""),
            method => (method, path, "application/json", ""),
        };
        let body = (!body.is_null()).then_some(&body);
        send(&self.stage.client, method, &path, media, accept, body).await
    }

    async fn watch(&self, path: &str) -> Result<Value, String> {
        if !path.contains("timeoutSeconds=") {
            return Err(format!("{path}: a watch needs timeoutSeconds"));
        }
        let mut events = Vec::new();
        let read = stream(&self.stage.client, path, |event| events.push(event));
        match timeout(PATIENCE, read).await {
            Ok(Ok(())) => Ok(json!({"code": 200, "body": events})),
            Ok(Err(why)) => match why.split_once(' ').and_then(|it| Some((it.0.parse::<u16>().ok()?, it.1))) {
                Some((code, body)) => Ok(json!({"code": code, "body": parsed(body.as_bytes())})),
                None => Err(why),
            },
            Err(_) => Ok(json!({"code": 200, "body": events, "end": "never"})),
        }
    }

    async fn settle(&self, quiet: Duration) {
        let end = Instant::now() + PATIENCE;
        let start = Instant::now();
        while Instant::now() < end {
            let since = self.watches.last().max(start).elapsed();
            if since >= quiet {
                return;
            }
            sleep(quiet - since).await;
        }
    }

    async fn wait(&mut self, conditions: &[String]) {
        let end = Instant::now() + PATIENCE;
        for condition in conditions {
            loop {
                let held = match self.filled(condition).await {
                    Ok(condition) => self.holds(&condition).await,
                    Err(why) => Err(why),
                };
                let why = match held {
                    Ok(None) => break,
                    Ok(Some(is)) => is,
                    Err(why) => why,
                };
                if Instant::now() >= end {
                    let came = json!({"failed": format!("not within {PATIENCE:?}; it is {why}")});
                    self.answers.push(Answer { step: format!("wait {condition}"), came });
                    return;
                }
                sleep(LOOK).await;
            }
        }
    }

    /// `None` if it holds, else what is there instead.
    async fn holds(&self, condition: &str) -> Result<Option<String>, String> {
        let (path, rest) = condition.split_once(' ').ok_or(format!("what is the condition `{condition}`?"))?;
        let came = send(&self.stage.client, "GET", &self.path(path).await?, "", "", None).await?;
        let (code, object) = (came["code"].as_u64().unwrap_or(0), &came["body"]);
        if rest == "gone" {
            return Ok((code != 404).then(|| format!("there: {code}")));
        }
        if code != 200 {
            return Ok(Some(came.to_string()));
        }
        let status = &object["status"];
        let number = |value: &Value| value.as_i64().unwrap_or(0);
        let observed = number(&status["observedGeneration"]) >= number(&object["metadata"]["generation"]);
        let ready = |wanted: i64| {
            let all = ["replicas", "readyReplicas"].iter().all(|it| number(&status[*it]) == wanted);
            observed && all
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let holds = match words.as_slice() {
            ["exists"] => true,
            ["observed"] => observed,
            ["ready"] => condition_is(object, "Ready", "True"),
            ["unready"] => condition_is(object, "Ready", "False"),
            ["ready", wanted] => ready(wanted.parse().map_err(|_| condition.to_owned())?),
            ["rolled"] => {
                let same = status["currentRevision"] == status["updateRevision"];
                let updated = number(&status["updatedReplicas"]) == number(&object["spec"]["replicas"]);
                ready(number(&object["spec"]["replicas"])) && same && updated
            }
            ["count", wanted] => object["items"].as_array().map(Vec::len) == wanted.parse().ok(),
            [pointer, "exists"] => object.pointer(pointer).is_some(),
            [pointer, "absent"] => object.pointer(pointer).is_none(),
            [pointer, sign @ ("==" | "!="), ..] => {
                let wanted = rest.split_once(sign).map(|it| it.1.trim()).unwrap_or_default();
                let wanted: Value = serde_json::from_str(wanted).unwrap_or_else(|_| Value::String(wanted.to_owned()));
                (object.pointer(pointer).unwrap_or(&Value::Null) == &wanted) == (*sign == "==")
            }
            _ => return Err(format!("what is the condition `{condition}`?")),
        };
        Ok((!holds).then(|| object.to_string()))
    }

    /// Short names of collections stand for their paths in the namespace.
    async fn path(&self, short: &str) -> Result<String, String> {
        let short = self.filled(short).await?;
        let end = short.find(['/', '?']).unwrap_or(short.len());
        let (head, rest) = short.split_at(end);
        let ns = self.namespace;
        let root = match head {
            "" => return Ok(encoded(&short)),
            "ns" => format!("/api/v1/namespaces/{ns}"),
            "sts" => format!("/apis/apps/v1/namespaces/{ns}/statefulsets"),
            "crs" => format!("/apis/apps/v1/namespaces/{ns}/controllerrevisions"),
            "pods" => format!("/api/v1/namespaces/{ns}/pods"),
            "pvcs" => format!("/api/v1/namespaces/{ns}/persistentvolumeclaims"),
            "cms" => format!("/api/v1/namespaces/{ns}/configmaps"),
            "secrets" => format!("/api/v1/namespaces/{ns}/secrets"),
            "events" => format!("/api/v1/namespaces/{ns}/events"),
            "newevents" => format!("/apis/events.k8s.io/v1/namespaces/{ns}/events"),
            "leases" => format!("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"),
            "pdbs" => format!("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"),
            other => return Err(format!("what is the path {other}?")),
        };
        Ok(encoded(&format!("{root}{rest}")))
    }

    /// A text with every `${..}` filled in.
    async fn filled(&self, text: &str) -> Result<String, String> {
        let mut parts = text.split("${");
        let mut result = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (place, rest) = part.split_once('}').ok_or(format!("`{text}` has an open ${{"))?;
            match self.value(place).await? {
                Value::String(text) => result.push_str(&text),
                other => result.push_str(&other.to_string()),
            }
            result.push_str(rest);
        }
        Ok(result)
    }

    async fn value(&self, place: &str) -> Result<Value, String> {
        if place == "ns" {
            return Ok(self.namespace.into());
        }
        if let Some(kept) = self.kept.get(place) {
            return Ok(kept.clone().into());
        }
        let (from, pointer) = place.split_once(' ').ok_or(format!("nothing is kept as {place}"))?;
        let (pointer, instead) = match pointer.split_once(" or ") {
            Some((pointer, instead)) => (pointer, Some(Value::from(instead))),
            None => (pointer, None),
        };
        let object = match from {
            "last" => self.last.clone(),
            path => match (get(&self.stage.client, &Box::pin(self.path(path)).await?).await, &instead) {
                (Ok(object), _) => object,
                (Err(why), None) => return Err(why),
                (Err(_), Some(_)) => Value::Null,
            },
        };
        let found = object.pointer(pointer).cloned().or(instead);
        found.ok_or(format!("{place}: nothing is there in {object}"))
    }

    /// A body with every `${..}` in its texts filled in; a text that is nothing else becomes the value itself.
    async fn filled_in(&self, body: &Value) -> Result<Value, String> {
        Ok(match body {
            Value::String(text) if text.contains("${") => {
                let whole = text.strip_prefix("${").and_then(|it| it.strip_suffix('}')).filter(|it| !it.contains('}'));
                match whole {
                    Some(place) => self.value(place).await?,
                    None => self.filled(text).await?.into(),
                }
            }
            Value::Array(items) => {
                let mut filled = Vec::new();
                for item in items {
                    filled.push(Box::pin(self.filled_in(item)).await?);
                }
                filled.into()
            }
            Value::Object(map) => {
                let mut filled = serde_json::Map::new();
                for (key, item) in map {
                    filled.insert(self.filled(key).await?, Box::pin(self.filled_in(item)).await?);
                }
                filled.into()
            }
            other => other.clone(),
        })
    }
}

fn condition_is(object: &Value, kind: &str, status: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|it| it["type"] == kind && it["status"] == status)
}

fn encoded(path: &str) -> String {
    let mut result = String::with_capacity(path.len());
    for char in path.chars() {
        match char {
            ' ' => result.push_str("%20"),
            '"' => result.push_str("%22"),
            '<' => result.push_str("%3C"),
            '>' => result.push_str("%3E"),
            '{' => result.push_str("%7B"),
            '}' => result.push_str("%7D"),
            other => result.push(other),
        }
    }
    result
}

/// JSON where it is JSON, else the text.
fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).trim_end().to_owned().into())
}

/// One request: `{code, warnings?, retryAfter?, body}`.
pub(super) async fn send(
    client: &kube::Client,
    method: &str,
    path: &str,
    media: &str,
    accept: &str,
    body: Option<&Value>,
) -> Result<Value, String> {
    let mut request = http::Request::builder().method(method).uri(path).header("user-agent", "conformance/1.0");
    if body.is_some() {
        request = request.header("content-type", media);
    }
    request = request.header("accept", if accept.is_empty() { "application/json" } else { accept });
    let body = match body {
        // A text is sent as it stands, so that a script can send what is no JSON.
        Some(Value::String(text)) => Body::from(text.clone().into_bytes()),
        Some(value) => Body::from(value.to_string().into_bytes()),
        None => Body::empty(),
    };
    let request = request.body(body).map_err(|it| format!("{method} {path}: {it}"))?;
    let answered = async {
        let answer = client.send(request).await.map_err(|it| format!("{method} {path}: {it}"))?;
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.map_err(|it| format!("{method} {path}: {it}"))?.to_bytes();
        let mut came = json!({"code": parts.status.as_u16(), "body": parsed(&body)});
        let text = |it: &http::HeaderValue| String::from_utf8_lossy(it.as_bytes()).into_owned();
        let warnings: Vec<String> = parts.headers.get_all("warning").iter().map(text).collect();
        if !warnings.is_empty() {
            came["warnings"] = warnings.into();
        }
        if let Some(after) = parts.headers.get("retry-after") {
            came["retryAfter"] = text(after).into();
        }
        Ok(came)
    };
    timeout(PATIENCE, answered).await.unwrap_or_else(|_| Err(format!("{method} {path}: no answer")))
}
