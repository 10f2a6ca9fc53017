//! What the daemon that looks after a workload has said of itself and of the workload, where it left a report.

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use super::output::status::{DaemonSeen, DaemonState, Status};
use super::session::Session;
use crate::cluster::RequestError;
use crate::daemon::Source;
use crate::daemon::report::{self, Heard, Known};
use crate::git::SourceConfig;
use crate::model::{Decision, Phase, Reason, WaitingOn, WorkloadId};

/// A daemon that was not heard for so long does not work: it is heard every few seconds.
const SILENT_SECONDS: i64 = 30;

/// The daemons that left a report, as they were heard at one moment.
#[derive(Debug, Default)]
pub(crate) struct Daemons {
    /// Newest first.
    heard: Vec<Heard>,
    /// What time it was on the server.
    now: Timestamp,
    /// Whether they were asked for, and answered.
    is_asked: bool,
    /// Why they could not be asked for; a report is what is said beside the truth, and nothing ends for want of it.
    pub(crate) unread: Option<RequestError>,
}

impl Daemons {
    /// Asks the cluster.
    pub(crate) fn read(session: &Session, now: Timestamp) -> Self {
        if session.is_inside {
            // The daemon beside it is one with this program, and has no Lease.
            return Self::default();
        }
        let (heard, unread) = match session.wait(report::read(&session.cluster, &[&session.namespace])) {
            Ok(heard) => (heard, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let is_asked = unread.is_none();
        Self { heard, now: session.cluster.time.now(now, Instant::now()), is_asked, unread }
    }

    /// The namespace that the daemon of a source gives to manifests which state none; none where several differ.
    pub(crate) fn default_namespace(&self, source: &Source) -> Option<String> {
        let mut its = self.current().filter(|heard| {
            let url = heard.report.source.url.clone();
            url == source.url() || source.mirror().is_clone_of(&SourceConfig { url, ..SourceConfig::default() })
        });
        let namespace = &its.next()?.report.default_namespace;
        let agreed = its.all(|other| other.report.default_namespace == *namespace);
        (agreed && !namespace.is_empty()).then(|| namespace.clone())
    }

    /// The workloads that are not well in the eyes of daemons at work.
    pub(crate) fn workloads(&self) -> impl Iterator<Item = WorkloadId> {
        let at_work = self.heard.iter().filter(|heard| self.is_at_work(heard));
        let names = at_work.flat_map(|heard| heard.report.workloads.keys());
        names.filter_map(|name| name.split_once('/')).map(|(namespace, name)| WorkloadId::new(namespace, name))
    }

    /// Takes over what only the daemon can tell of a workload; `commit` is what the decision was made by, where Git
    /// was asked.
    pub(crate) fn correct(&self, decision: &mut Decision, workload: &WorkloadId, is_there: bool, commit: Option<&str>) {
        let Some(heard) = self.of(workload).filter(|heard| self.is_at_work(heard)) else { return };
        let Some(known) = heard.report.of(workload).filter(|known| known.phase == Phase::Blocked) else { return };
        let Some(reason) = reason(known) else { return };
        let is_news = match commit {
            // Who asked Git knows all but what comes of the daemon's own requests, and may know it sooner.
            Some(commit) => {
                let is_due = decision.phase == Phase::Progressing || !decision.actions.is_empty();
                let of_requests = matches!(reason, Reason::Refused | Reason::Forbidden | Reason::NamespaceMissing);
                heard.report.commit == commit && is_due && of_requests
            }
            None => !is_there,
        };
        let is_well = !matches!(decision.phase, Phase::Blocked | Phase::Degraded);
        if !is_news && (commit.is_some() || !is_well) {
            return;
        }
        (decision.phase, decision.reason) = (known.phase, reason);
        decision.message.clone_from(if known.message.is_empty() { &known.failing } else { &known.message });
        let adoption = reason == Reason::AdoptionRequired;
        decision.waiting_on = Some(if adoption { WaitingOn::Adoption } else { WaitingOn::Correction });
        decision.actions.clear();
    }

    /// Adds to a status who looks after the workload, and what it said.
    pub(crate) fn put(&self, workload: &WorkloadId, item: &mut Status) {
        let waits = item.waiting_on.as_mut().filter(|waiting| matches!(waiting.kind, "Daemon" | "Commit"));
        if self.is_asked && self.heard.is_empty() {
            item.daemon = DaemonSeen::Nobody;
            if let Some(waiting) = waits {
                waiting.text.push_str("; no daemon was heard of");
            }
            return;
        }
        let Some(heard) = self.of(workload) else { return };
        let silent = self.silence(heard).filter(|seconds| *seconds > SILENT_SECONDS);
        if let (Some(waiting), Some(seconds)) = (waits, silent) {
            waiting.text.push_str(&format!("; the daemon was last heard {seconds} s ago"));
        }
        let report = &heard.report;
        let told = report.of(workload).map(|known| [known.message.as_str(), known.failing.as_str()]);
        // What the reason or the message says already is not said again.
        let says = told.into_iter().flatten().filter(|text| !text.is_empty() && !item.message.contains(text));
        item.daemon = DaemonSeen::Is(Box::new(DaemonState {
            holder: heard.leader.clone(),
            version: report.version.clone(),
            source: report.source.clone(),
            default_namespace: report.default_namespace.clone(),
            commit: report.commit.clone(),
            heard: heard.at,
            silent: silent.is_some(),
            says: says.map(str::to_owned).collect(),
            trouble: report.source_trouble.clone(),
        }));
    }

    /// The daemon that looks after a workload; none where several may be it.
    fn of(&self, workload: &WorkloadId) -> Option<&Heard> {
        let covering = || self.current().filter(|heard| heard.report.covers(workload));
        let knows = |heard: &&Heard| heard.report.of(workload).is_some();
        covering().find(knows).or_else(|| {
            let first = covering().next()?;
            covering().all(|other| other.report.source == first.report.source).then_some(first)
        })
    }

    /// Those at work; where nobody is, all: a daemon that was set up anew leaves its old report behind.
    fn current(&self) -> impl Iterator<Item = &Heard> {
        let any = self.heard.iter().any(|heard| self.is_at_work(heard));
        self.heard.iter().filter(move |heard| !any || self.is_at_work(heard))
    }

    /// Whether what it said counts still.
    fn is_at_work(&self, heard: &Heard) -> bool {
        heard.leader.is_some() && self.silence(heard).is_some_and(|seconds| seconds <= SILENT_SECONDS)
    }

    /// For how long it was not heard.
    fn silence(&self, heard: &Heard) -> Option<i64> {
        heard.at.map(|at| self.now.duration_since(at).as_secs().max(0))
    }
}

/// The reason by its name; none where a newer version gave one that this does not know.
fn reason(known: &Known) -> Option<Reason> {
    serde_json::from_value(Value::String(known.reason.clone())).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cli::args::GlobalArgs;
    use crate::cli::fixtures::{at_rest, desired, nothing, now, observed};
    use crate::cli::output::status_text;
    use crate::cli::output::ways::Ways;
    use crate::daemon::report::{Followed, Report};
    use crate::model::{Observed, Wanted};
    use crate::rollout::decide;

    fn heard(ago: i64, known: Option<Known>) -> Heard {
        let workloads = known.map(|known| ("prod/web".to_owned(), known));
        Heard {
            namespace: "phaseline-system".into(),
            lease: "phaseline-1".into(),
            leader: Some("host-1-ab".into()),
            at: Some(now() - jiff::SignedDuration::from_secs(ago)),
            report: Report {
                version: "0.1.0".into(),
                source: Followed { url: "https://git.test/x".into(), ..Followed::default() },
                default_namespace: "prod".into(),
                commit: "a".repeat(40),
                workloads: BTreeMap::from_iter(workloads),
                ..Report::default()
            },
        }
    }

    fn daemons(heard: Vec<Heard>) -> Daemons {
        Daemons { heard, now: now(), is_asked: true, unread: None }
    }

    fn refused() -> Known {
        Known::new(Phase::Blocked, Reason::Refused, "the server refuses it: exceeded quota", "")
    }

    fn look(daemons: &Daemons, observed: &Observed, wanted: &Wanted<'_>, commit: Option<&str>) -> (Status, String) {
        let web = WorkloadId::new("prod", "web");
        let mut decision = decide(wanted, observed, now());
        daemons.correct(&mut decision, &web, observed.set.is_some(), commit);
        let ways = Ways::to(&web, &GlobalArgs::default(), "default");
        let mut item = Status::of(observed, &decision, &ways, now());
        daemons.put(&web, &mut item);
        let mut page = Vec::new();
        status_text::page(&mut page, &item, None, now(), false).unwrap();
        (item, String::from_utf8(page).unwrap())
    }

    #[test]
    fn what_only_the_daemon_met_is_the_state_as_long_as_it_works() {
        let rest = observed(Some(at_rest('a')));
        let (item, page) = look(&daemons(vec![heard(3, Some(refused()))]), &rest, &Wanted::Unknown, None);
        assert_eq!((item.phase, item.reason), (Phase::Blocked, Reason::Refused), "{page}");
        assert!(page.contains("Message:  the server refuses it: exceeded quota\n"), "{page}");
        assert!(
            page.contains(
                "Daemon:   host-1-ab, version 0.1.0, follows https://git.test/x, default namespace prod, heard 3s ago\n"
            ),
            "{page}"
        );
        // It has died since: what it said is told, and is not how things are.
        let (item, page) = look(&daemons(vec![heard(31, Some(refused()))]), &rest, &Wanted::Unknown, None);
        assert_eq!(item.phase, Phase::Healthy, "{page}");
        assert!(page.contains("exceeded quota\n") && page.contains("heard 31s ago\n"), "{page}");
        // A newer one's word for it is not known here.
        let newer = Known { reason: "Eclipsed".into(), ..refused() };
        let (item, page) = look(&daemons(vec![heard(3, Some(newer))]), &rest, &Wanted::Unknown, None);
        assert_eq!(item.phase, Phase::Healthy);
        assert!(page.contains("exceeded quota\n"), "{page}");
    }

    #[test]
    fn who_asked_git_takes_over_what_is_due_at_the_same_commit_alone() {
        let (wish, gone) = (desired('a'), nothing());
        let missing = Known::new(Phase::Blocked, Reason::NamespaceMissing, "there is no namespace prod", "");
        let here = daemons(vec![heard(3, Some(missing))]);
        let at = |observed: &Observed, commit: &str| look(&here, observed, &Wanted::Is(&wish, None), Some(commit)).0;
        let item = at(&gone, &"a".repeat(40));
        assert_eq!((item.phase, item.reason), (Phase::Blocked, Reason::NamespaceMissing));
        assert_eq!(item.next, [""; 0]);
        assert_ne!(at(&gone, &"b".repeat(40)).phase, Phase::Blocked, "it has not seen that commit yet");
        let rest = observed(Some(at_rest('a')));
        assert_eq!(at(&rest, &"a".repeat(40)).phase, Phase::Healthy, "it is there by now");
        // Of a set that is not there nobody else knows.
        let (item, _) = look(&here, &gone, &Wanted::Unknown, None);
        assert_eq!(item.reason, Reason::NamespaceMissing);
    }

    #[test]
    fn who_waits_for_a_daemon_hears_that_it_is_silent() {
        let (wish, gone) = (desired('a'), nothing());
        let commit = "a".repeat(40);
        let waits = |daemons: &Daemons| {
            let (item, page) = look(daemons, &gone, &Wanted::Is(&wish, None), Some(&commit));
            (item.waiting_on.unwrap().text, serde_json::to_value(&item.daemon).unwrap(), page)
        };
        assert_eq!(waits(&daemons(vec![heard(30, None)])).0, "for the daemon to act");
        let (text, json, _) = waits(&daemons(vec![heard(40, None)]));
        assert_eq!(text, "for the daemon to act; the daemon was last heard 40 s ago");
        assert_eq!((&json["silent"], &json["holder"]), (&Value::Bool(true), &"host-1-ab".into()));
        let (text, json, page) = waits(&daemons(Vec::new()));
        assert_eq!(text, "for the daemon to act; no daemon was heard of");
        assert_eq!(json, Value::Null);
        assert!(page.contains("Daemon:   no daemon was heard of\n"), "{page}");
        // Who may not read Leases knows nothing of either.
        let (text, _, page) = waits(&Daemons { is_asked: false, ..daemons(Vec::new()) });
        assert_eq!(text, "for the daemon to act");
        assert!(!page.contains("Daemon:"), "{page}");
    }

    #[test]
    fn a_report_that_was_left_behind_stands_in_nobodys_way() {
        let web = WorkloadId::new("prod", "web");
        let mut old = heard(9000, Some(refused()));
        old.report.source.url = "https://git.test/old".into();
        let both = daemons(vec![heard(3, None), old.clone()]);
        assert_eq!(both.of(&web).unwrap().report.source.url, "https://git.test/x");
        assert_eq!(both.workloads().count(), 0);
        assert_eq!(
            daemons(vec![heard(3, Some(refused()))]).workloads().collect::<Vec<_>>(),
            std::slice::from_ref(&web)
        );
        // Two at work on two repositories: which one it is cannot be told.
        old.at = Some(now());
        old.report.workloads.clear();
        assert_eq!(daemons(vec![heard(3, None), old]).of(&web), None);
    }
}
