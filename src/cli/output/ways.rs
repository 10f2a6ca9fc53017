//! Ways on: commands that would move a workload, complete, so that they can be copied as they stand.

use crate::cli::args::GlobalArgs;
use crate::model::{Decision, Mode, Observed, Phase, Reason, Record, RecordState, WaitingOn, WorkloadId};

/// Commands of ours that are about one set: wherever a message names one, it gets the set and its place.
const OF_A_SET: [&str; 10] =
    ["status", "history", "promote", "pause", "resume", "retry", "restart", "adopt", "release", "trace"];

/// Where a workload is, as commands have to be told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ways {
    workload: WorkloadId,
    /// Options of ours.
    ours: String,
    /// The same for kubectl.
    kubectl: String,
}

impl Ways {
    /// The ways to a workload from where the command was given: its namespace is left out where it is the `default` one,
    /// cluster and context are repeated where they were said.
    pub(crate) fn to(workload: &WorkloadId, global: &GlobalArgs, default: &str) -> Self {
        let mut options = String::new();
        if let Some(kubeconfig) = &global.kubeconfig {
            options.push_str(&format!(" --kubeconfig {}", quoted(&kubeconfig.to_string_lossy())));
        }
        if let Some(context) = &global.context {
            options.push_str(&format!(" --context {}", quoted(context)));
        }
        // Whoever copies a command of kubectl's should see where it goes.
        let kubectl = format!("{options} -n {}", workload.namespace);
        if workload.namespace != default {
            options.push_str(&format!(" -n {}", workload.namespace));
        }
        Self { workload: workload.clone(), ours: options, kubectl }
    }

    /// A command of ours.
    pub(crate) fn ours(&self, command: &str) -> String {
        format!("phaseline {command}{}", self.ours)
    }

    /// A look at one of its pods.
    fn look_at(&self, ordinal: impl std::fmt::Display) -> String {
        format!("kubectl describe pod {}-{ordinal}{}", self.workload.name, self.kubectl)
    }

    /// A message whose commands in backticks are complete: the rules know the set's name, and not from where it is
    /// looked at.
    pub(crate) fn complete(&self, message: &str) -> String {
        let mut parts = message.split('`');
        let mut said = parts.next().unwrap_or_default().to_owned();
        let mut quoted = true;
        for part in parts {
            said.push('`');
            if quoted {
                said.push_str(&self.completed(part))
            } else {
                said.push_str(part)
            }
            quoted = !quoted;
        }
        said
    }

    fn completed(&self, command: &str) -> String {
        let mut words = command.split(' ');
        let (program, what) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let has_place = words.clone().any(|word| matches!(word, "-n" | "--namespace" | "-A"));
        if has_place || command.contains('\n') {
            return command.to_owned();
        }
        match program {
            "phaseline" if OF_A_SET.contains(&what) => {
                let named = words.any(|word| !word.starts_with('-'));
                let name = if named { String::new() } else { format!(" {}", self.workload.name) };
                format!("{command}{name}{}", self.ours)
            }
            // One that is about it, not one that is spoken of.
            "kubectl" if words.any(|word| word.starts_with(&self.workload.name)) => {
                format!("{command}{}", self.kubectl)
            }
            _ => command.to_owned(),
        }
    }

    /// What would move it, the nearest first.
    pub(crate) fn on(&self, decision: &Decision, observed: &Observed) -> Vec<String> {
        let name = &self.workload.name;
        let record = observed.set.as_ref().and_then(|set| match &set.record {
            RecordState::Is(record, _) => Some(&**record),
            RecordState::Absent | RecordState::Unreadable(_) => None,
        });
        let culprit = decision.culprit.iter().map(|(ordinal, _)| self.look_at(*ordinal));
        match &decision.waiting_on {
            Some(WaitingOn::Promotion | WaitingOn::Pause { .. }) => {
                vec![self.ours(&format!("promote {name}")), self.ours(&format!("promote {name} --full"))]
            }
            Some(WaitingOn::Resume) => vec![self.ours(&format!("resume {name}"))],
            Some(WaitingOn::Decision) => {
                let revert = revert(decision, record);
                culprit.chain(revert).chain([self.ours(&format!("retry {name}"))]).collect()
            }
            Some(WaitingOn::DriftDecision) => vec![
                self.ours(&format!("resume {name} --overwrite")),
                self.ours(&format!("resume {name} --accept")),
                self.ours(&format!("release {name}")),
            ],
            Some(WaitingOn::NewRevisionDecision) if decision.phase == Phase::Degraded => {
                // What has failed is not promoted.
                culprit.chain([self.ours(&format!("resume {name}")), self.ours(&format!("retry {name}"))]).collect()
            }
            Some(WaitingOn::NewRevisionDecision) => {
                vec![self.ours(&format!("resume {name}")), self.ours(&format!("promote {name}"))]
            }
            Some(WaitingOn::Adoption) => vec![self.ours(&format!("adopt {name}"))],
            Some(WaitingOn::Correction) => match decision.reason {
                Reason::InvalidManifest => vec!["phaseline lint".to_owned()],
                Reason::Orphaned | Reason::RecordUnreadable => vec![self.ours(&format!("release {name}"))],
                Reason::Missing if is_orphaned(observed) => vec![self.ours(&format!("resume {name} --recreate"))],
                _ => Vec::new(),
            },
            Some(WaitingOn::PodReady { .. } | WaitingOn::PodCreated { .. } | WaitingOn::PodCount { .. }) => {
                culprit.collect()
            }
            Some(
                WaitingOn::ObservedGeneration { .. }
                | WaitingOn::PodUpdated { .. }
                | WaitingOn::PodGone { .. }
                | WaitingOn::PodAvailable { .. }
                | WaitingOn::ControllerPromotion
                | WaitingOn::PartitionCommit
                | WaitingOn::FreshView
                | WaitingOn::Source
                | WaitingOn::FreshPods
                | WaitingOn::SetGone,
            )
            | None => match decision.phase {
                Phase::Degraded => culprit.collect(),
                Phase::Healthy | Phase::Progressing | Phase::Paused | Phase::Blocked => Vec::new(),
            },
        }
    }
}

/// Whether the set is gone, and has left pods that are nobody's.
fn is_orphaned(observed: &Observed) -> bool {
    let pods = &observed.pods;
    observed.set.is_none() && !pods.is_empty() && pods.values().all(|pod| pod.owner.is_empty())
}

/// The commit that did it, taken back; none where there is none to take back, or it is a way back itself.
fn revert(decision: &Decision, record: Option<&Record>) -> Option<String> {
    let record = record?;
    let commit = match (&decision.pending, record.mode) {
        // What waits failed before, what is in force did not.
        (Some(pending), _) if decision.reason == Reason::Superseded => pending.as_str(),
        (_, Mode::Staged | Mode::Full) if record.stable.is_some() => record.target.commit.0.as_str(),
        (_, Mode::Staged | Mode::Full | Mode::Fast | Mode::Back | Mode::Install) => return None,
    };
    let short = commit.get(..10).unwrap_or(commit);
    (!short.is_empty()).then(|| format!("git revert --no-edit {short} && git push"))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@=,+%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(namespace: &str) -> Ways {
        Ways::to(&WorkloadId::new(namespace, "web"), &GlobalArgs::default(), "default")
    }

    #[test]
    fn commands_in_a_message_are_completed() {
        let message = "it failed: `git revert` it, or `phaseline retry web`; `phaseline status` says more, `kubectl \
                       delete pod web-1` too; `phaseline promote web -n x` and `phaseline lint` stay; odd ` one";
        assert_eq!(
            ways("prod").complete(message),
            "it failed: `git revert` it, or `phaseline retry web -n prod`; `phaseline status web -n prod` says more, \
             `kubectl delete pod web-1 -n prod` too; `phaseline promote web -n x` and `phaseline lint` stay; odd ` one"
        );
        assert_eq!(ways("default").complete("`phaseline resume web --accept`"), "`phaseline resume web --accept`");
    }

    #[test]
    fn cluster_and_context_are_repeated() {
        let global = GlobalArgs {
            kubeconfig: Some("/tmp/my config".into()),
            context: Some("kind-a".into()),
            ..GlobalArgs::default()
        };
        let ways = Ways::to(&WorkloadId::new("prod", "web"), &global, "default");
        assert_eq!(
            ways.ours("pause web"),
            "phaseline pause web --kubeconfig '/tmp/my config' --context kind-a -n prod"
        );
        assert_eq!(
            ways.complete("`kubectl get sts web`, `kubectl rollout restart`"),
            "`kubectl get sts web --kubeconfig '/tmp/my config' --context kind-a -n prod`, `kubectl rollout \
             restart`"
        );
    }
}
