//! Computes the name that the StatefulSet controller gives to the ControllerRevision of a template.

use serde_json::Value;

use crate::manifest::go_json;

/// The name of the ControllerRevision made for a template.
///
/// The template must have the form in which the server returns it ([`crate::manifest::default::template`]): the level
/// shows in the name. `collision_count` is `.status.collisionCount` of the set, 0 where absent. The name is the one a
/// *new* revision gets: where the cluster already has an equal revision, that one's name stays in use.
///
/// Mirrors `newRevision` in `pkg/controller/statefulset/stateful_set_utils.go` and `ControllerRevisionName` in
/// `pkg/controller/history/controller_history.go`.
pub fn name(set_name: &str, defaulted_template: &Value, collision_count: i32) -> String {
    /// Longer names are cut here, so that the hash fits behind them.
    const MAX_PREFIX: usize = 223;
    let mut end = set_name.len().min(MAX_PREFIX);
    while !set_name.is_char_boundary(end) {
        end -= 1;
    }
    let prefix = set_name.get(..end).unwrap_or(set_name);
    format!("{prefix}-{}", hash(defaulted_template, collision_count))
}

/// The hash at the end of the name, which is the value of the label `controller.kubernetes.io/hash` too.
///
/// Mirrors `HashControllerRevision`: FNV-1 over the patch and the collision count, in the alphabet of `SafeEncodeString`.
pub fn hash(defaulted_template: &Value, collision_count: i32) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let data = patch(defaulted_template) + &collision_count.to_string();
    let decimal = fnv1(data.as_bytes()).to_string();
    decimal.bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

/// The `.data` of the ControllerRevision: the patch that brings the template back.
///
/// Mirrors `getPatch` in `pkg/controller/statefulset/stateful_set_utils.go`.
pub fn patch(defaulted_template: &Value) -> String {
    let mut marked = defaulted_template.clone();
    if let Value::Object(template) = &mut marked {
        template.insert("$patch".to_owned(), "replace".into());
    }
    let mut out = String::from(r#"{"spec":{"template":"#);
    go_json::write_value(&mut out, &marked);
    out.push_str("}}");
    out
}

/// FNV-1 (multiply, then xor) in 32 bits.
fn fnv1(data: &[u8]) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    data.iter().fold(OFFSET, |hash, byte| hash.wrapping_mul(PRIME) ^ u32::from(*byte))
}
