//! Field selectors: `status.phase=Running,metadata.name!=web-0`, over the fields that each kind offers.

use serde_json::Value;

use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// What an object's fields have to be; the default takes everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    /// The field, as a JSON pointer into the stored object.
    at: &'static str,
    equal: bool,
    value: String,
}

/// A field that can be selected by: its name, and where it lies in the object.
type Field = (&'static str, &'static str);

const NAME: Field = ("metadata.name", "/metadata/name");
const NAMESPACE: Field = ("metadata.namespace", "/metadata/namespace");

const POD: [Field; 12] = [
    NAME,
    NAMESPACE,
    ("spec.nodeName", "/spec/nodeName"),
    ("spec.restartPolicy", "/spec/restartPolicy"),
    ("spec.schedulerName", "/spec/schedulerName"),
    ("spec.serviceAccountName", "/spec/serviceAccountName"),
    ("spec.hostNetwork", "/spec/hostNetwork"),
    ("status.phase", "/status/phase"),
    ("status.podIP", "/status/podIP"),
    ("status.podIPs", "/status/podIP"),
    ("status.nominatedNodeName", "/status/nominatedNodeName"),
    ("spec.host", "/spec/nodeName"),
];

const EVENT: [Field; 13] = [
    NAME,
    NAMESPACE,
    ("involvedObject.kind", "/involvedObject/kind"),
    ("involvedObject.namespace", "/involvedObject/namespace"),
    ("involvedObject.name", "/involvedObject/name"),
    ("involvedObject.uid", "/involvedObject/uid"),
    ("involvedObject.apiVersion", "/involvedObject/apiVersion"),
    ("involvedObject.resourceVersion", "/involvedObject/resourceVersion"),
    ("involvedObject.fieldPath", "/involvedObject/fieldPath"),
    ("reason", "/reason"),
    ("reportingComponent", "/reportingComponent"),
    ("source", "/source/component"),
    ("type", "/type"),
];

const NEWER_EVENT: [Field; 12] = [
    NAME,
    NAMESPACE,
    ("regarding.kind", "/involvedObject/kind"),
    ("regarding.namespace", "/involvedObject/namespace"),
    ("regarding.name", "/involvedObject/name"),
    ("regarding.uid", "/involvedObject/uid"),
    ("regarding.apiVersion", "/involvedObject/apiVersion"),
    ("regarding.resourceVersion", "/involvedObject/resourceVersion"),
    ("regarding.fieldPath", "/involvedObject/fieldPath"),
    ("reason", "/reason"),
    ("reportingController", "/reportingComponent"),
    ("type", "/type"),
];

/// The fields that objects of a kind can be selected by.
fn fields(resource: Resource, newer: bool) -> &'static [Field] {
    match resource {
        Resource::Pods => &POD,
        Resource::Events if newer => &NEWER_EVENT,
        Resource::Events => &EVENT,
        Resource::Namespaces => &[NAME, ("status.phase", "/status/phase")],
        Resource::Secrets => &[NAME, NAMESPACE, ("type", "/type")],
        Resource::Services => &[NAME, NAMESPACE, ("spec.clusterIP", "/spec/clusterIP"), ("spec.type", "/spec/type")],
        Resource::StatefulSets
        | Resource::Revisions
        | Resource::Claims
        | Resource::ConfigMaps
        | Resource::Leases
        | Resource::Budgets => &[NAME, NAMESPACE],
    }
}

/// The refusal of a field that objects of a kind cannot be selected by. Kinds with fields of their own word it
/// otherwise than those without.
fn unknown(field: &str, resource: Resource) -> Status {
    let own = matches!(
        resource,
        Resource::Pods | Resource::Events | Resource::Namespaces | Resource::Secrets | Resource::Services
    );
    Status::bad_request(if own {
        format!("field label not supported: {field}")
    } else {
        format!("\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    })
}

impl FieldSelector {
    /// Reads a selector. `newer`: with the names that events.k8s.io has for the fields of events.
    ///
    /// # Errors
    /// 400, with what is wrong with it.
    pub(crate) fn parse(text: &str, resource: Resource, newer: bool) -> Result<Self, Status> {
        let fields = fields(resource, newer);
        let mut parts = split(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let Some((field, equal, value)) = operands(part) else {
                return Err(Status::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'")));
            };
            let value = unescaped(value).map_err(Status::bad_request)?;
            let at = fields.iter().find(|(name, _)| *name == field).map(|(_, at)| *at);
            terms.push(Term { at: at.ok_or_else(|| unknown(field, resource))?, equal, value });
        }
        Ok(Self(terms))
    }

    /// Whether everything is taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object is taken.
    pub(crate) fn takes(&self, object: &Value) -> bool {
        self.0.iter().all(|term| term.equal == (text_at(object, term.at) == term.value))
    }
}

/// A field as a selector compares it; absent is empty.
fn text_at<'a>(object: &'a Value, at: &str) -> &'a str {
    match object.pointer(at) {
        Some(Value::String(text)) => text,
        Some(Value::Bool(true)) => "true",
        None if at == "/spec/hostNetwork" => "false",
        // An event of the newer API has no source, but a reporter.
        None if at == "/source/component" => text_at(object, "/reportingComponent"),
        _ => "",
    }
}

/// The parts between commas that no backslash stands before.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Field, whether it has to be equal, and value.
fn operands(term: &str) -> Option<(&str, bool, &str)> {
    (0..term.len()).filter(|at| term.is_char_boundary(*at)).find_map(|at| {
        let (field, rest) = term.split_at(at);
        let operators = [("!=", false), ("==", true), ("=", true)];
        operators.into_iter().find_map(|(it, equal)| rest.strip_prefix(it).map(|value| (field, equal, value)))
    })
}

fn unescaped(value: &str) -> Result<String, String> {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(char @ ('\\' | ',' | '=')) => text.push(char),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(format!("invalid field selector: invalid escape sequence: {sequence}"));
                }
            },
            // The server prints the character's number.
            ',' | '=' => {
                let number = u32::from(char);
                return Err(format!("invalid field selector: unescaped character in value: {number}"));
            }
            char => text.push(char),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FieldSelector;
    use crate::sim::resource::Resource;

    #[test]
    fn fields_are_compared_as_text() {
        let pod = json!({
            "metadata": {"name": "web-0", "namespace": "shop"}, "spec": {"nodeName": "a,b"}, "status": {"phase": "Running"},
        });
        for (selector, takes) in [
            ("", true),
            ("metadata.name=web-0", true),
            ("metadata.name==web-0,metadata.namespace=shop", true),
            ("metadata.name!=web-0", false),
            ("status.phase=Running", true),
            ("status.phase=", false),
            ("status.podIP=", true),
            ("spec.hostNetwork=false", true),
            (r"spec.nodeName=a\,b", true),
            (",,", true),
        ] {
            let taken = FieldSelector::parse(selector, Resource::Pods, false).unwrap().takes(&pod);
            assert_eq!(taken, takes, "{selector}");
        }
    }

    /// The texts are those of a 1.36.3 server.
    #[test]
    fn what_cannot_be_selected_by_is_refused_in_the_words_of_the_server() {
        for (resource, newer, selector, words) in [
            (Resource::Pods, false, "status.foo=Running", "field label not supported: status.foo"),
            (
                Resource::Pods,
                false,
                "metadata.name",
                "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
            ),
            (
                Resource::StatefulSets,
                false,
                "status.replicas=3",
                "\"status.replicas\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            ),
            (Resource::Pods, false, "metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
            (Resource::Pods, false, r"metadata.name=\b", r"invalid field selector: invalid escape sequence: \b"),
            (Resource::Events, true, "involvedObject.name=web", "field label not supported: involvedObject.name"),
            (Resource::Events, false, "regarding.name=web", "field label not supported: regarding.name"),
        ] {
            assert_eq!(FieldSelector::parse(selector, resource, newer).unwrap_err().message, words);
        }
    }
}
