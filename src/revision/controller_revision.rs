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
    name_of(set_name, &hash(defaulted_template, collision_count))
}

/// The name of the ControllerRevision with that hash.
pub fn name_of(set_name: &str, hash: &str) -> String {
    /// Longer names are cut here, so that the hash fits behind them.
    const MAX_PREFIX: usize = 223;
    let mut end = set_name.len().min(MAX_PREFIX);
    while !set_name.is_char_boundary(end) {
        end -= 1;
    }
    let prefix = set_name.get(..end).unwrap_or(set_name);
    format!("{prefix}-{hash}")
}

/// The hash at the end of the name, which is the value of the label `controller.kubernetes.io/hash` too.
///
/// Mirrors `HashControllerRevision`: FNV-1 over the patch and the collision count, in the alphabet of `SafeEncodeString`.
pub fn hash(defaulted_template: &Value, collision_count: i32) -> String {
    hash_of(&patch(defaulted_template), collision_count)
}

/// The same of the [`patch`] itself.
pub fn hash_of(patch: &str, collision_count: i32) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let data = patch.to_owned() + &collision_count.to_string();
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{hash, name, patch};
    use crate::manifest::default::{Level, template};

    /// The template of `stateful_set_compatibility_test.go`.
    fn compatibility() -> Value {
        json!({
            "metadata": {"labels": {"app": "foo"}, "annotations": {"test": "value"}},
            "spec": {"containers": [{"name": "test", "image": "test", "imagePullPolicy": "Always"}]},
        })
    }

    fn web(image: &str) -> Value {
        json!({
            "metadata": {"labels": {"app": "nginx"}},
            "spec": {"containers": [{
                "name": "nginx",
                "image": image,
                "ports": [{"containerPort": 80, "name": "web"}],
                "volumeMounts": [{"name": "www", "mountPath": "/usr/share/nginx/html"}],
            }]},
        })
    }

    #[test]
    fn the_patch_is_that_of_the_upstream_test_data() {
        let expected = concat!(
            r#"{"spec":{"template":{"$patch":"replace","metadata":{"annotations":{"test":"value"},"#,
            r#""labels":{"app":"foo"}},"spec":{"containers":[{"image":"test","imagePullPolicy":"Always","#,
            r#""name":"test","resources":{},"terminationMessagePath":"/dev/termination-log","#,
            r#""terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","#,
            r#""schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}"#,
        );
        assert_eq!(patch(&template(&compatibility(), Level::V1_36)), expected);
    }

    #[test]
    fn names_follow_from_template_level_and_collisions() {
        let now = template(&compatibility(), Level::V1_36);
        assert_eq!(name("test", &now, 0), "test-776999688b");
        assert_eq!(hash(&now, 1), "776999688c");
        assert_eq!(name("test", &template(&compatibility(), Level::V1_33), 0), "test-c77f6d978");
        for (image, at_1_36, at_1_33) in [
            ("k8s.gcr.io/nginx-slim:0.8", "web-85744c9dc6", "web-b46f789c4"),
            ("k8s.gcr.io/nginx-slim:0.9", "web-56b875b86f", "web-76478fc9f5"),
        ] {
            assert_eq!(name("web", &template(&web(image), Level::V1_36), 0), at_1_36);
            assert_eq!(name("web", &template(&web(image), Level::V1_33), 0), at_1_33);
        }
    }

    #[test]
    fn strings_count_as_go_escapes_them() {
        let mut web = web("k8s.gcr.io/nginx-slim:0.8");
        web["spec"]["containers"][0]["args"] = json!(["sh", "-c", "a && b > /tmp/x <y & \"q\" \\ é \u{2028}"]);
        assert_eq!(hash(&template(&web, Level::V1_36), 0), "5b48cd54f6");
    }

    #[test]
    fn long_set_names_are_cut_between_characters() {
        let empty = json!({});
        assert_eq!(name(&"a".repeat(300), &empty, 0).find('-'), Some(223));
        assert_eq!(name(&"é".repeat(300), &empty, 0).find('-'), Some(222));
    }
}
