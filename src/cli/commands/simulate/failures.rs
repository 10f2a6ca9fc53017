//! What goes wrong, as the options say it, held against the pods that there are.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::SimulateArgs;
use super::subject::{Before, Subject};
use crate::cli::args::duration;
use crate::cli::error::{CliError, Kind};
use crate::model::WorkloadId;
use crate::sim::{Blow, Script, Stroke, Whom};

/// How long pods take to get Ready, where nobody says.
const START: SignedDuration = SignedDuration::from_secs(10);
/// The words for what goes wrong, as people may write them in any case, and as they are read.
const REASONS: [&str; 13] = [
    "ImagePullBackOff",
    "ErrImagePull",
    "CrashLoopBackOff",
    "CrashLoop",
    "NeverReady",
    "NotReady",
    "Flap",
    "Failed",
    "Evicted",
    "Unschedulable",
    "SlowStart",
    "SlowTermination",
    "Pull",
];

/// What goes wrong, and how fast pods are where nothing does.
pub(super) struct Trouble {
    /// What --fail says, as it was written.
    pub(super) written: Vec<String>,
    /// The same, read; first what fails, then who is slow.
    pub(super) script: Script,
    /// From the start of a pod to Ready.
    pub(super) start: SignedDuration,
}

/// Reads --fail and --slow.
pub(super) fn script(args: &SimulateArgs, subject: &Subject) -> Result<Trouble, CliError> {
    let usage = |message: String| CliError::new(Kind::Usage, message);
    let pods = pods(args, subject);
    let mut strokes = Vec::new();
    for text in &args.fail {
        let stroke: Stroke = in_known_words(text).parse().map_err(|why: String| usage(format!("--fail: {why}")))?;
        known(&stroke, &pods).map_err(|error| error_of("--fail", error))?;
        strokes.push(stroke);
    }
    let mut start = START;
    for text in &args.slow {
        let (pod, time) = text.split_once('=').map_or((None, text.as_str()), |(pod, time)| (Some(pod), time));
        let time = duration(time).map_err(|why| usage(format!("--slow: {why}")))?;
        let time = SignedDuration::try_from(time).map_err(|_| usage(format!("--slow: {text} is too long")))?;
        let Some(pod) = pod else {
            start = time;
            continue;
        };
        let (namespace, pod) = pod.split_once('/').map_or((None, pod), |(namespace, pod)| (Some(namespace), pod));
        let stroke = Stroke {
            namespace: namespace.map(str::to_owned),
            pod: pod.to_owned(),
            whom: Whom::Any,
            blow: Blow::SlowStart(time),
            from: SignedDuration::ZERO,
            until: None,
        };
        known(&stroke, &pods).map_err(|error| error_of("--slow", error))?;
        strokes.push(stroke);
    }
    let script = Script::new(strokes).map_err(usage)?;
    Ok(Trouble { written: args.fail.clone(), script, start })
}

/// The reason in the case in which it is read: people write it as they remember it.
fn in_known_words(text: &str) -> String {
    let Some((pod, rest)) = text.split_once('=') else { return text.to_owned() };
    let end = rest.find(['@', '(', ',']).unwrap_or(rest.len());
    let (word, rest) = rest.split_at(end);
    let word = match REASONS.iter().find(|known| known.eq_ignore_ascii_case(word)) {
        Some(&"ErrImagePull") => "ImagePullBackOff",
        Some(known) => known,
        None => word,
    };
    format!("{pod}={word}{rest}")
}

/// The sets, and how many pods each has at most: first number, and how many.
fn pods(args: &SimulateArgs, subject: &Subject) -> BTreeMap<WorkloadId, (u32, u32)> {
    let wishes = subject.view.wishes.iter();
    wishes
        .filter_map(|(workload, wish)| {
            let tip = &wish.desired.as_ref()?.tip;
            let live = match &subject.before {
                Before::Cluster(live) => live.replicas(workload),
                Before::Nothing | Before::Commit(_) => None,
            };
            let stated = tip.replicas.or(args.replicas).or(live);
            let replicas = stated.into_iter().chain(live).max().unwrap_or(1);
            Some((workload.clone(), (tip.start, replicas)))
        })
        .collect()
}

/// Whether there is such a pod.
fn known(stroke: &Stroke, pods: &BTreeMap<WorkloadId, (u32, u32)>) -> Result<(), CliError> {
    let meant = |workload: &WorkloadId, first: u32, count: u32| {
        if stroke.namespace.as_ref().is_some_and(|namespace| *namespace != workload.namespace) {
            return false;
        }
        if let Some(beginning) = stroke.pod.strip_suffix('*') {
            return (0..count).any(|at| format!("{}-{}", workload.name, first + at).starts_with(beginning));
        }
        let number = stroke.pod.strip_prefix(&format!("{}-", workload.name));
        let number = number.and_then(|number| number.parse::<u32>().ok().filter(|it| it.to_string() == number));
        number.is_some_and(|number| number >= first && number - first < count)
    };
    if pods.iter().any(|(workload, (first, count))| meant(workload, *first, *count)) {
        return Ok(());
    }
    let there: Vec<String> = pods
        .iter()
        .filter(|(_, (_, count))| *count > 0)
        .map(|(workload, (first, count))| match count {
            1 => format!("{}-{first}", workload.name),
            count => format!("{name}-{first} to {name}-{}", first + count - 1, name = workload.name),
        })
        .collect();
    let message = format!("there is no pod {}", stroke.pod);
    Err(CliError::new(Kind::NotFound, message).hint(format!("there are {}", there.join(", "))))
}

fn error_of(option: &str, error: CliError) -> CliError {
    CliError { message: format!("{option}: {}", error.message), ..error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_in_any_case() {
        for (text, read) in [
            ("web-1=crashloop@30s", "web-1=CrashLoop@30s"),
            ("web-1=imagepullbackoff", "web-1=ImagePullBackOff"),
            ("web-1=ErrImagePull@1m", "web-1=ImagePullBackOff@1m"),
            ("web-*=flap(3s)@1m,new", "web-*=Flap(3s)@1m,new"),
            ("web-1=Boom@30s", "web-1=Boom@30s"),
            ("web-1", "web-1"),
        ] {
            assert_eq!(in_known_words(text), read, "{text}");
        }
    }

    #[test]
    fn pods_that_there_are_not_are_told_from_those_that_there_are() {
        let pods: BTreeMap<_, _> = [("web", (0, 3)), ("db", (5, 1)), ("none", (0, 0))]
            .map(|(name, span)| (WorkloadId::new("shop", name), span))
            .into();
        let ask = |text: &str| known(&text.parse().unwrap(), &pods);
        for text in ["web-0=CrashLoop", "web-2=CrashLoop", "db-5=CrashLoop", "shop/web-1=CrashLoop", "w*=CrashLoop"] {
            assert_eq!(ask(text), Ok(()), "{text}");
        }
        for text in ["web-3=CrashLoop", "web-01=CrashLoop", "db-0=CrashLoop", "none-0=Failed", "x/web-1=Failed"] {
            let error = ask(text).unwrap_err();
            assert_eq!(error.hints, ["there are db-5, web-0 to web-2"], "{text}");
        }
    }
}
