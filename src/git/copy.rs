//! Copies what leads to some commits from one object store into another, reading commits as leniently as `git` does.
//!
//! libgit2's own copy between two folders insists on proper authors in every commit; real repositories have others.

use std::collections::HashSet;
use std::path::Path;

use git2::{ObjectType, Odb, Oid, Repository};

use super::object::{Commit, Kind, Tree};

/// Most objects of one copy.
const MAX_OBJECTS: usize = 5_000_000;

/// Copies all that leads to these commits and is not there yet; `goes_on` is told the bytes so far and may end it.
///
/// Parents that the source itself does not have are where its history was cut off.
///
/// # Errors
/// What libgit2 says; an object that is missing or damaged in the source; an end that `goes_on` made.
pub(crate) fn copy(
    from: &Repository,
    into: &Path,
    tips: &[Oid],
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(), git2::Error> {
    let target = Repository::open_bare(into)?;
    let (source, have) = (from.odb()?, target.odb()?);
    let missing = missing(&source, &have, tips, goes_on)?;
    if missing.is_empty() {
        return Ok(());
    }
    let mut builder = from.packbuilder()?;
    for id in missing {
        builder.insert_object(id, None)?;
    }
    builder.write(&into.join("objects/pack"), 0o444)
}

/// The objects that lead to these commits and are not in `have`.
fn missing(
    source: &Odb<'_>,
    have: &Odb<'_>,
    tips: &[Oid],
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Oid>, git2::Error> {
    let (mut seen, mut found, mut bytes) = (HashSet::new(), Vec::new(), 0_u64);
    let mut waiting: Vec<(Oid, ObjectType)> = tips.iter().map(|tip| (*tip, ObjectType::Commit)).collect();
    while let Some((id, kind)) = waiting.pop() {
        if !seen.insert(id) || have.exists(id) {
            continue;
        }
        let (size, is) = source.read_header(id)?;
        if is != kind || seen.len() > MAX_OBJECTS {
            return Err(git2::Error::from_str(&format!("{id} is a {is} and no {kind}, or there are too many objects")));
        }
        bytes = bytes.saturating_add(size as u64);
        if !goes_on(bytes) {
            return Err(git2::Error::from_str("the copy was ended"));
        }
        found.push(id);
        match kind {
            ObjectType::Commit => {
                let object = source.read(id)?;
                let commit = Commit::parse(object.data())
                    .ok_or_else(|| git2::Error::from_str(&format!("the commit {id} names no tree")))?;
                waiting.push((commit.tree, ObjectType::Tree));
                let parents = commit.parents.into_iter().filter(|parent| source.exists(*parent));
                waiting.extend(parents.map(|parent| (parent, ObjectType::Commit)));
            }
            ObjectType::Tree => {
                let tree = Tree::parse(source.read(id)?.data().to_vec());
                let of = |kind| match kind {
                    Kind::Folder => Some(ObjectType::Tree),
                    Kind::File | Kind::Symlink => Some(ObjectType::Blob),
                    Kind::Submodule | Kind::Other => None,
                };
                waiting.extend(tree.entries.iter().filter_map(|entry| Some((entry.id, of(entry.kind)?))));
            }
            _ => {}
        }
    }
    Ok(found)
}
