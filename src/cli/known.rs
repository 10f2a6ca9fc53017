//! What somebody may have meant who names a set that is not there.

use super::error::{CliError, Kind};
use super::output::text;
use super::session::Session;
use crate::manifest::nearest;
use crate::model::WorkloadId;

/// The most names that a hint lists.
const MOST: usize = 5;

/// There is no such set: an error that says which ones there are.
pub(crate) fn no_such_set(session: &Session, workload: &WorkloadId, more: &str) -> CliError {
    // Who may not list all namespaces is told of the one.
    let all = session.list(None).or_else(|_| session.list(Some(&workload.namespace))).unwrap_or_default();
    let sets = all.into_iter().filter(|observed| observed.set.is_some()).map(|observed| observed.workload).collect();
    let message = format!("there is no StatefulSet {} in namespace {}{more}", workload.name, workload.namespace);
    CliError::new(Kind::NotFound, message).hint(did_you_mean(workload, sets))
}

/// The way on from a name that is none, among those that there are.
pub(crate) fn did_you_mean(workload: &WorkloadId, mut known: Vec<WorkloadId>) -> String {
    known.sort();
    known.dedup();
    let shown = |found: &[WorkloadId]| {
        let names: Vec<String> = found.iter().take(MOST).map(|known| text::line(&known.to_string())).collect();
        let more = found.len().saturating_sub(MOST);
        if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
    };
    let elsewhere: Vec<WorkloadId> = known.iter().filter(|known| known.name == workload.name).cloned().collect();
    if !elsewhere.is_empty() {
        return format!("did you mean {}?", shown(&elsewhere));
    }
    let (here, others): (Vec<WorkloadId>, Vec<WorkloadId>) =
        known.iter().cloned().partition(|known| known.namespace == workload.namespace);
    for place in [&here, &others] {
        let names: Vec<&str> = place.iter().map(|known| known.name.as_str()).collect();
        let turned = || names.iter().copied().find(|name| letters(name) == letters(&workload.name));
        if let Some(near) = nearest(&workload.name, &names).or_else(turned) {
            let meant: Vec<WorkloadId> = place.iter().filter(|known| known.name == near).cloned().collect();
            return format!("did you mean {}?", shown(&meant));
        }
    }
    match (here.is_empty(), others.is_empty()) {
        (false, _) => format!("there are {}; name another namespace with -n", shown(&here)),
        (true, false) => format!("there are {}", shown(&others)),
        (true, true) => "name its namespace with -n".to_owned(),
    }
}

/// The letters of a name in order: those of one with two letters the wrong way round are the same.
fn letters(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        let set = |text: &str| {
            let (namespace, name) = text.split_once('/').unwrap();
            WorkloadId::new(namespace, name)
        };
        for (asked, known, said) in [
            ("prod/shop", &["staging/shop", "prod/shop-db"][..], "did you mean staging/shop?"),
            ("prod/shpo", &["prod/shop", "prod/web"], "did you mean prod/shop?"),
            ("prod/shpo", &["staging/shop", "prod/web"], "did you mean staging/shop?"),
            ("prod/x", &["prod/shop", "prod/web"], "there are prod/shop, prod/web; name another namespace with -n"),
            (
                "prod/x",
                &["a/q1", "a/q2", "a/q3", "a/q4", "a/q5", "a/q6"],
                "there are a/q1, a/q2, a/q3, a/q4, a/q5 and 1 more",
            ),
            ("prod/x", &[], "name its namespace with -n"),
        ] {
            assert_eq!(did_you_mean(&set(asked), known.iter().copied().map(set).collect()), said, "{asked}");
        }
    }
}
