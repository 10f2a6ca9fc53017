//! A clone that somebody works in: what it is a clone of, and how its `HEAD` stands to what has been pushed.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{Oid, Reference};

use super::mirror::Mirror;
use super::source::{Source, SourceConfig, Transport};
use crate::model::CommitId;

/// The `HEAD` of a clone, and the branch of its remote that it is held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneHead {
    /// The commit of `HEAD`.
    pub commit: CommitId,
    /// The remote's branch as the clone last saw it (`origin/main`), and its commit; none where there is none.
    pub upstream: Option<(String, CommitId)>,
    /// Whether that branch has the commit of `HEAD`.
    pub pushed: bool,
}

impl CloneHead {
    /// The commit that can be rolled out: that of `HEAD` where it has been pushed, else the remote's.
    pub fn awaited(&self) -> Option<&CommitId> {
        if self.pushed { Some(&self.commit) } else { self.upstream.as_ref().map(|(_, commit)| commit) }
    }
}

/// A repository's place, however its address is spelled.
#[derive(PartialEq, Eq)]
enum Place {
    Folder(PathBuf),
    Host(String),
}

impl Mirror {
    /// Whether this is the repository of that address, or a clone of it: one of its remotes names it.
    pub fn is_clone_of(&self, config: &SourceConfig) -> bool {
        let Ok(wanted) = Source::parse(config) else { return false };
        let wanted = place(&wanted);
        let own = [Some(self.repo.commondir()), self.repo.workdir()].into_iter().flatten();
        own.map(|folder| Place::Folder(real(folder))).any(|own| own == wanted)
            || self.remotes().iter().flat_map(|remote| self.addresses(remote)).any(|place| place == wanted)
    }

    /// Where `HEAD` stands; none before the first commit.
    ///
    /// It is held against `branch` of the remote where one is named, else against the branch that it tracks, else the
    /// one of its name, else the one that the remote's `HEAD` names, else any that has it. Of several remotes the one
    /// that is the repository `of` counts first.
    pub fn clone_head(&self, branch: Option<&str>, of: Option<&SourceConfig>) -> Option<CloneHead> {
        let head = self.repo.head().ok()?;
        let commit = head.peel_to_commit().ok()?.id();
        let remotes = self.remotes_first(of);
        let upstream = self.upstream(&head, commit, branch, &remotes);
        let pushed = upstream.as_ref().is_some_and(|(_, tip)| self.has(*tip, commit));
        Some(CloneHead {
            commit: CommitId(commit.to_string()),
            upstream: upstream.map(|(name, tip)| (name, CommitId(tip.to_string()))),
            pushed,
        })
    }

    /// Whether a commit is another one or a descendant of it; none where one of them is not here.
    pub fn contains(&self, tip: &CommitId, commit: &CommitId) -> Option<bool> {
        let (tip, commit) = (self.known_commit(tip).ok()?, self.known_commit(commit).ok()?);
        Some(self.has(tip, commit))
    }

    fn has(&self, tip: Oid, commit: Oid) -> bool {
        tip == commit || self.repo.graph_descendant_of(tip, commit).unwrap_or(false)
    }

    fn upstream(
        &self,
        head: &Reference<'_>,
        commit: Oid,
        branch: Option<&str>,
        remotes: &[String],
    ) -> Option<(String, Oid)> {
        let named = |name: &str| {
            let there = remotes.iter().find_map(|remote| self.tracked(&format!("refs/remotes/{remote}/{name}")));
            there.map(|(_, tip)| tip).map(|tip| (name.to_owned(), tip))
        };
        if let Some(branch) = branch {
            let found = named(branch);
            return found.map(|(name, tip)| (format!("{}/{name}", remotes.first().map_or("", |it| it)), tip));
        }
        let own = head.name().ok().filter(|_| head.is_branch()).map(str::to_owned);
        if let Some(own) = &own {
            let configured = self.repo.branch_upstream_name(own).ok();
            let configured =
                configured.as_ref().and_then(|name| name.as_str().ok()).and_then(|name| self.tracked(name));
            let short = own.strip_prefix("refs/heads/").unwrap_or(own);
            let same_name =
                || remotes.iter().find_map(|remote| self.tracked(&format!("refs/remotes/{remote}/{short}")));
            if let Some(found) = configured.or_else(same_name) {
                return Some(found);
            }
        }
        let heads: Vec<_> =
            remotes.iter().filter_map(|remote| self.tracked(&format!("refs/remotes/{remote}/HEAD"))).collect();
        if let Some(found) = heads.iter().find(|(_, tip)| self.has(*tip, commit)) {
            return Some(found.clone());
        }
        let all = self.repo.references_glob("refs/remotes/*").ok()?.flatten();
        let mut all: Vec<_> = all.filter_map(|found| self.tracked(found.name().ok()?)).collect();
        all.sort();
        let with_it = all.into_iter().find(|(_, tip)| self.has(*tip, commit));
        // Of a checkout that is on no branch nobody can say which one it belongs to.
        with_it.or_else(|| heads.into_iter().next().filter(|_| own.is_some()))
    }

    /// A reference as people write it, and its commit.
    fn tracked(&self, name: &str) -> Option<(String, Oid)> {
        let commit = self.repo.find_reference(name).and_then(|found| found.peel_to_commit()).ok()?.id();
        let short = name.strip_prefix("refs/remotes/").or_else(|| name.strip_prefix("refs/heads/")).unwrap_or(name);
        Some((short.to_owned(), commit))
    }

    fn remotes(&self) -> Vec<String> {
        let names = self.repo.remotes();
        names.iter().flat_map(|names| names.iter()).flatten().flatten().map(str::to_owned).collect()
    }

    /// The remotes, the most likely one first.
    fn remotes_first(&self, of: Option<&SourceConfig>) -> Vec<String> {
        let wanted = of.and_then(|config| Source::parse(config).ok()).map(|source| place(&source));
        let mut remotes = self.remotes();
        let is_it = |remote: &String| {
            wanted.as_ref().is_some_and(|wanted| self.addresses(remote).iter().any(|place| place == wanted))
        };
        remotes.sort_by_cached_key(|remote| (!is_it(remote), remote != "origin"));
        remotes
    }

    /// From where a remote is fetched, and to where it is pushed.
    fn addresses(&self, remote: &str) -> Vec<Place> {
        let Ok(remote) = self.repo.find_remote(remote) else { return Vec::new() };
        let urls = [remote.url().ok(), remote.pushurl().ok().flatten()];
        let parsed = urls.into_iter().flatten().filter_map(|url| {
            let config = SourceConfig { url: url.to_owned(), ..SourceConfig::default() };
            let source = Source::parse(&config).ok()?;
            // Git takes a relative one as seen from the work tree.
            Some(match (&source.transport, self.repo.workdir()) {
                (Transport::Local(_), Some(root)) if !url.contains("://") => Place::Folder(real(&root.join(url))),
                _ => place(&source),
            })
        });
        parsed.collect()
    }
}

/// Host and path: users, schemes, ports and endings do not tell repositories of one host apart.
fn place(source: &Source) -> Place {
    if let Transport::Local(path) = &source.transport {
        return Place::Folder(real(path));
    }
    let (scheme, rest) = source.shown.split_once("://").unwrap_or(("", &source.shown));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let (host, path) = rest.find(['/', ':']).map_or((rest, ""), |at| rest.split_at(at));
    let path = path.trim_start_matches(':');
    // `host:path` has no port, and a path may begin with digits.
    let path = if scheme.is_empty() { path } else { path.trim_start_matches(|letter: char| letter.is_ascii_digit()) };
    let path = path.trim_matches('/').trim_end_matches(".git").trim_end_matches('/');
    Place::Host(format!("{}/{path}", host.to_ascii_lowercase()))
}

/// A folder by its real name; a bare repository and the one in a work tree's `.git` are the folder itself.
fn real(path: &Path) -> PathBuf {
    let with_ending = || {
        let mut name = path.as_os_str().to_owned();
        name.push(".git");
        fs::canonicalize(name).ok()
    };
    let path = fs::canonicalize(path).ok().or_else(with_ending).unwrap_or_else(|| path.to_owned());
    match path.file_name() {
        Some(name) if name == ".git" => path.parent().map_or(path.clone(), Path::to_owned),
        _ => path,
    }
}
