//! A script of what goes wrong with which pod, and when.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use serde_json::Value;

use super::fault::go_duration;

/// Strokes that a script may have.
const MOST_STROKES: usize = 1_000;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// Its image cannot be pulled.
    ImagePullBackOff,
    /// Its containers crash.
    CrashLoop,
    /// It runs and is not Ready; the same as [`Blow::NotReady`], in the words of the image tags.
    NeverReady,
    /// It loses readiness for as long as the stroke lasts.
    NotReady,
    /// It is Ready for so long, unready for 2 s, again and again.
    Flap(SignedDuration),
    /// It ends in phase Failed, and so does every pod that comes after it.
    Failed,
    /// It ends in phase Failed once; the pod after it lives.
    Evicted,
    /// No node will have it: it waits, once it is created.
    Unschedulable,
    /// From the start of its containers to Ready it takes so long.
    SlowStart(SignedDuration),
    /// From its deletion to its end it takes so long.
    SlowTermination(SignedDuration),
}

/// Which pods are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// Of every revision.
    Any,
    /// Only of revisions that came after the script began.
    New,
}

/// One thing that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stroke {
    /// The namespace; none: any.
    pub namespace: Option<String>,
    /// The pod's name; with a `*` at its end, every pod whose name begins so.
    pub pod: String,
    /// Which of them.
    pub whom: Whom,
    /// What happens.
    pub blow: Blow,
    /// When it begins, from the start of the script.
    pub from: SignedDuration,
    /// When it ends; none: never.
    pub until: Option<SignedDuration>,
}

/// What goes wrong, all of it. Of two strokes at the same pod the first counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// The strokes.
    pub strokes: Vec<Stroke>,
    /// Revisions that were there when it began.
    pub(crate) old: BTreeSet<String>,
}

/// The moment in a pod's life that is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before it has a node.
    Placing,
    /// While it lives.
    Living,
    /// While it ends.
    Ending,
}

impl Script {
    /// A script of these strokes.
    ///
    /// # Errors
    /// In words for people: there are too many.
    pub fn new(strokes: Vec<Stroke>) -> Result<Self, String> {
        if strokes.len() > MOST_STROKES {
            return Err(format!("{} failures, more than {MOST_STROKES}", strokes.len()));
        }
        Ok(Self { strokes, old: BTreeSet::new() })
    }

    /// The stroke that hits a pod at a moment of its life, `passed` after the start. `spent` says which strokes no longer
    /// hit it.
    pub(crate) fn stroke(
        &self,
        pod: &Value,
        moment: Moment,
        passed: SignedDuration,
        spent: impl Fn(usize) -> bool,
    ) -> Option<(usize, Blow)> {
        let hits = |(at, stroke): &(usize, &Stroke)| {
            let fits = match stroke.blow {
                Blow::Unschedulable => moment == Moment::Placing,
                Blow::SlowTermination(_) => moment == Moment::Ending,
                _ => moment == Moment::Living,
            };
            fits && stroke.from <= passed
                && stroke.until.is_none_or(|until| passed < until)
                && self.means(stroke, pod)
                && !spent(*at)
        };
        self.strokes.iter().enumerate().find(hits).map(|(at, stroke)| (at, stroke.blow))
    }

    /// Whether a stroke is about that pod, whenever it falls.
    pub(crate) fn means(&self, stroke: &Stroke, pod: &Value) -> bool {
        let text = |field: &str| pod.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let name = text("/metadata/name");
        let named = match stroke.pod.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == stroke.pod,
        };
        let here = stroke.namespace.as_deref().is_none_or(|namespace| namespace == text("/metadata/namespace"));
        let revision = text("/metadata/labels/controller-revision-hash");
        named && here && (stroke.whom == Whom::Any || !self.old.contains(revision))
    }
}

/// The words for what goes wrong.
const WORDS: &str = "ImagePullBackOff, CrashLoop, NeverReady, NotReady, Flap(10s), Failed, Evicted, Unschedulable, \
                     SlowStart(30s), SlowTermination(30s)";

impl FromStr for Blow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, given) = match text.split_once('(') {
            Some((word, rest)) => (word, Some(rest.strip_suffix(')').unwrap_or(rest))),
            None => (text, None),
        };
        let length = |otherwise| match given {
            None => Ok(SignedDuration::from_secs(otherwise)),
            Some(given) => duration(given),
        };
        let plain = match word {
            "ImagePullBackOff" | "Pull" => Self::ImagePullBackOff,
            "CrashLoop" | "CrashLoopBackOff" => Self::CrashLoop,
            "NeverReady" => Self::NeverReady,
            "NotReady" => Self::NotReady,
            "Failed" => Self::Failed,
            "Evicted" => Self::Evicted,
            "Unschedulable" => Self::Unschedulable,
            "Flap" => return Ok(Self::Flap(length(10)?)),
            "SlowStart" => return Ok(Self::SlowStart(length(30)?)),
            "SlowTermination" => return Ok(Self::SlowTermination(length(30)?)),
            _ => return Err(format!("`{word}` is no failure; there are {WORDS}")),
        };
        match given {
            None => Ok(plain),
            Some(_) => Err(format!("{word} takes no duration")),
        }
    }
}

/// `[NAMESPACE/]POD=REASON[@FROM[..UNTIL]][,new]`: `web-1=CrashLoop@30s`, `web-*=SlowStart(1m)@0s..10m,new`.
impl FromStr for Stroke {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = || format!("`{text}` is not POD=REASON@TIME, as in web-1=CrashLoop@30s");
        let (pod, rest) = text.split_once('=').ok_or_else(shape)?;
        let (namespace, pod) = match pod.split_once('/') {
            Some((namespace, pod)) => (Some(namespace.to_owned()), pod),
            None => (None, pod),
        };
        if pod.is_empty() {
            return Err(shape());
        }
        let (rest, whom) = match rest.strip_suffix(",new") {
            Some(rest) => (rest, Whom::New),
            None => (rest, Whom::Any),
        };
        let (reason, window) = rest.split_once('@').map_or((rest, None), |(reason, window)| (reason, Some(window)));
        let (from, until) = match window {
            None => (SignedDuration::ZERO, None),
            Some(window) => match window.split_once("..") {
                None => (duration(window)?, None),
                Some((from, until)) => (duration(from)?, Some(duration(until)?)),
            },
        };
        if until.is_some_and(|until| until <= from) {
            return Err(format!("`{text}` ends before it begins"));
        }
        Ok(Self { namespace, pod: pod.to_owned(), whom, blow: reason.parse()?, from, until })
    }
}

impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ImagePullBackOff => f.write_str("ImagePullBackOff"),
            Self::CrashLoop => f.write_str("CrashLoop"),
            Self::NeverReady => f.write_str("NeverReady"),
            Self::NotReady => f.write_str("NotReady"),
            Self::Flap(wait) => write!(f, "Flap({wait:#})"),
            Self::Failed => f.write_str("Failed"),
            Self::Evicted => f.write_str("Evicted"),
            Self::Unschedulable => f.write_str("Unschedulable"),
            Self::SlowStart(wait) => write!(f, "SlowStart({wait:#})"),
            Self::SlowTermination(wait) => write!(f, "SlowTermination({wait:#})"),
        }
    }
}

/// A duration as people write it: `90s`, `1m30s`.
fn duration(text: &str) -> Result<SignedDuration, String> {
    go_duration(text).ok_or_else(|| format!("`{text}` is no duration such as 30s or 1m30s"))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::{Blow, Moment, Script, Stroke, Whom};

    #[test]
    fn strokes_are_written_in_one_word() {
        let secs = SignedDuration::from_secs;
        let stroke: Stroke = "web-1=CrashLoop@30s".parse().unwrap();
        assert_eq!((stroke.pod.as_str(), stroke.blow, stroke.from), ("web-1", Blow::CrashLoop, secs(30)));
        assert_eq!((stroke.until, stroke.whom, stroke.namespace), (None, Whom::Any, None));
        let stroke: Stroke = "shop/web-*=SlowStart(1m30s)@0s..10m,new".parse().unwrap();
        assert_eq!((stroke.blow, stroke.until), (Blow::SlowStart(secs(90)), Some(secs(600))));
        assert_eq!((stroke.whom, stroke.namespace.as_deref()), (Whom::New, Some("shop")));
        for (text, why) in [
            ("web-1", "is not POD=REASON@TIME"),
            ("=CrashLoop", "is not POD=REASON@TIME"),
            ("web-1=Boom", "is no failure"),
            ("web-1=CrashLoop@soon", "is no duration"),
            ("web-1=CrashLoop(3s)", "takes no duration"),
            ("web-1=CrashLoop@9s..3s", "ends before it begins"),
        ] {
            let error = text.parse::<Stroke>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_stroke_hits_the_pods_it_means_while_it_lasts() {
        let pod = |name: &str, revision: &str| json!({"metadata": {"name": name, "namespace": "shop", "labels": {"controller-revision-hash": revision}}});
        let strokes = ["web-1=CrashLoop@30s..60s", "web-*=Unschedulable@0s,new"];
        let mut script = Script::new(strokes.iter().map(|text| text.parse().unwrap()).collect()).unwrap();
        script.old.insert("old".to_owned());
        let hit = |pod: &_, moment, seconds| {
            script.stroke(pod, moment, SignedDuration::from_secs(seconds), |_| false).map(|(_, blow)| blow)
        };
        assert_eq!(hit(&pod("web-1", "old"), Moment::Living, 29), None);
        assert_eq!(hit(&pod("web-1", "old"), Moment::Living, 30), Some(Blow::CrashLoop));
        assert_eq!(hit(&pod("web-1", "old"), Moment::Living, 60), None);
        assert_eq!(hit(&pod("web-1", "old"), Moment::Ending, 40), None);
        assert_eq!(hit(&pod("web-2", "old"), Moment::Placing, 5), None);
        assert_eq!(hit(&pod("web-2", "new"), Moment::Placing, 5), Some(Blow::Unschedulable));
    }
}
