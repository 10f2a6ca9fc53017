//! Decides the pull policy that an image reference gets by default.

use serde_json::{Map, Value};

/// Fills in the pull policy of an object that names an image and states none.
pub(super) fn default_pull_policy(object: &mut Map<String, Value>, image: &str, policy: &'static str) {
    if !object.contains_key(policy) {
        let image = object.get(image).and_then(Value::as_str).unwrap_or_default();
        let default = pull_policy(image);
        object.insert(policy.to_owned(), default.into());
    }
}

/// "Always" if the parsed tag is `latest` or the name has neither tag nor digest; "IfNotPresent" otherwise, also for a
/// name that cannot be parsed.
///
/// Mirrors `SetDefaults_Container` over `ParseImageName` of `pkg/util/parsers` and `github.com/distribution/reference`.
fn pull_policy(image: &str) -> &'static str {
    match parse(image) {
        Some(Reference { tag: Some("latest"), .. } | Reference { tag: None, has_digest: false }) => "Always",
        Some(_) | None => "IfNotPresent",
    }
}

struct Reference<'a> {
    tag: Option<&'a str>,
    has_digest: bool,
}

/// `ParseNormalizedNamed`: the parts of a reference that has a legal name, tag and digest.
fn parse(image: &str) -> Option<Reference<'_>> {
    if image.len() == 64 && image.bytes().all(is_lower_hex) {
        return None;
    }
    let (domain, remainder) = split_domain(image);
    let (named, digest) = split_at_first(remainder, '@');
    let (path, tag) = split_at_first(named, ':');
    // Capitals before the first colon are refused ahead of the grammar, which alone would let them into a digest.
    if remainder.split(':').next().is_some_and(|remote| remote.to_lowercase() != remote) {
        return None;
    }
    let official = (domain.is_none() || domain == Some("docker.io")) && !named.contains('/');
    let path_length = if official { path.len() + "library/".len() } else { path.len() };
    let legal = match domain {
        None => is_path(path) && path_length <= MAX_PATH,
        Some(domain) if is_domain(domain) => is_path(path) && path_length <= MAX_PATH,
        // A first component such as `foo_bar.x` is no host name, but may still be the start of a path.
        Some(domain) => is_path(domain) && is_path(path) && domain.len() + 1 + path.len() <= MAX_PATH,
    };
    let legal = legal && tag.is_none_or(is_tag) && digest.is_none_or(is_digest);
    legal.then_some(Reference { tag, has_digest: digest.is_some() })
}

/// `RepositoryNameTotalLengthMax`.
const MAX_PATH: usize = 255;

/// `splitDockerDomain`: the registry if the first component looks like one, and the rest.
fn split_domain(image: &str) -> (Option<&str>, &str) {
    match image.split_once('/') {
        Some(("index.docker.io", rest)) => (Some("docker.io"), rest),
        Some((first, rest)) if first == "localhost" || first.contains(['.', ':']) || first.to_lowercase() != first => {
            (Some(first), rest)
        }
        Some(_) | None => (None, image),
    }
}

fn split_at_first(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// `domainAndPort`: a host name or a bracketed IPv6 address, and perhaps a port.
fn is_domain(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => {
            let hex = !address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':');
            (hex, if port.is_empty() { None } else { port.strip_prefix(':').or(Some("")) })
        }
        None => {
            let (name, port) = split_at_first(text, ':');
            (name.split('.').all(is_domain_component), port)
        }
    };
    host && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
}

fn is_domain_component(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// `remoteName`: components of lower-case letters and digits, joined by `.`, `_`, `__` or hyphens.
fn is_path(text: &str) -> bool {
    text.split('/').all(|component| {
        let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let separator = |s: &str| matches!(s, "" | "." | "_" | "__") || s.bytes().all(|b| b == b'-');
        component.bytes().next().is_some_and(alphanumeric)
            && component.bytes().next_back().is_some_and(alphanumeric)
            && component.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()).all(separator)
    })
}

/// `tag`: up to 128 word characters, dots and hyphens.
fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

/// A digest of an algorithm that the server is built with, in full length.
fn is_digest(text: &str) -> bool {
    let length = match text.split_once(':') {
        Some(("sha256", _)) => 64,
        Some(("sha384", _)) => 96,
        Some(("sha512", _)) => 128,
        Some(_) | None => return false,
    };
    text.split_once(':').is_some_and(|(_, hex)| hex.len() == length && hex.bytes().all(is_lower_hex))
}

fn is_lower_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn the_tag_decides_and_a_port_is_no_tag() {
        let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
        for image in [
            "nginx",
            "nginx:latest",
            "registry:5000/app",
            "localhost/app:latest",
            "[::1]:5000/app",
            "a.b/c__d-e.f/g",
            "Upper/app",
            &format!("app:latest@{digest}"),
        ] {
            assert_eq!(pull_policy(image), "Always", "{image}");
        }
        for image in [
            "nginx:1",
            "registry:5000/app:v1",
            "UPPER",
            "",
            " nginx",
            "app:",
            "a//b",
            "-a",
            "a..b",
            "app@sha256:0",
            "library/App",
            &format!("app@{digest}"),
            &"0123456789abcdef".repeat(4),
            &"a".repeat(250),
        ] {
            assert_eq!(pull_policy(image), "IfNotPresent", "{image}");
        }
    }
}
