//! What an API server answers where it does not do what was asked: `meta/v1` Status.

use serde_json::{Map, Value, json};

use super::resource::Resource;

/// A refusal, as the server words it.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The reason in one word; empty where the server gives none.
    pub reason: &'static str,
    /// The message.
    pub message: String,
    /// `details`; left out where null.
    pub details: Value,
    /// `metadata.continue`: where a list may go on; empty where it may not.
    pub page: String,
    /// What the client is warned of besides.
    pub warnings: Box<[String]>,
}

/// One of the causes of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The reason in one word, `FieldValueInvalid`.
    pub reason: &'static str,
    /// The message, without the field.
    pub message: String,
    /// The field.
    pub field: String,
}

impl Cause {
    /// A value that may not be; it is shown as JSON.
    pub fn invalid(field: &str, value: &Value, why: &str) -> Self {
        Self::shown(field, &value.to_string(), why)
    }

    /// The same of a value that the server does not show as JSON.
    pub fn shown(field: &str, value: &str, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self { reason: "FieldValueInvalid", message, field: field.to_owned() }
    }

    /// A value that is missing; the reason may be empty.
    pub fn required(field: &str, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", message, field: field.to_owned() }
    }

    /// A field that may not be given, or not be changed.
    pub fn forbidden(field: &str, why: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {why}"), field: field.to_owned() }
    }

    /// A value, as it is shown, that is none of those there are; these are shown sorted.
    pub fn unsupported(field: &str, value: &str, supported: &[&str]) -> Self {
        let mut sorted: Vec<String> = supported.iter().map(|it| format!("{it:?}")).collect();
        sorted.sort();
        let message = format!("Unsupported value: {value}: supported values: {}", sorted.join(", "));
        Self { reason: "FieldValueNotSupported", message, field: field.to_owned() }
    }

    /// As it stands in `details.causes`.
    pub fn to_json(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }
}

impl Status {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Value::Null,
            page: String::new(),
            warnings: Box::default(),
        }
    }

    /// With warnings that come before those it has.
    #[must_use]
    pub fn warned(mut self, warnings: &[String]) -> Self {
        self.warnings = warnings.iter().chain(&self.warnings).cloned().collect();
        self
    }

    fn about(mut self, resource: Resource, name: &str) -> Self {
        let mut details = Map::new();
        if !name.is_empty() {
            details.insert("name".into(), name.into());
        }
        if !resource.group().is_empty() {
            details.insert("group".into(), resource.group().into());
        }
        details.insert("kind".into(), resource.plural().into());
        self.details = Value::Object(details);
        self
    }

    /// 404.
    pub fn not_found(resource: Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified())).about(resource, name)
    }

    /// 409, a create of what is there.
    pub fn already_exists(resource: Resource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", resource.qualified()))
            .about(resource, name)
    }

    /// 409, a write that was overtaken.
    pub fn conflict(resource: Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// 409, as the server words it where it names the kind and not the resource.
    pub fn conflict_of_kind(resource: Resource, name: &str, why: &str) -> Self {
        let kind = qualified_kind(resource);
        let mut status = Self::conflict(resource, name, why);
        status.message = format!("Operation cannot be fulfilled on {kind} \"{name}\": {why}");
        status.details["kind"] = resource.kind().into();
        status
    }

    /// 403.
    pub fn forbidden(resource: Resource, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", resource.qualified());
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 422; the message is made of the causes, as the server makes it.
    pub fn invalid(resource: Resource, name: &str, causes: &[Cause]) -> Self {
        Self::invalid_kind(resource.group(), resource.kind(), name, causes)
    }

    /// 422 of a kind of which there are no objects: options, a scale.
    pub fn invalid_kind(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let mut told: Vec<String> = Vec::new();
        for cause in causes {
            let words = format!("{}: {}", cause.field, cause.message);
            // What is found twice is told once, but is two causes.
            if !told.contains(&words) {
                told.push(words);
            }
        }
        let told = match told.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut details = Map::new();
        if !name.is_empty() {
            details.insert("name".into(), name.into());
        }
        let mut qualified = kind.to_owned();
        if !group.is_empty() {
            details.insert("group".into(), group.into());
            qualified = format!("{kind}.{group}");
        }
        if !kind.is_empty() {
            details.insert("kind".into(), kind.into());
        }
        details.insert("causes".into(), causes.iter().map(Cause::to_json).collect());
        let message = format!("{qualified} \"{name}\" is invalid: {told}");
        Self { details: Value::Object(details), ..Self::new(422, "Invalid", message) }
    }

    /// 410, a resource version whose changes are forgotten.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 504, a resource version that is still to come.
    pub fn version_too_large(asked: u64, now: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {now}");
        let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        let details = json!({"causes": [cause], "retryAfterSeconds": 1});
        Self { details, ..Self::new(504, "Timeout", message) }
    }

    /// 406. `known`: what is asked for is a media type of a real server's.
    pub fn not_acceptable(known: bool) -> Self {
        if known {
            return Self::new(406, "NotAcceptable", "only the following media types are accepted: application/json");
        }
        let message = "406: Not Acceptable\n\nAvailable representations: application/json";
        Self { details: json!({}), ..Self::new(406, "NotAcceptable", message) }
    }

    /// 415, a body in a form that is not read here.
    pub fn unsupported_media() -> Self {
        let message = "the body of the request was in an unknown format - accepted media types include: \
                       application/json, application/yaml";
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 415, a body in protobuf that is not read here.
    pub fn no_protobuf() -> Self {
        let message = "the embedded cluster reads JSON, and of protobuf only the few kinds that `kubectl create KIND \
                       NAME` makes; use `kubectl create -f FILE` or `kubectl apply --server-side -f FILE`";
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 404, a path that leads nowhere.
    pub fn nowhere() -> Self {
        let message = "the server could not find the requested resource";
        Self { details: json!({}), ..Self::new(404, "NotFound", message) }
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self { details: json!({}), ..Self::new(405, "MethodNotAllowed", message) }
    }

    /// 501: what the embedded cluster does not have. A real one may well have it.
    pub fn missing(what: &str) -> Self {
        let message = format!("the embedded cluster does not have {what}; a real one may");
        Self::new(501, "NotImplemented", message)
    }

    /// As it is sent.
    pub fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        if !self.page.is_empty() {
            status["metadata"]["continue"] = self.page.as_str().into();
        }
        status
    }
}

/// `Pod`, `StatefulSet.apps`.
fn qualified_kind(resource: Resource) -> String {
    match resource.group() {
        "" => resource.kind().to_owned(),
        group => format!("{}.{group}", resource.kind()),
    }
}
