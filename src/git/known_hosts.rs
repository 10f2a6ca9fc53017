//! Looks an SSH server's key up in known_hosts files, hashed host names included.
//!
//! libgit2 reads `~/.ssh/known_hosts` and nothing else, and says only yes or no; a file of its own for the daemon, the
//! system's file, and the difference between an unknown and a changed key need a reader here.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// Largest known_hosts file that is read, in bytes: some ten thousand hosts.
const FILE_LIMIT: u64 = 4 << 20;
/// The port that known_hosts files leave out.
const DEFAULT_PORT: u16 = 22;
/// The block length of SHA-1, in bytes.
const SHA1_BLOCK: usize = 64;

/// What is known of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Known,
    /// With the types of keys that are known of the host.
    Unknown(Vec<String>),
    /// Another key of the same type is known, from this line.
    Changed(PathBuf, usize),
    /// The key is marked as revoked, in this line.
    Revoked(PathBuf, usize),
}

/// The files that are read where none is named.
pub(crate) fn default_files() -> Vec<PathBuf> {
    let home = std::env::home_dir().map(|home| home.join(".ssh/known_hosts"));
    home.into_iter().chain([PathBuf::from("/etc/ssh/ssh_known_hosts")]).collect()
}

/// A host as known_hosts files spell it: with its port only where that is not 22.
pub(crate) fn spelled(host: &str, port: Option<u16>) -> String {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    match port {
        None | Some(DEFAULT_PORT) => host,
        Some(port) => format!("[{host}]:{port}"),
    }
}

/// `SHA256:` and the digest of a key, as `ssh-keygen -l` prints it.
pub(crate) fn fingerprint(key: &[u8]) -> String {
    format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(key)))
}

/// The key's type by its own words; a key on the wire begins with its name.
pub(crate) fn key_type(key: &[u8]) -> Option<&str> {
    let length = u32::from_be_bytes(key.get(..4)?.try_into().ok()?) as usize;
    std::str::from_utf8(key.get(4..length.checked_add(4)?)?).ok()
}

/// Looks a server's key up. As in OpenSSH, a server on another port may also be known by its bare name.
pub(crate) fn look_up(files: &[PathBuf], host: &str, port: Option<u16>, key: &[u8]) -> Verdict {
    let exact = spelled(host, port);
    let bare = spelled(host, None);
    match look_up_name(files, &exact, key) {
        Verdict::Unknown(types) if bare != exact => match look_up_name(files, &bare, key) {
            verdict @ (Verdict::Known | Verdict::Revoked(..)) => verdict,
            Verdict::Unknown(_) | Verdict::Changed(..) => Verdict::Unknown(types),
        },
        verdict => verdict,
    }
}

fn look_up_name(files: &[PathBuf], name: &str, key: &[u8]) -> Verdict {
    let kind = key_type(key).unwrap_or_default();
    let (mut known, mut changed, mut types) = (false, None, Vec::new());
    for file in files {
        let text = read(file);
        for (line, number) in text.lines().zip(1..) {
            let Some(entry) = Entry::parse(line) else { continue };
            if !entry.matches(name) {
                continue;
            }
            match entry.marker {
                Some("@revoked") if entry.key == key => return Verdict::Revoked(file.clone(), number),
                Some(_) => {}
                None if entry.key == key => known = true,
                None if entry.kind == kind => changed = changed.or(Some((file.clone(), number))),
                None => types.push(entry.kind.to_owned()),
            }
        }
    }
    match (known, changed) {
        (true, _) => Verdict::Known,
        (false, Some((file, line))) => Verdict::Changed(file, line),
        (false, None) => Verdict::Unknown(types),
    }
}

/// The file's text; a file that is not there knows nobody.
fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(FILE_LIMIT).read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

struct Entry<'a> {
    marker: Option<&'a str>,
    hosts: &'a str,
    kind: &'a str,
    key: Vec<u8>,
}

impl<'a> Entry<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().filter(|word| !word.starts_with('#'))?;
        let (marker, hosts) = if first.starts_with('@') { (Some(first), words.next()?) } else { (None, first) };
        let kind = words.next()?;
        let key = STANDARD.decode(words.next()?).ok()?;
        Some(Self { marker, hosts, kind, key })
    }

    fn matches(&self, name: &str) -> bool {
        if let Some(hashed) = self.hosts.strip_prefix("|1|") {
            return matches_hash(hashed, name);
        }
        let mut found = false;
        for pattern in self.hosts.split(',') {
            match pattern.strip_prefix('!') {
                Some(not) if matches_glob(not.to_ascii_lowercase().as_bytes(), name.as_bytes()) => return false,
                Some(_) => {}
                None => found |= matches_glob(pattern.to_ascii_lowercase().as_bytes(), name.as_bytes()),
            }
        }
        found
    }
}

/// `salt|hash`, both base64: the hash is HMAC-SHA1 of the name under the salt.
fn matches_hash(hashed: &str, name: &str) -> bool {
    let Some((salt, hash)) = hashed.split_once('|') else { return false };
    match (STANDARD.decode(salt), STANDARD.decode(hash)) {
        (Ok(salt), Ok(hash)) => salt.len() <= SHA1_BLOCK && hmac_sha1(&salt, name.as_bytes())[..] == hash[..],
        _ => false,
    }
}

/// HMAC (RFC 2104) with a key of at most one block.
fn hmac_sha1(key: &[u8], message: &[u8]) -> [u8; 20] {
    let padded = |pad: u8| -> [u8; SHA1_BLOCK] { std::array::from_fn(|at| key.get(at).copied().unwrap_or(0) ^ pad) };
    let inner = Sha1::new().chain_update(padded(0x36)).chain_update(message).finalize();
    Sha1::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

/// `*` and `?` as in known_hosts files, in linear space and without backtracking over more than one star.
fn matches_glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(&c) if c == b'?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((after, at)) => {
                    star = Some((after, at + 1));
                    p = after;
                    n = at + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ed25519 key on the wire: its type's name, then 32 bytes.
    const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIGZvb2JhcmZvb2JhcmZvb2JhcmZvb2JhcmZvb2Jhcjk5";

    fn verdict(text: &str, host: &str, port: Option<u16>) -> Verdict {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        match look_up(&[file.path().to_owned()], host, port, &STANDARD.decode(KEY).unwrap()) {
            Verdict::Changed(_, line) => Verdict::Changed(PathBuf::new(), line),
            Verdict::Revoked(_, line) => Verdict::Revoked(PathBuf::new(), line),
            other => other,
        }
    }

    #[test]
    fn a_key_is_known_by_name_pattern_or_hash() {
        for hosts in ["web.example.org", "a,web.example.org", "*.example.org", "web.EXAMPLE.org", "w?b.*"] {
            assert_eq!(verdict(&format!("{hosts} ssh-ed25519 {KEY} note\n"), "Web.example.org", None), Verdict::Known);
        }
        let salt = b"01234567890123456789";
        let hash = hmac_sha1(salt, b"web.example.org");
        let line = format!("|1|{}|{} ssh-ed25519 {KEY}", STANDARD.encode(salt), STANDARD.encode(hash));
        assert_eq!(verdict(&line, "web.example.org", Some(22)), Verdict::Known);
        assert_eq!(verdict(&line, "web.example.com", None), Verdict::Unknown(vec![]));
    }

    #[test]
    fn an_hmac_equals_the_one_of_rfc_2202() {
        let digest = hmac_sha1(b"Jefe", b"what do ya want for nothing?");
        let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    }

    #[test]
    fn a_port_is_part_of_the_name_but_the_bare_name_does_too() {
        let line = format!("[h]:2222 ssh-ed25519 {KEY}\n");
        assert_eq!(verdict(&line, "h", Some(2222)), Verdict::Known);
        assert_eq!(verdict(&line, "h", None), Verdict::Unknown(vec![]));
        assert_eq!(verdict(&format!("h ssh-ed25519 {KEY}\n"), "h", Some(2222)), Verdict::Known);
    }

    #[test]
    fn another_key_is_a_change_only_where_its_type_is_the_same() {
        let other = KEY.replacen("b2Jh", "b2Jx", 1);
        assert_eq!(
            verdict(&format!("# note\nh ssh-ed25519 {other}\n"), "h", None),
            Verdict::Changed(PathBuf::new(), 2)
        );
        assert_eq!(verdict(&format!("h ssh-rsa {other}\n"), "h", None), Verdict::Unknown(vec!["ssh-rsa".into()]));
        let both = format!("h ssh-ed25519 {other}\nh ssh-ed25519 {KEY}\n");
        assert_eq!(verdict(&both, "h", None), Verdict::Known);
    }

    #[test]
    fn revoked_negated_and_broken_lines() {
        let revoked = format!("h ssh-ed25519 {KEY}\n@revoked * ssh-ed25519 {KEY}\n");
        assert_eq!(verdict(&revoked, "h", None), Verdict::Revoked(PathBuf::new(), 2));
        assert_eq!(verdict(&format!("*,!h ssh-ed25519 {KEY}\n"), "h", None), Verdict::Unknown(vec![]));
        assert_eq!(verdict(&format!("@cert-authority h ssh-ed25519 {KEY}\n"), "h", None), Verdict::Unknown(vec![]));
        assert_eq!(verdict("h\nh ssh-ed25519 ***\n|1|x\n\n\u{0}", "h", None), Verdict::Unknown(vec![]));
    }

    #[test]
    fn a_star_does_not_blow_up() {
        let pattern = "*a".repeat(500);
        assert!(!matches_glob(pattern.as_bytes(), "a".repeat(400).as_bytes()));
        assert!(matches_glob(b"*.b*", b"a.b.b"));
    }
}
