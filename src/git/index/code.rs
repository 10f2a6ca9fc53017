//! The bytes in which the index is kept. Reading them ends at the first thing that does not fit.

use std::collections::{HashMap, HashSet, VecDeque};

use git2::Oid;

use super::blobs::{Blobs, Known, Reader};
use super::line::{Bottom, Changed, Line, Link, Paths};
use crate::git::files::blob_id;
use crate::model::{TemplateHash, WorkloadId};
use crate::revision::history::BlobId;
use crate::revision::reading::Reading;
use crate::revision::words::Words;

/// First bytes of the line's file; the number is that of its form and of the rules by which commits are compared.
const LINE: &[u8] = b"phaseline history 1\n";
/// First bytes of the file of readings; the number is that of its form and of the words' filter.
const BLOBS: &[u8] = b"phaseline readings 1\n";
/// Stands for a commit that was not compared.
const OPEN: u32 = u32::MAX;
/// Blobs that no commit of the line names and that are kept all the same, for every one that it does name.
const SPARE: usize = 1;

/// The line as it is kept; `path` is the folder inside the repository that it is about.
pub(super) fn line_bytes(line: &Line, path: &str) -> Vec<u8> {
    let mut out = Out(LINE.to_vec());
    out.text(path);
    match line.bottom {
        Bottom::Root => out.byte(0),
        Bottom::Open => out.byte(1),
        Bottom::CutOff(commit) => {
            out.byte(2);
            out.id(&blob_id(commit).0);
        }
    }
    // Only the paths that are still named.
    let (mut numbers, mut names) = (HashMap::new(), Vec::new());
    let changes = || line.links.iter().flat_map(|link| link.changes.as_deref().unwrap_or_default());
    for change in changes() {
        numbers.entry(change.path).or_insert_with(|| {
            names.push(line.paths.names.get(change.path as usize).map_or("", AsRef::as_ref));
            names.len() as u32 - 1
        });
    }
    out.number(names.len());
    names.into_iter().for_each(|name| out.text(name));
    out.number(line.links.len());
    for link in &line.links {
        out.id(&blob_id(link.commit).0);
        out.id(&blob_id(link.tree).0);
        let Some(changes) = &link.changes else {
            out.number(OPEN as usize);
            continue;
        };
        out.number(changes.len());
        for change in changes {
            out.number(numbers.get(&change.path).copied().unwrap_or_default() as usize);
            out.byte(u8::from(change.old.is_some()) | u8::from(change.new.is_some()) << 1);
            change.old.iter().chain(&change.new).for_each(|blob| out.id(&blob.0));
        }
    }
    out.0
}

/// The line that was kept; none where the bytes are of another form, or about another folder.
pub(super) fn line(bytes: &[u8], path: &str) -> Option<Line> {
    let mut from = In(bytes.strip_prefix(LINE)?);
    if from.text()? != path {
        return None;
    }
    let bottom = match from.byte()? {
        0 => Bottom::Root,
        1 => Bottom::Open,
        2 => Bottom::CutOff(from.oid()?),
        _ => return None,
    };
    let mut paths = Paths::default();
    let count = from.count(4)?;
    for number in 0..count {
        if paths.number(from.text()?) as usize != number {
            return None;
        }
    }
    let mut links = VecDeque::new();
    for _ in 0..from.count(44)? {
        let (commit, tree) = (from.oid()?, from.oid()?);
        let changes = match from.number()? {
            OPEN => None,
            changes => Some((0..changes).map(|_| changed(&mut from, count)).collect::<Option<Box<[_]>>>()?),
        };
        links.push_back(Link { commit, tree, changes });
    }
    from.0.is_empty().then_some(Line { links, bottom, paths, changed: false })
}

fn changed(from: &mut In<'_>, paths: usize) -> Option<Changed> {
    let path = from.number().filter(|path| (*path as usize) < paths)?;
    let sides = from.byte()?;
    let mut side = |bit: u8| if sides & bit == 0 { Some(None) } else { from.id().map(|id| Some(BlobId(id))) };
    Some(Changed { path, old: side(1)?, new: side(2)? })
}

/// What is known of blobs, as it is kept. Where much is known of blobs that the line does not name, that is left out.
pub(super) fn blobs_bytes(blobs: &Blobs, line: &Line) -> Vec<u8> {
    let changes = line.links.iter().flat_map(|link| link.changes.as_deref().unwrap_or_default());
    let named: HashSet<BlobId> = changes.flat_map(|change| change.old.into_iter().chain(change.new)).collect();
    let crowded = blobs.known.len() > named.len() * (1 + SPARE) + 1_000;
    let mut kept: Vec<_> = blobs.known.iter().filter(|(blob, _)| !crowded || named.contains(blob)).collect();
    kept.sort_by_key(|(blob, _)| **blob);
    let mut out = Out(BLOBS.to_vec());
    out.text(&blobs.reader.version);
    out.number(kept.len());
    for (blob, known) in kept {
        out.id(&blob.0);
        match known {
            Known::Words(words) => {
                out.byte(0);
                out.slice(words.bytes());
            }
            Known::Read(reading, _) => {
                out.byte(1 | u8::from(reading.unreadable) << 1);
                out.number(reading.templates.len());
                for (workload, hash) in &reading.templates {
                    out.workload(workload);
                    out.text(&hash.0);
                }
                out.number(reading.broken.len());
                reading.broken.iter().for_each(|workload| out.workload(workload));
            }
        }
    }
    out.0
}

/// What was known of blobs; none where the bytes are of another form, or another reader's.
pub(super) fn blobs(bytes: &[u8], reader: &Reader) -> Option<HashMap<BlobId, Known>> {
    let mut from = In(bytes.strip_prefix(BLOBS)?);
    if from.text()? != reader.version {
        return None;
    }
    let count = from.count(25)?;
    let mut known = HashMap::with_capacity(count);
    for _ in 0..count {
        let blob = BlobId(from.id()?);
        let value = match from.byte()? {
            0 => Known::Words(Words::from_bytes(from.slice()?)?),
            kind @ (1 | 3) => {
                let template = |from: &mut In<'_>| Some((from.workload()?, TemplateHash(from.text()?.to_owned())));
                let templates = (0..from.count(12)?).map(|_| template(&mut from)).collect::<Option<_>>()?;
                let broken = (0..from.count(8)?).map(|_| from.workload()).collect::<Option<_>>()?;
                reader.known(Reading { templates, broken, unreadable: kind == 3 })
            }
            _ => return None,
        };
        known.insert(blob, value);
    }
    from.0.is_empty().then_some(known)
}

/// Bytes that are written. Lengths are below 2^32: contents are far smaller.
struct Out(Vec<u8>);

impl Out {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, number: usize) {
        self.0.extend_from_slice(&(number as u32).to_le_bytes());
    }

    fn id(&mut self, id: &[u8; 20]) {
        self.0.extend_from_slice(id);
    }

    fn slice(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.slice(text.as_bytes());
    }

    fn workload(&mut self, workload: &WorkloadId) {
        self.text(&workload.namespace);
        self.text(&workload.name);
    }
}

/// Bytes that are read, from the front.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// A number of things of which each takes at least so many bytes: never more than there can be.
    fn count(&mut self, least: usize) -> Option<usize> {
        let count = self.number()? as usize;
        (count <= self.0.len() / least).then_some(count)
    }

    fn id(&mut self) -> Option<[u8; 20]> {
        self.take(20)?.try_into().ok()
    }

    fn oid(&mut self) -> Option<Oid> {
        Oid::from_bytes(&self.id()?).ok()
    }

    fn slice(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        self.take(length)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.slice()?).ok()
    }

    fn workload(&mut self) -> Option<WorkloadId> {
        Some(WorkloadId::new(self.text()?, self.text()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader() -> Reader {
        Reader { version: "test 1".into(), namespace: "ns".into(), read: |_| Reading::default() }
    }

    fn blob(byte: u8) -> BlobId {
        BlobId([byte; 20])
    }

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes(&[byte; 20]).unwrap()
    }

    fn a_line() -> Line {
        let mut line = Line { bottom: Bottom::CutOff(oid(9)), ..Line::default() };
        for number in 0..6 {
            let changes = (0..number % 3).map(|change| Changed {
                path: line.paths.number(&format!("{change}/web.yaml")),
                old: (number > 2).then(|| blob(number)),
                new: (number < 5).then(|| blob(number + 50)),
            });
            let changes = (number != 4).then(|| changes.collect());
            line.links.push_back(Link { commit: oid(number), tree: oid(number + 100), changes });
        }
        line
    }

    fn some_blobs() -> Blobs {
        let mut blobs = Blobs { reader: reader(), known: HashMap::new(), changed: false };
        let reading = Reading {
            templates: vec![(WorkloadId::new("", "web"), TemplateHash("ab".into()))],
            broken: vec![WorkloadId::new("prod", "db")],
            unreadable: true,
        };
        blobs.known.insert(blob(1), blobs.reader.known(reading));
        blobs.known.insert(blob(2), blobs.reader.known(Reading::default()));
        blobs.known.insert(blob(3), Known::Words(Words::of(b"kind: StatefulSet")));
        blobs
    }

    #[test]
    fn what_is_kept_comes_back() {
        let kept = a_line();
        let read = line(&line_bytes(&kept, "prod"), "prod").unwrap();
        assert_eq!((&read.links, read.bottom, &read.paths.names), (&kept.links, kept.bottom, &kept.paths.names));
        assert!(line(&line_bytes(&kept, "prod"), "stage").is_none(), "another folder's");
        let kept = some_blobs();
        let bytes = blobs_bytes(&kept, &a_line());
        assert_eq!(blobs(&bytes, &reader()), Some(kept.known));
        assert_eq!(blobs(&bytes, &Reader { version: "test 2".into(), ..reader() }), None, "another reader's");
        let elsewhere = blobs(&bytes, &Reader { namespace: "other".into(), ..reader() }).unwrap();
        let Known::Read(_, reading) = &elsewhere[&blob(1)] else { panic!("{elsewhere:?}") };
        assert_eq!(reading.templates[0].0, WorkloadId::new("other", "web"));
    }

    #[test]
    fn bytes_that_do_not_fit_are_none() {
        let (lines, readings) = (line_bytes(&a_line(), ""), blobs_bytes(&some_blobs(), &a_line()));
        for length in 0..lines.len() {
            assert!(line(&lines[..length], "").is_none(), "{length}");
        }
        for length in 0..readings.len() {
            assert!(blobs(&readings[..length], &reader()).is_none(), "{length}");
        }
        // A digest guards against flipped bits; without it they must at least do no harm.
        for at in 0..lines.len().max(readings.len()) {
            for bit in [1, 0x80] {
                let flip = |bytes: &[u8]| -> Vec<u8> {
                    bytes.iter().enumerate().map(|(place, byte)| byte ^ if place == at { bit } else { 0 }).collect()
                };
                drop((line(&flip(&lines), ""), blobs(&flip(&readings), &reader())));
            }
        }
    }
}
