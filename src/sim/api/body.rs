//! The body of a request: what it is written in, and which kind it says it is.

use serde_json::Value;

use super::decode;
use super::terms::Unknown;
use crate::manifest;
use crate::manifest::default::Level;
use crate::manifest::go_syntax;
use crate::sim::request::Request;
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// The largest body that is read: as much as the server takes in one object.
const MOST_BYTES: usize = 3 << 20;

/// The object that a POST or a PUT brings, of that kind.
///
/// With what there is to be warned of: fields that are not known, or stated twice.
pub(super) fn object(
    request: &Request,
    resource: Resource,
    level: Level,
    unknown: Unknown,
) -> Result<(Value, Vec<String>), Status> {
    let object = value(request, resource.kind())?;
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let alias = resource == Resource::Events && version == "events.k8s.io/v1";
    let known = (version.is_empty() || version == resource.api_version() || alias)
        && (kind.is_empty() || kind == resource.kind());
    if !known {
        return Err(Status::bad_request(misfit(resource, version, kind, level)));
    }
    let handled = |why: String| {
        let version = resource.api_version();
        let version = version.rsplit('/').next().unwrap_or(version);
        let kind = resource.kind();
        Status::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
    };
    decode::check(resource, &object, level).map_err(handled)?;
    if unknown == Unknown::Ignore {
        return Ok((object, Vec::new()));
    }
    let remarks = match media(request) {
        "application/yaml" => decode::unknown(resource, &object, level),
        _ => decode::remarks(resource, &request.body, level),
    };
    if unknown == Unknown::Strict && !remarks.is_empty() {
        return Err(handled(format!("strict decoding error: {}", remarks.join(", "))));
    }
    Ok((object, remarks))
}

/// What the server says of an object of another kind.
fn misfit(resource: Resource, version: &str, kind: &str, level: Level) -> String {
    // What is another kind of ours could be read, but not turned into this one.
    let other = Resource::ALL.into_iter().find(|it| it.api_version() == version && it.kind() == kind);
    let package = match resource.group() {
        "" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    let own = resource.api_version();
    if let Some(other) = other.filter(|other| *other != resource) {
        let own = own.rsplit('/').next().unwrap_or(own);
        let (kind, into) = (other.kind(), resource.kind());
        return format!(
            "{kind} in version \"{own}\" cannot be handled as a {into}: converting (v1.{kind}) to ({package}.{into}): \
             unknown conversion"
        );
    }
    let own = own.rsplit('/').next().unwrap_or(own);
    let said = if kind.is_empty() { resource.kind() } else { kind };
    let at = if version.is_empty() { resource.api_version() } else { version };
    if !version.is_empty() && version != resource.api_version() && kind == resource.kind() {
        let own = resource.api_version();
        return format!("the API version in the data ({version}) does not match the expected API version ({own})");
    }
    // What the group has besides is known, but is something else.
    let beside = ["Deployment", "DaemonSet", "ReplicaSet", "StatefulSet", "ControllerRevision"];
    if resource.group() == "apps" && at == resource.api_version() && beside.contains(&said) {
        return format!(
            "{said} in version \"{own}\" cannot be handled as a {0}: converting ({own}.{said}) to (apps.{0}): unknown conversion",
            resource.kind()
        );
    }
    format!(
        "{said} in version \"{own}\" cannot be handled as a {}: no kind \"{said}\" is registered for version \"{at}\" \
         in scheme \"pkg/runtime/scheme.go:{}\"",
        resource.kind(),
        if level < Level::V1_36 { 110 } else { 111 }
    )
}

/// The JSON or YAML of a body.
fn value(request: &Request, kind: &str) -> Result<Value, Status> {
    limit(request)?;
    match media(request) {
        "" | "application/json" => {
            let told = |why: String| {
                Status::bad_request(format!(
                    "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json \
                     parse error: {why} ({})",
                    summary(&request.body)
                ))
            };
            let words = |error: serde_json::Error| go_syntax::fault(&request.body).unwrap_or_else(|| error.to_string());
            let value: Value = serde_json::from_slice(&request.body).map_err(|error| told(words(error)))?;
            match unnamed(&value) {
                Some(why) => Err(told(why)),
                None => Ok(value),
            }
        }
        "application/yaml" => yaml(&request.body).map_err(|why| {
            let words =
                format!("the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; ");
            Status::bad_request(words + &why)
        }),
        _ => Err(Status::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json, \
             application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// Why a value says nothing about its version and kind, not even that it does not say them; in Go's words.
fn unnamed(value: &Value) -> Option<String> {
    const TYPE: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    let said = match value {
        Value::Null => return None,
        Value::Object(said) => said,
        other => return Some(format!("json: cannot unmarshal {} into Go value of type {TYPE}", go_kind(other))),
    };
    ["apiVersion", "kind"].into_iter().find_map(|name| {
        let value = said.get(name).filter(|it| !it.is_string() && !it.is_null())?;
        Some(format!("json: cannot unmarshal {} into Go struct field .{name} of type string", go_kind(value)))
    })
}

/// The start of a body; as numbers where it does not look like JSON.
fn summary(body: &[u8]) -> String {
    const MOST: usize = 30;
    let start = body.get(..MOST).unwrap_or(body);
    let more = if body.len() > MOST { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => start.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + more,
    }
}

/// Refuses a body that is too large.
pub(super) fn limit(request: &Request) -> Result<(), Status> {
    if request.body.len() <= MOST_BYTES {
        return Ok(());
    }
    let words = format!("Request entity too large: limit is {MOST_BYTES}");
    Err(Status::new(413, "RequestEntityTooLarge", words))
}

/// The content type without its parameters.
pub(super) fn media(request: &Request) -> &str {
    request.content_type.split(';').next().unwrap_or_default().trim()
}

/// The object of a POST or PUT to a part of an object.
pub(super) fn of_kind(request: &Request, api_version: &str, kind: &str) -> Result<Value, Status> {
    let object = value(request, kind)?;
    let said = |field: &str, wanted: &str| object.get(field).and_then(Value::as_str).is_none_or(|it| it == wanted);
    if !object.is_object() || !said("kind", kind) || !said("apiVersion", api_version) {
        let words = format!("the object provided is unrecognized (must be of type {kind})");
        return Err(Status::bad_request(words));
    }
    Ok(object)
}

/// The object of an apply: YAML, of which JSON is a part.
pub(super) fn applied(request: &Request) -> Result<Value, Status> {
    limit(request)?;
    yaml(&request.body).map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))
}

/// A text as YAML. JSON is read as such, but for characters that YAML does not print and the server therefore refuses.
fn yaml(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid UTF-8".to_owned())?;
    let odd = |letter: char| matches!(letter, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    if text.trim_start().starts_with('{')
        && !text.contains(odd)
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    manifest::yaml_body(text).map_err(|why| format!("yaml: {why}"))
}

/// What Go calls a JSON value.
pub(super) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The `DeleteOptions` of a body; none where it is empty.
pub(super) fn options(request: &Request) -> Result<Option<Value>, Status> {
    if request.body.is_empty() {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(&request.body).map_err(|_| {
        Status::bad_request("couldn't get version/kind; json parse error: unexpected end of JSON input")
    })?;
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or("DeleteOptions");
    if !value.is_object() || kind != "DeleteOptions" {
        let words = format!(
            "no kind {kind:?} is registered for version \"meta.k8s.io/v1\" in scheme \"pkg/runtime/scheme.go:111\""
        );
        return Err(Status::bad_request(words));
    }
    Ok(Some(value))
}
