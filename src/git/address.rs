//! A repository's address as somebody gave it: it can be used, and is printed only without what it lets in with.

use std::fmt;

use super::error::clean;

/// Longest user name that is shown; tokens are longer.
const MOST_USER: usize = 20;
/// The most characters of an address that a message repeats.
const MOST_SHOWN: usize = 200;

/// An address that may hold a password or a token.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it holds something that must not be shown: a password, a token, a query.
    pub fn holds_secret(&self) -> bool {
        redacted(&self.0) != self.0
    }

    /// All of it, for whoever uses it and shows it to nobody.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Address {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&shown(&self.0), f)
    }
}

/// An address, or what somebody took for one, as it may be printed.
pub fn shown(address: &str) -> String {
    clean(&redacted(address), MOST_SHOWN)
}

/// The address without passwords, tokens and queries; of a malformed one rather too little is kept than too much.
fn redacted(address: &str) -> String {
    let head = address.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = split_scheme(head);
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let is_path = scheme.is_empty() && head.starts_with(['/', '.', '~']) || scheme.starts_with("file:");
    let (user, place) = match (authority.rsplit_once('@'), path.contains('@')) {
        (Some(_), false) => rest.rsplit_once('@').unwrap_or(("", rest)),
        (None, false) => return head.to_owned(),
        // An at sign in a path hides nothing, unless a password with a slash in it stands before.
        (None, true) if !rest.split('@').next().unwrap_or_default().contains(':') => return head.to_owned(),
        (Some((user, host)), true) if !user.contains(':') && !host.contains(':') => {
            return format!("{scheme}{}{host}{path}", shown_user(&scheme, user));
        }
        (_, true) => rest.rsplit_once('@').unwrap_or(("", rest)),
    };
    if is_path && !user.contains(':') {
        return head.to_owned();
    }
    format!("{scheme}{}{place}", shown_user(&scheme, user))
}

/// A user name, where it is one: `git@`, which is part of what ssh is told.
fn shown_user(scheme: &str, user: &str) -> String {
    let ssh = scheme.is_empty() || scheme.eq_ignore_ascii_case("ssh://");
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+~".contains(letter);
    if ssh && user.len() <= MOST_USER && user.chars().all(plain) { format!("{user}@") } else { String::new() }
}

/// The scheme with its slashes, however many there are, and the rest.
fn split_scheme(text: &str) -> (String, &str) {
    let letters = text.find(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter));
    let at = letters.filter(|at| *at > 0 && text[*at..].starts_with(":/")).map_or(0, |at| at + 1);
    let rest = text[at..].trim_start_matches('/');
    let slashes = text.len() - at - rest.len();
    // A path of this machine begins with one.
    if at == 0 && slashes < 2 { (String::new(), text) } else { (text[..at + slashes].to_owned(), rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lets_in_is_never_printed() {
        for (given, printed) in [
            ("https://t0ken@h/x.git", "https://h/x.git"),
            ("https://ann:t0ken@h:8443/x.git", "https://h:8443/x.git"),
            ("https://h/x.git?private_token=t0ken", "https://h/x.git"),
            ("https://h/x.git#t0ken", "https://h/x.git"),
            ("http:/ann:t0ken@h/x", "http:/h/x"),
            ("https:///ann:t0ken@h/x", "https:///h/x"),
            ("//ann:t0ken@h/x", "//h/x"),
            ("ann:t0ken@h:x.git", "h:x.git"),
            ("ann:t0/ken@h:x.git", "h:x.git"),
            ("https://ann:t0/ken@h/x", "https://h/x"),
            ("https://ann:t0@ken@h/x", "https://h/x"),
            ("ssh://ann:t0ken@h/x", "ssh://h/x"),
            ("HTTPS://t0ken@h/x", "HTTPS://h/x"),
            ("ftp://ann:t0ken@h/x", "ftp://h/x"),
            ("t0ken-of-more-than-twenty-letters@h:x", "h:x"),
        ] {
            let address = Address::from(given);
            assert_eq!(address.to_string(), printed, "{given}");
            assert!(address.holds_secret(), "{given}");
            assert!(!format!("{address:?}").contains("t0"), "{given}");
            assert_eq!(address.reveal(), given);
        }
    }

    #[test]
    fn what_lets_nobody_in_is_printed_as_it_is() {
        for plain in [
            "https://h/x.git",
            "https://h:8443/x",
            "https://h/path@v1",
            "ssh://git@h:22/x",
            "git@h:org/x.git",
            "h:x",
            "/srv/git/deploy.git",
            "/srv/git@home/deploy.git",
            "./deploy@v1",
            "file:///srv/git@home/x",
            "",
        ] {
            assert_eq!(Address::from(plain).to_string(), plain);
            assert!(!Address::from(plain).holds_secret(), "{plain}");
        }
        assert_eq!(Address::from("https://h/a\x1b[2J").to_string(), "https://h/a [2J");
    }
}
