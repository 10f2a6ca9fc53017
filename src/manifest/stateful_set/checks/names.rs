//! The forms that names, labels and their like have to have; each rule says what is expected.
//!
//! Mirrors `k8s.io/apimachinery/pkg/util/validation`.

/// Passed, or what is expected.
pub(super) type Rule = Result<(), &'static str>;

fn ensure(good: bool, words: &'static str) -> Rule {
    if good { Ok(()) } else { Err(words) }
}

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn framed(text: &str, outer: fn(u8) -> bool, inner: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => outer(*first) && outer(*last) && bytes.iter().all(|byte| inner(*byte)),
        _ => false,
    }
}

/// A DNS label of RFC 1123.
pub(super) fn dns_label(text: &str) -> Rule {
    let good = text.len() <= 63 && framed(text, lower, |byte| lower(byte) || byte == b'-');
    ensure(good, "must be at most 63 of a-z, 0-9 and `-`, and neither begin nor end with `-`")
}

/// A DNS subdomain of RFC 1123.
pub(super) fn dns_subdomain(text: &str) -> Rule {
    let good = text.len() <= 253 && text.split('.').all(|part| framed(part, lower, |byte| lower(byte) || byte == b'-'));
    ensure(
        good,
        "must be a DNS name: at most 253 of a-z, 0-9, `-` and `.`, each part beginning and ending with a letter or digit",
    )
}

/// The same, with underscores.
pub(super) fn dns_subdomain_with_underscores(text: &str) -> Rule {
    let outer = |byte: u8| lower(byte) || byte == b'_';
    let good = text.len() <= 253
        && text.split('.').all(|part| framed(part, outer, |byte| lower(byte) || matches!(byte, b'-' | b'_')));
    ensure(good, "must be a DNS name: at most 253 of a-z, 0-9, `-`, `_` and `.`")
}

fn qualified_part(text: &str) -> bool {
    text.len() <= 63
        && framed(text, |b| b.is_ascii_alphanumeric(), |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// The key of a label or annotation: a name, with a DNS name and `/` before it or not.
pub(super) fn qualified_name(text: &str) -> Rule {
    let good = match text.split_once('/') {
        None => qualified_part(text),
        Some((prefix, name)) => dns_subdomain(prefix).is_ok() && !name.contains('/') && qualified_part(name),
    };
    ensure(
        good,
        "must be at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit; a DNS name and `/` may stand before it",
    )
}

/// The value of a label.
pub(super) fn label_value(text: &str) -> Rule {
    let good = text.is_empty() || qualified_part(text);
    ensure(
        good,
        "must be empty, or at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit",
    )
}

/// The name of a port.
pub(super) fn port_name(text: &str) -> Rule {
    let good = (1..=15).contains(&text.len())
        && text.bytes().all(|byte| lower(byte) || byte == b'-')
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
        && !text.contains("--")
        && !text.starts_with('-')
        && !text.ends_with('-');
    ensure(good, "must be at most 15 of a-z, 0-9 and single `-` inside, with a letter among them")
}

/// The number of a port.
pub(super) fn port_number(number: i64) -> Rule {
    ensure((1..=65535).contains(&number), "must be from 1 to 65535")
}

/// The name of an environment variable as it has been since 1.34 at the latest: printable ASCII, no `=`.
pub(super) fn env_name(text: &str) -> Rule {
    ensure(
        !text.is_empty() && text.bytes().all(|byte| (0x20..=0x7e).contains(&byte) && byte != b'='),
        "must be printable ASCII without `=`",
    )
}

/// The key of a ConfigMap or Secret.
pub(super) fn config_key(text: &str) -> Rule {
    let good = (1..=253).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && text != "."
        && !text.starts_with("..");
    ensure(good, "must be at most 253 letters, digits, `-`, `_` and `.`, and not begin with `..`")
}

/// The name of an HTTP header.
pub(super) fn header_name(text: &str) -> Rule {
    let good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    ensure(good, "must be letters, digits and `-`")
}

/// A path below a folder: relative, and without `..` as a part of it.
pub(super) fn descending_path(text: &str) -> Rule {
    ensure(!text.starts_with('/'), "must be a relative path")?;
    no_backsteps(text)
}

/// A path without `..` as a part of it.
pub(super) fn no_backsteps(text: &str) -> Rule {
    ensure(!text.split('/').any(|part| part == ".."), "must not contain `..`")
}

/// A path below a folder whose first part does not begin with `..` either.
pub(super) fn local_path(text: &str) -> Rule {
    descending_path(text)?;
    ensure(!text.starts_with("..") || text.starts_with("../"), "must not begin with `..`")
}

/// A user's or group's number.
pub(super) fn id(number: i64) -> Rule {
    ensure((0..=2_147_483_647).contains(&number), "must be from 0 to 2147483647")
}

/// The name of a kernel setting.
pub(super) fn sysctl(text: &str) -> Rule {
    let inner = |byte: u8| lower(byte) || matches!(byte, b'-' | b'_');
    let good = text.len() <= 253 && text.split(['.', '/']).all(|part| framed(part, lower, inner));
    ensure(good, "must be a name like `net.core.somaxconn`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_tell_good_from_bad() {
        type Case = (fn(&str) -> Rule, &'static [&'static str], &'static [&'static str]);
        let cases: &[Case] = &[
            (dns_label, &["a", "0-a"], &["", "-a", "A", "a.b", "a_b"]),
            (dns_subdomain, &["a.b-c.0"], &["", "a..b", ".a", "a.", "A.b"]),
            (qualified_name, &["a", "A_b.c", "x.io/Name"], &["", "/a", "a/", "a/b/c", "X.io/a", "_a"]),
            (label_value, &["", "a", "A_b.c"], &["-a", "a b", "a/b", "ü"]),
            (port_name, &["http", "8080-tcp"], &["", "HTTP", "8080", "a--b", "-a", "a-", "sixteen-letters-"]),
            (env_name, &["A", "a-b.c", "1A", "a b"], &["", "A=B", "ü"]),
            (config_key, &["a.b", ".a"], &["", ".", "..", "..a", "a/b"]),
            (local_path, &["a/b", "a..b"], &["/a", "a/../b", "..a", ".."]),
            (sysctl, &["net.core.somaxconn", "net/ipv4/conf/eth0.1/x"], &["", "A.b", "a..b", "a."]),
        ];
        for (rule, good, bad) in cases {
            for text in *good {
                assert_eq!(rule(text), Ok(()), "{text}");
            }
            for text in *bad {
                assert!(rule(text).is_err(), "{text}");
            }
        }
        assert!(port_number(0).is_err() && port_number(65536).is_err() && port_number(1).is_ok());
    }
}
