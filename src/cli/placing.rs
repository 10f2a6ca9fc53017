//! In which namespace manifests are that state none.
//!
//! The daemon decides it, and says so in its report. Where there is none, what it has rolled out tells: a command that
//! took its own namespace for the daemon's would call a healthy set orphaned, and show another one that nobody made.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::error::CliError;
use super::heard::Daemons;
use super::session::Session;
use crate::daemon::Source;
use crate::manifest::Checks;
use crate::model::{CommitId, Observed, RecordState, WorkloadId};

/// The namespace in which whoever rolls a commit out puts manifests that state none.
pub(crate) fn settle(session: &Session, source: &mut Source, commit: &CommitId) -> Result<String, CliError> {
    let taken = source.default_namespace().to_owned();
    let contents = source.contents(commit, Checks::Rollout)?;
    let sets = contents.bound.workloads.iter().filter_map(|(workload, set)| Some((workload, set.as_ref().ok()?)));
    let unstated: BTreeSet<String> =
        sets.filter(|(_, set)| !set.manifest.namespace_given).map(|(workload, _)| workload.name.clone()).collect();
    if unstated.is_empty() {
        return Ok(taken);
    }
    // Who rolls it out has said so.
    if let Some(namespace) = Daemons::read(session, Timestamp::now()).default_namespace(source) {
        return Ok(namespace);
    }
    let all = session.list(None).or_else(|_| session.list(Some(&taken)))?;
    // Another daemon may look after sets of the same names, out of another repository: it has other commits.
    let is_ours = |commit: &CommitId| source.mirror().contains(commit, commit) == Some(true);
    let managed: Vec<WorkloadId> = all.into_iter().filter_map(|observed| managed(observed, is_ours)).collect();
    Ok(of_those(&unstated, &managed, &taken).unwrap_or(taken))
}

fn managed(observed: Observed, is_ours: impl Fn(&CommitId) -> bool) -> Option<WorkloadId> {
    let RecordState::Is(record, _) = &observed.set.as_ref()?.record else { return None };
    is_ours(&record.target.commit).then_some(observed.workload)
}

/// The namespace in which the sets are that a daemon looks after under those names; none where that is the `default` one,
/// or there are no such sets.
fn of_those(names: &BTreeSet<String>, managed: &[WorkloadId], default: &str) -> Option<String> {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for workload in managed.iter().filter(|workload| names.contains(&workload.name)) {
        *found.entry(&workload.namespace).or_default() += 1;
    }
    if found.contains_key(default) {
        return None;
    }
    let most = found.values().copied().max()?;
    found.into_iter().find(|(_, count)| *count == most).map(|(namespace, _)| namespace.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_been_rolled_out_tells_where_manifests_belong() {
        let names: BTreeSet<String> = ["web", "db", "cache"].map(str::to_owned).into();
        let at = |sets: &[(&str, &str)], default| {
            let sets: Vec<_> = sets.iter().map(|(namespace, name)| WorkloadId::new(*namespace, *name)).collect();
            of_those(&names, &sets, default)
        };
        assert_eq!(at(&[("prod", "web"), ("prod", "db"), ("old", "cache")], "default"), Some("prod".into()));
        assert_eq!(at(&[("prod", "web"), ("default", "db")], "default"), None, "as it is taken");
        assert_eq!(at(&[("prod", "other")], "default"), None, "none of ours");
        assert_eq!(at(&[], "default"), None);
    }
}
