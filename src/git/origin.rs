//! What a source is called in records: the same for every way of spelling its address, without credentials.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::error::clean;
use super::mirror::{Mirror, TIP};
use super::source::{Source, Transport};
use crate::model::Origin;

/// Bytes of the place's digest: 64 bits.
const PLACE_BYTES: usize = 8;
/// Bytes of the branch's: a repository has few.
const BRANCH_BYTES: usize = 4;

impl Mirror {
    /// The place that is mirrored, as records name it; none before the remote has said which branch its `HEAD` names.
    pub fn origin(&self) -> Option<Origin> {
        let head = self.source.branch.is_none();
        let branch = match (&self.source.branch, self.in_place) {
            (Some(branch), _) => branch.clone(),
            // Read in place, whatever is checked out is meant.
            (None, true) => "HEAD".to_owned(),
            (None, false) => self.remote_head()?,
        };
        let folder = self.path();
        let place = address(&self.source);
        let mut name = place.clone();
        let _ = write!(name, ", branch {branch}");
        if !folder.is_empty() {
            let _ = write!(name, ", path {folder}");
        }
        Some(Origin {
            id: digest(&[&place, &folder], PLACE_BYTES),
            branch: digest(&[&branch], BRANCH_BYTES),
            head,
            name: bounded(&name),
        })
    }

    /// The branch that was fetched last.
    fn remote_head(&self) -> Option<String> {
        let tip = self.repo.find_reference(TIP).ok()?;
        Some(tip.symbolic_target().ok().flatten()?.strip_prefix("refs/phaseline/")?.to_owned())
    }
}

/// Host, port where it is not the scheme's own, and path: what stays the same however the repository is spoken to.
///
/// Users and scheme are no part of it, nor is how the path ends (`.git`, a slash): hosts take either.
fn address(source: &Source) -> String {
    match &source.transport {
        Transport::Local(path) => {
            let text = path.to_string_lossy();
            format!("/{}", path_of(&text, true))
        }
        Transport::Http | Transport::Ssh { .. } => {
            let (scheme, rest) = source.shown.split_once("://").unwrap_or(("", &source.shown));
            // `user@host:path` has no scheme; its path begins behind the colon.
            let (authority, path) = match scheme {
                "" => split_scp(rest),
                _ => rest.find('/').map_or((rest, ""), |at| rest.split_at(at)),
            };
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
            let own = match scheme {
                "http" => ":80",
                "https" => ":443",
                _ => ":22",
            };
            let host = host.strip_suffix(own).unwrap_or(&host);
            format!("{}/{}", host.trim_end_matches('.'), path_of(path, false))
        }
    }
}

fn split_scp(text: &str) -> (&str, &str) {
    let from = text.find(']').unwrap_or(0);
    match text[from..].find(':') {
        Some(at) => (&text[..from + at], &text[from + at + 1..]),
        None => (text, ""),
    }
}

/// A path without what does not tell repositories apart: empty and `.` parts, `..` where it is a folder of this
/// machine, and the ending `.git`.
fn path_of(path: &str, local: bool) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if local => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if parts.len() > 1 && parts.last() == Some(&".git") {
        parts.pop();
    }
    let mut path = parts.join("/");
    if let Some(shorter) = path.strip_suffix(".git").filter(|shorter| !shorter.is_empty() && !shorter.ends_with('/')) {
        path.truncate(shorter.len());
    }
    path
}

fn digest(parts: &[&str], bytes: usize) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    let mut text = String::new();
    for byte in digest.finalize().iter().take(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A name of at most so many bytes that JSON takes as it is: of a longer one the beginning and the end.
fn bounded(name: &str) -> String {
    let name: String = clean(name, usize::MAX).chars().map(|c| if matches!(c, '"' | '\\') { '?' } else { c }).collect();
    if name.len() <= Origin::MAX_NAME_BYTES {
        return name;
    }
    let half = (Origin::MAX_NAME_BYTES - "..".len()) / 2;
    let starts = || name.char_indices().map(|(at, _)| at);
    let head = starts().take_while(|at| *at <= half).last().unwrap_or_default();
    let tail = starts().find(|at| *at >= name.len() - half).unwrap_or(name.len());
    format!("{}..{}", &name[..head], &name[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::SourceConfig;

    fn of(url: &str) -> String {
        address(&Source::parse(&SourceConfig { url: url.into(), ..SourceConfig::default() }).unwrap())
    }

    #[test]
    fn however_it_is_spelled_it_is_one_place() {
        for url in [
            "https://git.example.com/org/deploy",
            "https://git.example.com/org/deploy.git",
            "https://git.example.com/org/deploy.git/",
            "https://ann:secret@Git.Example.com:443/org//deploy",
            "http://git.example.com/org/deploy",
            "http://git.example.com:80/org/deploy.git",
            "ssh://git@git.example.com/org/deploy.git",
            "ssh://git@git.example.com:22/org/deploy",
            "git@git.example.com:org/deploy.git",
            "ann@GIT.example.com:/org/deploy",
        ] {
            assert_eq!(of(url), "git.example.com/org/deploy", "{url}");
        }
        for url in ["/srv/git/deploy", "/srv/git/deploy.git", "/srv//git/./deploy/.git", "file:///srv/x/../git/deploy/"]
        {
            assert_eq!(of(url), "/srv/git/deploy", "{url}");
        }
    }

    #[test]
    fn what_tells_places_apart_stays() {
        let urls = [
            "https://git.example.com/org/deploy",
            "https://git.example.com:8443/org/deploy",
            "https://git.example.org/org/deploy",
            "https://git.example.com/org/Deploy",
            "https://git.example.com/org/deploy-2",
            "https://git.example.com/deploy",
            "https://[2001:db8::1]/org/deploy",
            "/org/deploy",
        ];
        let places: std::collections::BTreeSet<String> = urls.iter().map(|url| of(url)).collect();
        assert_eq!(places.len(), urls.len(), "{places:?}");
    }

    #[test]
    fn a_name_is_bounded_and_holds_nothing_that_json_would_escape() {
        let name = bounded(&format!("git.example.com/{}\"ü\\, branch main", "ü".repeat(300)));
        assert!(name.len() <= Origin::MAX_NAME_BYTES && !name.contains(['"', '\\']), "{name}");
        assert!(name.starts_with("git.example.com/") && name.ends_with(", branch main"), "{name}");
    }
}
