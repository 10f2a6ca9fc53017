//! Finds the commit that a person means.

use git2::{ErrorCode, ObjectType, Oid};

use super::error::{GitError, clean};
use super::mirror::Mirror;
use crate::model::CommitId;

/// Longest name, in bytes: Git's own limit for references is 1,024.
const NAME_LIMIT: usize = 1024;
/// Fewest digits that stand for an id, as in Git.
const MIN_DIGITS: usize = 4;
/// Most steps behind a name (`~1000000` walks that many commits).
const MAX_STEPS: u32 = 1_000_000;

/// `HEAD`, a branch, a tag, an id or its beginning, then any number of `~N` and `^N`.
pub(crate) fn resolve(mirror: &Mirror, rev: &str) -> Result<CommitId, GitError> {
    let unknown = || GitError::UnknownRevision { rev: clean(rev, 100) };
    if rev.len() > NAME_LIMIT || rev.chars().any(char::is_control) {
        return Err(unknown());
    }
    let split = rev.find(['~', '^']).unwrap_or(rev.len());
    let (name, steps) = rev.split_at(split);
    let found = if mirror.in_place { named_in_place(mirror, name)? } else { named(mirror, name)? };
    let mut at = found.ok_or_else(unknown)?;
    let mut rest = steps;
    while let Some(sign) = rest.chars().next() {
        let digits = rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| end + 1);
        let count: u32 = match &rest[1..digits] {
            "" => 1,
            text => text.parse().ok().filter(|count| *count <= MAX_STEPS).ok_or_else(unknown)?,
        };
        rest = &rest[digits..];
        let hops = match (sign, count) {
            ('~', count) => vec![0; count as usize],
            ('^', 0) => Vec::new(),
            ('^', nth) => vec![nth as usize - 1],
            _ => return Err(unknown()),
        };
        for parent in hops {
            at = mirror.raw_commit(at, |commit| commit.parents.get(parent).copied())?.ok_or_else(unknown)?;
        }
    }
    Ok(CommitId(at.to_string()))
}

fn named(mirror: &Mirror, name: &str) -> Result<Option<Oid>, GitError> {
    if name.is_empty() || matches!(name, "HEAD" | "@") {
        let tip = mirror.last_good().ok_or(GitError::NoTip)?;
        return mirror.known_commit(&tip).map(Some);
    }
    let short = name.strip_prefix("origin/").unwrap_or(name);
    for candidate in [
        name.replacen("refs/heads/", "refs/phaseline/", 1),
        format!("refs/phaseline/{name}"),
        format!("refs/phaseline/{short}"),
        format!("refs/tags/{name}"),
    ] {
        if git2::Reference::is_valid_name(&candidate)
            && candidate.starts_with("refs/")
            && let Ok(found) = mirror.repo.find_reference(&candidate).and_then(|found| found.peel_to_commit())
        {
            return Ok(Some(found.id()));
        }
    }
    by_digits(mirror, name)
}

/// As Git itself looks a name up (gitrevisions(7)); `@` is `HEAD`.
fn named_in_place(mirror: &Mirror, name: &str) -> Result<Option<Oid>, GitError> {
    let name = if matches!(name, "" | "@") { "HEAD" } else { name };
    for candidate in [
        name.to_owned(),
        format!("refs/{name}"),
        format!("refs/tags/{name}"),
        format!("refs/heads/{name}"),
        format!("refs/remotes/{name}"),
        format!("refs/remotes/{name}/HEAD"),
    ] {
        if git2::Reference::is_valid_name(&candidate)
            && let Ok(found) = mirror.repo.find_reference(&candidate).and_then(|found| found.peel_to_commit())
        {
            return Ok(Some(found.id()));
        }
    }
    by_digits(mirror, name)
}

fn by_digits(mirror: &Mirror, digits: &str) -> Result<Option<Oid>, GitError> {
    if !(MIN_DIGITS..=40).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let padded = format!("{digits:0<40}");
    let Ok(prefix) = Oid::from_str(&padded) else { return Ok(None) };
    let odb = mirror.odb()?;
    match odb.exists_prefix(prefix, digits.len()) {
        Ok(id) if odb.read_header(id).is_ok_and(|(_, kind)| kind == ObjectType::Commit) => Ok(Some(id)),
        Ok(id) => {
            Ok(mirror.repo.find_tag(id).ok().and_then(|tag| tag.into_object().peel_to_commit().ok()).map(|c| c.id()))
        }
        Err(error) if error.code() == ErrorCode::Ambiguous => {
            Err(GitError::AmbiguousRevision { rev: digits.to_owned() })
        }
        Err(_) => Ok(None),
    }
}
