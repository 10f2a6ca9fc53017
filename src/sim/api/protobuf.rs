//! Objects that kubectl makes by itself (`kubectl create namespace`, `configmap`, `secret`, `service`, `poddisruptionbudget`, `auth can-i`) and
//! sends as protobuf, whatever it is answered. Everything else is sent as JSON, and nothing is answered as protobuf.
//!
//! The wire format is that of protobuf; the numbers are those of `k8s.io/api`'s `generated.proto`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// What Kubernetes puts before a message.
const MAGIC: &[u8] = b"k8s\0";

/// Messages lie in one another no deeper than this.
const MOST_DEPTH: usize = 8;

/// The fields of a message: number, name, and what they hold. Those that are not named are left out: the server sets
/// them, or kubectl never does.
type Message = &'static [(u64, &'static str, Holds)];

/// What a field holds.
#[derive(Debug, Clone, Copy)]
enum Holds {
    Text,
    Texts,
    /// Bytes, which JSON has as base64.
    Bytes,
    Flag,
    Number,
    Message(Message),
    Messages(Message),
    TextMap,
    BytesMap,
    /// A number or a text: 1 says which, 2 is the number, 3 the text.
    NumberOrText,
    /// A time, told in seconds: the server sets them all.
    Nothing,
}

use Holds::{Bytes, BytesMap, Flag, Messages, Nothing, Number, NumberOrText, Text, TextMap, Texts};

const METADATA: Message = &[
    (1, "name", Text),
    (2, "generateName", Text),
    (3, "namespace", Text),
    (5, "uid", Text),
    (6, "resourceVersion", Text),
    (8, "creationTimestamp", Nothing),
    (11, "labels", TextMap),
    (12, "annotations", TextMap),
    (14, "finalizers", Texts),
];

const REQUIREMENT: Message = &[(1, "key", Text), (2, "operator", Text), (3, "values", Texts)];
const SELECTOR: Message = &[(1, "matchLabels", TextMap), (2, "matchExpressions", Messages(REQUIREMENT))];
const BUDGET: Message = &[
    (1, "minAvailable", NumberOrText),
    (2, "selector", Holds::Message(SELECTOR)),
    (3, "maxUnavailable", NumberOrText),
    (4, "unhealthyPodEvictionPolicy", Text),
];
const PORT: Message = &[
    (1, "name", Text),
    (2, "protocol", Text),
    (3, "port", Number),
    (4, "targetPort", NumberOrText),
    (5, "nodePort", Number),
];
const SERVICE: Message = &[
    (1, "ports", Messages(PORT)),
    (2, "selector", TextMap),
    (3, "clusterIP", Text),
    (4, "type", Text),
    (5, "externalIPs", Texts),
    (7, "sessionAffinity", Text),
    (10, "externalName", Text),
];

const ATTRIBUTES: Message = &[
    (1, "namespace", Text),
    (2, "verb", Text),
    (3, "group", Text),
    (4, "version", Text),
    (5, "resource", Text),
    (6, "subresource", Text),
    (7, "name", Text),
    (8, "fieldSelector", Nothing),
    (9, "labelSelector", Nothing),
];
const PATHS: Message = &[(1, "path", Text), (2, "verb", Text)];
const REVIEW: Message =
    &[(1, "resourceAttributes", Holds::Message(ATTRIBUTES)), (2, "nonResourceAttributes", Holds::Message(PATHS))];

/// The kinds that are read: `apiVersion`, `kind`, fields.
const KINDS: [(&str, &str, Message); 6] = [
    ("v1", "Namespace", &[(1, "metadata", Holds::Message(METADATA)), (2, "spec", Nothing), (3, "status", Nothing)]),
    (
        "v1",
        "ConfigMap",
        &[
            (1, "metadata", Holds::Message(METADATA)),
            (2, "data", TextMap),
            (3, "binaryData", BytesMap),
            (4, "immutable", Flag),
        ],
    ),
    (
        "v1",
        "Secret",
        &[
            (1, "metadata", Holds::Message(METADATA)),
            (2, "data", BytesMap),
            (3, "type", Text),
            (4, "stringData", TextMap),
            (5, "immutable", Flag),
        ],
    ),
    (
        "v1",
        "Service",
        &[(1, "metadata", Holds::Message(METADATA)), (2, "spec", Holds::Message(SERVICE)), (3, "status", Nothing)],
    ),
    (
        "authorization.k8s.io/v1",
        "SelfSubjectAccessReview",
        &[(1, "metadata", Holds::Message(METADATA)), (2, "spec", Holds::Message(REVIEW)), (3, "status", Nothing)],
    ),
    (
        "policy/v1",
        "PodDisruptionBudget",
        &[(1, "metadata", Holds::Message(METADATA)), (2, "spec", Holds::Message(BUDGET)), (3, "status", Nothing)],
    ),
];

/// The object in a body; none where it is no such kind, or no protobuf.
pub(super) fn object(body: &[u8]) -> Option<Value> {
    const KIND: Message = &[(1, "apiVersion", Text), (2, "kind", Text)];
    const ENVELOPE: Message =
        &[(1, "type", Holds::Message(KIND)), (2, "raw", Bytes), (3, "", Nothing), (4, "", Nothing)];
    let envelope = message(body.strip_prefix(MAGIC)?, ENVELOPE, MOST_DEPTH)?;
    let kind = &envelope["type"];
    let (version, name, fields) =
        KINDS.into_iter().find(|(version, name, _)| kind["apiVersion"] == *version && kind["kind"] == *name)?;
    let raw = STANDARD.decode(envelope["raw"].as_str()?).ok()?;
    let mut object = message(&raw, fields, MOST_DEPTH)?;
    object["apiVersion"] = version.into();
    object["kind"] = name.into();
    Some(object)
}

/// One field as it lies in a message.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn message(mut bytes: &[u8], fields: Message, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let mut object = Map::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let wire = match key & 7 {
            0 => Wire::Number(varint(&mut bytes)?),
            2 => Wire::Bytes(taken(&mut bytes)?),
            _ => return None,
        };
        let Some((_, name, holds)) = fields.iter().find(|(number, _, _)| *number == key >> 3) else {
            // Something that only a client with more to say sends: it would be lost.
            if matches!(wire, Wire::Bytes([]) | Wire::Number(0)) {
                continue;
            }
            return None;
        };
        put(&mut object, name, *holds, &wire, depth)?;
    }
    Some(Value::Object(object))
}

/// Puts a field where it belongs. What is empty is what is absent.
fn put(object: &mut Map<String, Value>, name: &str, holds: Holds, wire: &Wire<'_>, depth: usize) -> Option<()> {
    let value = match (holds, wire) {
        (Nothing, _) => return Some(()),
        // What is zero is what is absent.
        (Number | Flag, Wire::Number(0)) => return Some(()),
        (Flag, Wire::Number(_)) => true.into(),
        // A negative number fills all of the 64 bits.
        (Number, Wire::Number(number)) => Value::from(number.cast_signed()),
        (Text, Wire::Bytes([])) => return Some(()),
        (Text, Wire::Bytes(bytes)) => text(bytes)?,
        (Bytes, Wire::Bytes(bytes)) => Value::from(STANDARD.encode(bytes)),
        (Holds::Message(fields), Wire::Bytes(bytes)) => message(bytes, fields, depth)?,
        (NumberOrText, Wire::Bytes(bytes)) => {
            let either = message(bytes, &[(1, "is", Number), (2, "number", Number), (3, "text", Text)], depth)?;
            let number = || either.get("number").cloned().unwrap_or_else(|| 0.into());
            if either["is"] == 1 { either["text"].clone() } else { number() }
        }
        (Texts, Wire::Bytes(bytes)) => return add(object, name, text(bytes)?),
        (Messages(fields), Wire::Bytes(bytes)) => return add(object, name, message(bytes, fields, depth)?),
        (TextMap, Wire::Bytes(bytes)) => return entry(object, name, bytes, Text, depth),
        (BytesMap, Wire::Bytes(bytes)) => return entry(object, name, bytes, Bytes, depth),
        (Flag | Number, Wire::Bytes(_)) | (_, Wire::Number(_)) => return None,
    };
    object.insert(name.to_owned(), value);
    Some(())
}

fn add(object: &mut Map<String, Value>, name: &str, value: Value) -> Option<()> {
    object.entry(name).or_insert_with(|| Value::Array(Vec::new())).as_array_mut()?.push(value);
    Some(())
}

/// One entry of a map: a message of key and value.
fn entry(object: &mut Map<String, Value>, name: &str, bytes: &[u8], holds: Holds, depth: usize) -> Option<()> {
    let fields: Message = if matches!(holds, Bytes) {
        &[(1, "key", Text), (2, "value", Bytes)]
    } else {
        &[(1, "key", Text), (2, "value", Text)]
    };
    let mut entry = message(bytes, fields, depth)?;
    let key = entry["key"].as_str().unwrap_or_default().to_owned();
    let value = entry.get_mut("value").map(Value::take).unwrap_or_else(|| "".into());
    object.entry(name).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?.insert(key, value);
    Some(())
}

fn text(bytes: &[u8]) -> Option<Value> {
    std::str::from_utf8(bytes).ok().map(Value::from)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn taken<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(varint(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::object;

    /// What kubectl 1.36.3 sends for these commands.
    #[test]
    fn what_kubectl_makes_is_read() {
        for (command, body, expected) in [
            (
                "create namespace shop",
                "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhwKFAoEc2hvcBIAGgAiACoAMgA4AEIAEgAaAgoAGgAiAA==",
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
            ),
            (
                "create configmap here --from-literal=a=b --from-literal=c=",
                "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEiUKFAoEaGVyZRIAGgAiACoAMgA4AEIAEgYKAWESAWISBQoBYxIAGgAiAA==",
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "here"}, "data": {"a": "b", "c": ""}}),
            ),
            (
                "create secret generic hidden --from-literal=a=never-shown",
                "azhzAAoMCgJ2MRIGU2VjcmV0EiwKFgoGaGlkZGVuEgAaACIAKgAyADgAQgASEAoBYRILbmV2ZXItc2hvd24aABoAIgA=",
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hidden"}, "data": {"a": "bmV2ZXItc2hvd24="}}),
            ),
            (
                "create poddisruptionbudget tight --min-available=2 --selector=app=web,'tier in (a,b)'",
                "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSTQoVCgV0aWdodBIAGgAiACoAMgA4AEIAEigKBggAEAIaABIeCgoKA2FwcBIDd2ViEhAKBHRpZXISAkluGgFhGgFiGgoIABgAIAAoADAAGgAiAA==",
                json!({
                    "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "tight"},
                    "spec": {"minAvailable": 2, "selector": {
                        "matchLabels": {"app": "web"},
                        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
                    }},
                }),
            ),
            (
                "create poddisruptionbudget wide --max-unavailable=25% --selector=app",
                "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSQAoUCgR3aWRlEgAaACIAKgAyADgAQgASHBIPEg0KA2FwcBIGRXhpc3RzGgkIARAAGgMyNSUaCggAGAAgACgAMAAaACIA",
                json!({
                    "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "wide"},
                    "spec": {"maxUnavailable": "25%", "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
                }),
            ),
            (
                "create service clusterip web --tcp=80",
                "azhzAAoNCgJ2MRIHU2VydmljZRJjCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEjwKFQoCODASA1RDUBhQIgYIABBQGgAoABIKCgNhcHASA3dlYhoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA==",
                json!({
                    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": {"app": "web"}},
                    "spec": {
                        "type": "ClusterIP", "selector": {"app": "web"},
                        "ports": [{"name": "80", "protocol": "TCP", "port": 80, "targetPort": 80}],
                    },
                }),
            ),
            (
                "auth can-i get pods",
                "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSPAoQCgASABoAIgAqADIAOABCABIeChwKB2RlZmF1bHQSA2dldBoAIgAqBHBvZHMyADoAGggIABIAGgAgABoAIgA=",
                json!({
                    "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {},
                    "spec": {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}},
                }),
            ),
        ] {
            assert_eq!(object(&STANDARD.decode(body).unwrap()), Some(expected), "{command}");
        }
    }

    #[test]
    fn what_is_damaged_or_not_known_is_none() {
        let body =
            STANDARD.decode("azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhwKFAoEc2hvcBIAGgAiACoAMgA4AEIAEgAaAgoAGgAiAA==").unwrap();
        assert!(object(&body).is_some());
        for cut in 0..body.len() {
            // Whatever is left has to be read to the end without a panic; half of a name is a name.
            if let Some(it) = object(&body[..cut]) {
                assert_eq!(it["kind"], "Namespace");
            }
            let mut flipped = body.clone();
            flipped[cut] ^= 0xff;
            let _ = object(&flipped);
        }
        assert_eq!(object(b""), None);
        assert_eq!(object(b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x00"), None);
        assert_eq!(object(b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None);
    }
}
