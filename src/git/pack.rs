//! Puts small packs together: every fetch that brings something leaves one, and each more makes every lookup slower.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

/// Packs that may pile up before the small ones are put together: as many as Git's `gc.autoPackLimit`.
const MAX_PACKS: usize = 50;
/// The largest pack that counts as small, in bytes; larger ones stay as they are.
const SMALL: u64 = 32 << 20;
/// Largest index that is read, in bytes: a million objects.
const MAX_INDEX: u64 = 64 << 20;

/// Puts the small packs together where there are too many; keeps every object, named or not: a rollout may still be on one.
///
/// True where packs are gone: whoever has them open holds their files and maps until the repository is opened anew.
pub(crate) fn tidy(repo: &Repository, dir: &Path) -> Result<bool, git2::Error> {
    let folder = dir.join("objects/pack");
    let failed = |error: std::io::Error| git2::Error::from_str(&error.to_string());
    let mut packs = Vec::new();
    for file in fs::read_dir(&folder).map_err(failed)? {
        let path = file.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "pack") {
            packs.push(path);
        }
    }
    if packs.len() <= MAX_PACKS {
        return Ok(false);
    }
    packs.retain(|pack| fs::metadata(pack).is_ok_and(|data| data.len() <= SMALL));
    let mut builder = repo.packbuilder()?;
    let mut gathered: Vec<PathBuf> = Vec::new();
    for pack in packs {
        let Some(ids) = ids_of(&pack.with_extension("idx")) else { continue };
        for id in ids {
            builder.insert_object(id, None)?;
        }
        gathered.push(pack);
    }
    builder.write(&folder, 0o444)?;
    let kept = builder.name()?.map(|name| format!("pack-{name}"));
    for pack in gathered {
        let same = pack.file_stem().and_then(|stem| stem.to_str()) == kept.as_deref();
        if !same && kept.is_some() {
            // The index first: libgit2 finds packs by it.
            fs::remove_file(pack.with_extension("idx")).map_err(failed)?;
            fs::remove_file(&pack).map_err(failed)?;
        }
    }
    Ok(true)
}

/// The ids in a pack's index of version 2: a header of 8 bytes, 256 counts of 4, then the ids in order.
fn ids_of(index: &Path) -> Option<Vec<Oid>> {
    if fs::metadata(index).ok()?.len() > MAX_INDEX {
        return None;
    }
    let bytes = fs::read(index).ok()?;
    if bytes.get(..8)? != b"\xfftOc\0\0\0\x02" {
        return None;
    }
    let count = u32::from_be_bytes(bytes.get(1028..1032)?.try_into().ok()?) as usize;
    let ids = bytes.get(1032..1032usize.checked_add(count.checked_mul(20)?)?)?;
    ids.chunks_exact(20).map(|id| Oid::from_bytes(id).ok()).collect()
}
