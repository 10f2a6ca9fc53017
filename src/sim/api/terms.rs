//! Who writes, and on what terms: what the query says beside the body.

use serde_json::Value;

use super::delete::{Deletion, Policy};
use crate::manifest::shown::Shown;
use crate::sim::compat::Compat;
use crate::sim::request::Request;
use crate::sim::status::{Cause, Status};

/// Who writes, and on what terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The field manager: what the request names, or the agent's first word.
    pub(crate) manager: String,
    /// Whether nothing is to be kept of it.
    pub(crate) dry_run: bool,
    /// What becomes of fields that the API does not know.
    pub(crate) unknown: Unknown,
    /// Whether an apply takes fields that others hold.
    pub(crate) force: bool,
    /// Whether it came by the newer API of events.
    pub(crate) newer: bool,
}

/// What becomes of fields that the API does not know, or that are stated twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// They are dropped, and nothing is said.
    Ignore,
    /// They are dropped, with a warning.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// The longest name that a manager may have, in bytes.
const MOST_MANAGER: usize = 128;

impl Terms {
    /// The terms on which a controller of the cluster writes.
    pub(crate) fn of(manager: &str) -> Self {
        Self { manager: manager.to_owned(), ..Self::default() }
    }

    /// The terms that a request states; `options` is the kind of options that its verb takes.
    pub(super) fn read(request: &Request, options: &str, compat: Compat) -> Result<Self, Status> {
        let mut causes = Vec::new();
        let dry_run =
            dry_run(request.query.iter().filter(|(name, _)| name == "dryRun").map(|(_, it)| it.as_str()), compat);
        let dry_run = dry_run.unwrap_or_else(|cause| {
            causes.push(cause);
            false
        });
        let unknown = match request.parameter("fieldValidation") {
            None | Some("" | "Warn") => Unknown::Warn,
            Some("Ignore") => Unknown::Ignore,
            Some("Strict") => Unknown::Strict,
            Some(other) => {
                let known = ["", "Ignore", "Strict", "Warn"];
                causes.push(Cause::unsupported("fieldValidation", &Value::from(other).to_string(), &known));
                Unknown::Warn
            }
        };
        let named = request.parameter("fieldManager").unwrap_or_default();
        if named.len() > MOST_MANAGER {
            let message = format!("Too long: may not be more than {MOST_MANAGER} bytes");
            causes.push(Cause { reason: "FieldValueTooLong", message, field: "fieldManager".into() });
        }
        let force = request.parameter("force").is_some();
        if force && options == "PatchOptions" && super::body::media(request) != super::write::APPLY {
            causes.insert(0, Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        if !causes.is_empty() {
            return Err(refused(options, &causes));
        }
        let agent = request.agent.split('/').next().unwrap_or_default();
        let manager = request.parameter("fieldManager").filter(|it| !it.is_empty()).unwrap_or(agent);
        let force = matches!(request.parameter("force"), Some("true" | "1"));
        Ok(Self { manager: manager.to_owned(), dry_run, unknown, force, newer: super::events::is_newer(&request.path) })
    }
}

impl Terms {
    /// The terms of an apply, which needs a manager that is named.
    pub(super) fn read_apply(request: &Request, compat: Compat) -> Result<Self, Status> {
        let terms = Self::read(request, "PatchOptions", compat)?;
        if request.parameter("fieldManager").is_none_or(str::is_empty) {
            let cause = Cause::required("fieldManager", "is required for apply patch");
            return Err(refused("PatchOptions", &[cause]));
        }
        Ok(terms)
    }
}

/// Whether `dryRun` is said: the only value there is, is `All`.
fn dry_run<'a>(values: impl Iterator<Item = &'a str>, compat: Compat) -> Result<bool, Cause> {
    let values: Vec<&str> = values.filter(|it| !it.is_empty()).collect();
    if values.iter().any(|it| *it != "All") {
        return Err(Cause::unsupported("dryRun", Shown::texts(&values).at(compat.level()), &["All"]));
    }
    Ok(!values.is_empty())
}

/// 422 of options.
pub(super) fn refused(options: &str, causes: &[Cause]) -> Status {
    Status::invalid_kind("meta.k8s.io", options, "", causes)
}

/// The terms of a DELETE: its body, or its query where it has none.
pub(super) fn deletion(request: &Request, compat: Compat) -> Result<Deletion, Status> {
    let body = super::body::options(request)?;
    deletion_of(body.as_ref(), &request.query, compat)
}

/// The terms of a DELETE from the options that came with it; where there are none, from a query.
pub(super) fn deletion_of(
    body: Option<&Value>,
    query: &[(String, String)],
    compat: Compat,
) -> Result<Deletion, Status> {
    let said = |name: &str| -> Option<Value> {
        match body {
            Some(body) => body.get(name).filter(|it| !it.is_null()).cloned(),
            None => query.iter().find(|(key, it)| key == name && !it.is_empty()).map(|(_, it)| it.as_str().into()),
        }
    };
    let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    let truth = |value: &Value| match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => Some(matches!(text.as_str(), "true" | "1")),
        _ => None,
    };
    let grace = match said("gracePeriodSeconds") {
        None => None,
        Some(value) => Some(seconds(&value, body.is_some())?),
    };
    let mut causes = Vec::new();
    let orphan = said("orphanDependents").as_ref().and_then(truth);
    let asked = text(said("propagationPolicy"));
    let mut policy = match asked.as_deref() {
        None => None,
        Some("Orphan") => Some(Policy::Orphan),
        Some("Background") => Some(Policy::Background),
        Some("Foreground") => Some(Policy::Foreground),
        Some(other) => {
            // In the order in which the server lists them.
            let known = "\"Foreground\", \"Background\", \"Orphan\", \"nil\"";
            let message = format!("Unsupported value: {other:?}: supported values: {known}");
            causes.push(Cause { reason: "FieldValueNotSupported", message, field: "propagationPolicy".into() });
            None
        }
    };
    if let (Some(asked), true) = (&asked, orphan.is_some()) {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        causes.insert(0, Cause::invalid("propagationPolicy", &asked.as_str().into(), why));
    }
    if policy.is_none() {
        policy = orphan.map(|orphan| if orphan { Policy::Orphan } else { Policy::Background });
    }
    let mut dry = Vec::new();
    match body {
        Some(body) => dry.extend(body["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str)),
        None => dry.extend(query.iter().filter(|(name, _)| name == "dryRun").map(|(_, it)| it.as_str())),
    }
    let dry_run = dry_run(dry.into_iter(), compat).unwrap_or_else(|cause| {
        causes.push(cause);
        false
    });
    if !causes.is_empty() {
        return Err(refused("DeleteOptions", &causes));
    }
    let precondition = |name: &str| {
        let value = body.and_then(|body| body.get("preconditions")?.get(name)?.as_str());
        value.map(str::to_owned)
    };
    Ok(Deletion {
        uid: precondition("uid"),
        version: precondition("resourceVersion"),
        grace,
        policy,
        says_cascade: orphan == Some(false),
        dry_run,
    })
}

/// A number of seconds, of a body or of a query.
fn seconds(value: &Value, of_body: bool) -> Result<i64, Status> {
    let number = if of_body { value.as_i64() } else { value.as_str().and_then(|text| text.parse().ok()) };
    number.ok_or_else(|| match value {
        Value::String(text) if !of_body => {
            Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
        }
        _ => Status::bad_request(format!(
            "json: cannot unmarshal {} into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
            super::body::go_kind(value)
        )),
    })
}
