//! The audit log of a control plane: who asked for what, with the bodies, and what the API server answered.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Mutex,
};

use jiff::Timestamp;
use serde_json::Value;

/// One request as the API server saw it.
///
/// Bodies are there for StatefulSets, ControllerRevisions, Pods, claims and their subresources; `Null` for the rest.
#[derive(Debug, Clone)]
pub(crate) struct AuditEntry {
    /// `ResponseComplete`; a watch has a `ResponseStarted` entry before it, a crash of a handler `Panic`.
    pub(crate) stage: String,
    /// The authenticated name: `admin`, `system:serviceaccount:NS:NAME`, `system:kube-controller-manager`, `kwok`, ..
    pub(crate) user: String,
    /// What the client calls itself.
    pub(crate) user_agent: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub(crate) verb: String,
    /// Plural, e.g. `statefulsets`.
    pub(crate) resource: String,
    /// `status`, `scale`, `eviction`, .. or empty.
    pub(crate) subresource: String,
    /// Empty for requests to the whole cluster.
    pub(crate) namespace: String,
    /// Empty for lists.
    pub(crate) name: String,
    /// Path and query.
    pub(crate) request_uri: String,
    /// What was sent: the patch itself for a patch, the options for a delete.
    pub(crate) request: Value,
    /// The HTTP status; 0 for a request without an answer.
    pub(crate) code: u16,
    /// What was answered: the object, or a `Status`.
    pub(crate) response: Value,
    /// When the request came in.
    pub(crate) received: Timestamp,
    /// When this stage was reached.
    pub(crate) completed: Timestamp,
    /// E.g. `authorization.k8s.io/decision`.
    pub(crate) annotations: HashMap<String, String>,
}

impl AuditEntry {
    /// Whether this is a request to change something, whatever its answer; dry runs included.
    pub(crate) fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// Whether the API server was asked to persist nothing.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.query("dryRun").is_some() || !self.request["dryRun"].is_null() && self.verb.starts_with("delete")
    }

    /// Whether the service account `name` of any namespace sent it.
    pub(crate) fn by_daemon(&self, name: &str) -> bool {
        self.user
            .strip_prefix("system:serviceaccount:")
            .and_then(|it| it.split_once(':'))
            .is_some_and(|it| it.1 == name)
    }

    /// Whether the answer was a success.
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether RBAC refused it.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.annotations.get("authorization.k8s.io/decision").is_some_and(|it| it == "forbid")
    }

    /// Whether an apply took fields away from other managers.
    pub(crate) fn is_forced(&self) -> bool {
        self.query("force").as_deref() == Some("true")
    }

    /// The field manager that the request named.
    pub(crate) fn field_manager(&self) -> Option<String> {
        self.query("fieldManager")
    }

    /// A parameter of the query, decoded.
    pub(crate) fn query(&self, key: &str) -> Option<String> {
        let (_, query) = self.request_uri.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('=').map(decoded))
    }

    /// The `preconditions` of a delete or an eviction.
    pub(crate) fn preconditions(&self) -> Option<&Value> {
        ["/preconditions", "/deleteOptions/preconditions"].iter().find_map(|it| self.request.pointer(it))
    }

    /// Path and value of every `test` in a JSON patch.
    pub(crate) fn patch_tests(&self) -> Vec<(&str, &Value)> {
        let ops = self.request.as_array().map(Vec::as_slice).unwrap_or_default();
        ops.iter()
            .filter(|op| op["op"] == "test")
            .map(|op| (op["path"].as_str().unwrap_or_default(), &op["value"]))
            .collect()
    }

    /// Reads a line of the log.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut event: Value = serde_json::from_slice(line).ok()?;
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let code = event.pointer("/responseStatus/code").and_then(Value::as_u64).and_then(|it| it.try_into().ok());
        let annotations = event["annotations"].as_object().into_iter().flatten();
        Some(Self {
            stage: text("/stage"),
            user: text("/user/username"),
            user_agent: text("/userAgent"),
            verb: text("/verb"),
            resource: text("/objectRef/resource"),
            subresource: text("/objectRef/subresource"),
            namespace: text("/objectRef/namespace"),
            name: text("/objectRef/name"),
            request_uri: text("/requestURI"),
            code: code.unwrap_or_default(),
            received: text("/requestReceivedTimestamp").parse().ok()?,
            completed: text("/stageTimestamp").parse().ok()?,
            annotations: annotations.map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned())).collect(),
            request: event["requestObject"].take(),
            response: event["responseObject"].take(),
        })
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
        rest = match (*first, tail) {
            (b'%', [high, low, tail @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                bytes.push(hex(*high).unwrap_or(0) * 16 + hex(*low).unwrap_or(0));
                tail
            }
            (byte, tail) => {
                bytes.push(if byte == b'+' { b' ' } else { byte });
                tail
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads the log as it grows. One plane serves many tests: lines are found by their namespace without parsing all.
#[derive(Debug)]
pub(super) struct AuditLog {
    path: PathBuf,
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    read: u64,
    lines: HashMap<String, Vec<(u64, usize)>>,
}

impl AuditLog {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), index: Mutex::default() }
    }

    /// All entries of a namespace in the order in which they were answered.
    pub(super) fn entries(&self, namespace: &str) -> std::io::Result<Vec<AuditEntry>> {
        let mut file = File::open(&self.path)?;
        let lines = {
            let mut index = self.index.lock().unwrap_or_else(|it| it.into_inner());
            index.catch_up(&mut file)?;
            index.lines.get(namespace).cloned().unwrap_or_default()
        };
        let mut entries = Vec::with_capacity(lines.len());
        let mut line = Vec::new();
        for (start, len) in lines {
            line.resize(len, 0);
            file.seek(SeekFrom::Start(start))?;
            file.read_exact(&mut line)?;
            entries.extend(AuditEntry::parse(&line));
        }
        Ok(entries)
    }
}

impl Index {
    fn catch_up(&mut self, file: &mut File) -> std::io::Result<()> {
        file.seek(SeekFrom::Start(self.read))?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let mut line = Vec::new();
        // A line that is still being written is left for the next time.
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            let namespace = namespace_of(&line).unwrap_or_default();
            self.lines.entry(namespace).or_default().push((self.read, line.len()));
            self.read += line.len() as u64;
            line.clear();
        }
        Ok(())
    }
}

/// `objectRef` stands before the bodies in a line and nothing before it can hold an unescaped quote.
fn namespace_of(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?;
    let (_, reference) = text.split_once("\"objectRef\":{")?;
    let (reference, _) = reference.split_once('}')?;
    let (_, namespace) = reference.split_once("\"namespace\":\"")?;
    Some(namespace.split_once('"')?.0.to_owned())
}

#[test]
fn a_query_is_decoded() {
    assert_eq!(decoded("a%20b+c%2Fd%"), "a b c/d%");
}

#[test]
fn the_namespace_of_a_line_is_that_of_its_object() {
    let line = br#"{"user":{"username":"a \"namespace\":"},"objectRef":{"resource":"pods","namespace":"here","name":"x"},"requestObject":{"namespace":"there"}}"#;
    assert_eq!(namespace_of(line).as_deref(), Some("here"));
    assert_eq!(namespace_of(br#"{"requestURI":"/readyz","requestObject":{"namespace":"there"}}"#), None);
}
