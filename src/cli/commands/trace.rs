//! `trace`: from a pod back to the commit, its author, and why the pod is at that revision.

use clap::Args;

use crate::cli::args::{Format, SetName};
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::known;
use crate::cli::output;
use crate::cli::output::trace::Trace;
use crate::cli::repository;
use crate::cli::session::Session;
use crate::cluster::read;
use crate::model::{Ordinal, WorkloadId};

/// The most pods that a hint names.
const MOST_PODS: usize = 10;

/// Says which commit a pod runs, who wrote it, and why the pod is at that revision
///
/// The pod's label names its ControllerRevision, that one's template the commit in the repository's history; the record of
/// the rollout says whether the pod's stage has come. Without --repo the repository around the current folder is read; without any
/// what the cluster knows is shown.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The pod: NAME, pod/NAME or NAMESPACE/NAME
    #[arg(value_name = "POD")]
    pod: String,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = Format::among(&["table", "json", "yaml"]))]
    output: Format,
}

pub(super) fn run(args: &TraceArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let kinds = ["pod/", "pods/", "po/"];
    let without_kind = |text: &'_ str| kinds.iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(text).to_owned();
    let pod = without_kind(&args.pod);
    // As it is printed: with its namespace.
    let (namespace, name) = match pod.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), without_kind(name)),
        None => (None, pod),
    };
    let name = name.as_str();
    let Some((set, ordinal)) = of_a_set(name) else {
        let message = format!("{name:?} is no pod of a StatefulSet");
        return Err(CliError::new(Kind::Usage, message).hint("such a pod is called NAME-NUMBER, web-0 say"));
    };
    SetName { namespace, name: set.to_owned() }.place(&mut context.global)?;
    let session = Session::open(&context.global)?;
    let workload = WorkloadId::new(&session.namespace, set);
    let observed = session.observe(&workload)?;
    let (Some(live), Some(pod)) = (&observed.set, observed.pods.get(&ordinal)) else {
        if observed.set.is_none() {
            return Err(known::no_such_set(&session, &workload, ""));
        }
        let pods: Vec<String> =
            observed.pods.keys().take(MOST_PODS).map(|ordinal| format!("{}-{ordinal}", workload.name)).collect();
        let message = format!("there is no pod {name} in namespace {}", workload.namespace);
        return Err(CliError::new(Kind::NotFound, message).hint(match pods.is_empty() {
            true => format!("{} has no pods", workload.name),
            false => format!("there are {}", pods.join(", ")),
        }));
    };
    let revisions = session.wait(read::controller_revisions(&session.cluster, &workload))?;
    let revision = revisions.iter().find(|revision| revision.name == pod.revision);
    let named = context.global.repo.as_ref().is_some_and(|repo| !repo.is_empty());
    let history = match repository::fetched_or_here(context, &workload.namespace) {
        Ok(mut source) => source.history(&workload)?,
        Err(error) if named => return Err(error),
        Err(error) => {
            context.note(&format!("note: {}; what the cluster knows is shown", error.message))?;
            Vec::new()
        }
    };
    let trace = Trace::of(name, &observed, (live, pod), revision, &history);
    match args.output {
        Format::Json | Format::Yaml => output::structured(context.out, args.output, &trace)?,
        Format::Table | Format::Wide | Format::Name => write!(context.out, "{}", trace.text())?,
    }
    Ok(Exit::OK)
}

/// Set and number by a pod's name.
fn of_a_set(pod: &str) -> Option<(&str, Ordinal)> {
    let (set, number) = pod.rsplit_once('-')?;
    let plain = number.bytes().all(|byte| byte.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
    let named = !set.is_empty() && set.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    Some((set, Ordinal(number.parse().ok().filter(|_| plain && named)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_told_by_their_names() {
        assert_eq!(of_a_set("web-0"), Some(("web", Ordinal(0))));
        assert_eq!(of_a_set("a-b-12"), Some(("a-b", Ordinal(12))));
        for name in ["web", "web-", "-1", "web-01", "web-+1", "web-99999999999", "Web-1", "web-x"] {
            assert_eq!(of_a_set(name), None, "{name}");
        }
    }
}
