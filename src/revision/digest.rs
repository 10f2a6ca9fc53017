//! Computes the digest by which pod templates are told apart.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::manifest::default::{self, Level};
use crate::manifest::go_json;
use crate::model::workload::TemplateHash;

/// Which definition of the digest this is. A change of it makes every recorded digest unequal to the template it was
/// taken of, so a record states the version it was made with, and takes the new digests of
/// the same templates (`rollout::renew`).
pub const HASH_VERSION: u32 = 1;

/// The annotation that `kubectl rollout restart` writes into a template.
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// The longest restart that is kept as it is written: RFC 3339 with nanoseconds and an offset.
const MAX_RESTART: usize = 35;

/// A restart as records keep it: what is no longer than a time is as it was written, anything else its digest.
///
/// People may write what they like into the annotation; the record is bounded.
pub fn restart_mark(value: &str) -> String {
    let plain = value.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
    if value.len() <= MAX_RESTART && plain {
        return value.to_owned();
    }
    format!("sha256:{}", hex(value.as_bytes()))
}

/// The first 80 bits of a digest: plenty to tell the templates of one workload apart.
fn hex(bytes: &[u8]) -> String {
    /// 80 bits.
    const BYTES: usize = 10;
    Sha256::digest(bytes).iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// A template's digest, and the restart it states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateDigest {
    /// Of the template without the restart.
    pub hash: TemplateHash,
    /// The value of the annotation [`RESTARTED_AT`].
    pub restarted_at: Option<String>,
}

/// The digest of a template, be it as written in Git or as a live server of any version returned it.
///
/// It is taken of the template as Kubernetes 1.36 would return it, so that a spelling, a default written out, or the
/// server's version makes no difference; the restart is set apart, so that a restarted template is still the same.
/// What a server drops for its closed gates (image volumes on 1.33, say) does make a difference: give the written
/// template through [`default::template`] at the level of that server first.
pub fn template(template: &Value) -> TemplateDigest {
    let mut defaulted = default::template(template, Level::V1_36);
    let restarted_at = take_restart(&mut defaulted);
    TemplateDigest { hash: TemplateHash(hex(go_json::to_string(&defaulted).as_bytes())), restarted_at }
}

/// Takes the annotation out, and the map with it if that becomes empty.
fn take_restart(template: &mut Value) -> Option<String> {
    let metadata = template.get_mut("metadata").and_then(Value::as_object_mut)?;
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut)?;
    let restart = match annotations.remove(RESTARTED_AT) {
        Some(Value::String(restart)) => Some(restart),
        _ => None,
    };
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    restart
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{RESTARTED_AT, restart_mark, template};

    #[test]
    fn a_restart_is_set_apart_and_leaves_no_trace() {
        let plain = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a"}]}});
        let mut restarted = plain.clone();
        restarted["metadata"]["annotations"] = json!({RESTARTED_AT: "2026-01-01T00:00:00Z"});
        let (plain, restarted) = (template(&plain), template(&restarted));
        assert_eq!(plain.hash, restarted.hash);
        assert_eq!(plain.restarted_at, None);
        assert_eq!(restarted.restarted_at.as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(plain.hash.0.len(), 20);
    }

    #[test]
    fn a_restart_is_bounded_whatever_people_write() {
        for short in ["", "monday", "2026-07-24T10:00:00.123456789+02:00"] {
            assert_eq!(restart_mark(short), short);
        }
        let long = "x".repeat(100_000);
        for odd in [long.as_str(), "a b", "\u{1}", "\"\"", "\\", "é", &"9".repeat(36)] {
            let mark = restart_mark(odd);
            assert!(mark.starts_with("sha256:") && mark.len() == 27, "{mark}");
            assert_ne!(mark, restart_mark(&format!("{odd}x")));
        }
    }

    #[test]
    fn the_definition_has_not_changed() {
        let digest = template(&json!({"spec": {"containers": [{"name": "a", "image": "a:1"}]}}));
        assert_eq!(digest.hash.0, "5c2233c345eb583e02cd");
    }
}
