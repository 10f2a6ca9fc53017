//! What is wrong with a pod: by its annotation, its image tags, or a script.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The annotation that names a pod's fault.
pub(super) const FAULT: &str = "fault.phaseline.dev";
/// The annotation that says how long a pod takes to end.
const TERMINATE_AFTER: &str = "terminate-after.phaseline.dev";
/// The faults that an image tag may name, in the order in which they are looked for.
const TAGS: [(&str, Fault); 7] = [
    ("never-ready", Fault::NeverReady),
    ("crash", Fault::Crash),
    ("pull", Fault::Pull),
    ("fail", Fault::Fail),
    ("succeed", Fault::Succeed),
    ("slow", Fault::Slow),
    ("flap", Fault::Flap),
];

/// What a pod does instead of being Ready at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing is wrong.
    None,
    /// Ready after a while.
    Slow,
    /// Never Ready.
    NeverReady,
    /// CrashLoopBackOff.
    Crash,
    /// ImagePullBackOff.
    Pull,
    /// Phase Failed.
    Fail,
    /// Phase Succeeded.
    Succeed,
    /// Ready and unready in turns.
    Flap,
    /// Unready, once it runs.
    Unready,
    /// A word that means nothing: the pod is left as it is.
    Unknown,
}

/// The fault that a pod itself names.
pub(super) fn named(pod: &Value) -> Fault {
    if let Some(word) = annotation(pod, FAULT) {
        let word = match word.rsplit_once('-') {
            Some((word, digits)) if is_number(digits) => word,
            _ => word,
        };
        return match word {
            "none" => Fault::None,
            "unready" => Fault::Unready,
            word => TAGS.iter().find(|(tag, _)| *tag == word).map_or(Fault::Unknown, |(_, fault)| *fault),
        };
    }
    let tagged = |image: &str| {
        image
            .match_indices(':')
            .find_map(|(at, _)| TAGS.iter().find(|(tag, _)| image[at + 1..].starts_with(tag)).map(|(_, fault)| *fault))
    };
    images(pod).find_map(tagged).unwrap_or(Fault::None)
}

/// The seconds behind a fault's word, `slow-3`; none where no number stands there.
pub(super) fn seconds(pod: &Value, word: &str) -> Option<i64> {
    let pattern = format!("{word}-");
    let number = |text: &str, from_start: bool| {
        text.match_indices(&pattern).find_map(|(at, _)| {
            let begins = (at == 0 && from_start) || text[..at].ends_with(':');
            let rest = &text[at + pattern.len()..];
            let digits = rest.split(|char: char| !char.is_ascii_digit()).next().unwrap_or_default();
            if begins { digits.parse().ok() } else { None }
        })
    };
    let given = annotation(pod, FAULT).unwrap_or_default();
    number(given, true).or_else(|| images(pod).find_map(|image| number(image, true)))
}

/// How long a pod takes to end, where it says so.
pub(super) fn terminates_after(pod: &Value, now: Timestamp) -> Option<SignedDuration> {
    let text = annotation(pod, TERMINATE_AFTER)?;
    let until = text.parse::<Timestamp>().map(|at| at.duration_since(now).max(SignedDuration::ZERO));
    // What is no duration counts as none at all, as in the stage.
    Some(until.ok().or_else(|| go_duration(text)).unwrap_or(SignedDuration::ZERO))
}

/// A duration as Go writes it: `1m30s`, `1.5s`, `100ms`.
pub(super) fn go_duration(text: &str) -> Option<SignedDuration> {
    let mut rest = text;
    let mut seconds = 0.0_f64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|char: char| char.is_ascii_digit() || char == '.').unwrap_or(rest.len());
        seconds += number
            * match &rest[..unit] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    SignedDuration::try_from_secs_f64(seconds).ok()
}

/// The images of a pod's containers.
fn images(pod: &Value) -> impl Iterator<Item = &str> {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    containers.into_iter().flatten().filter_map(|container| container.get("image")?.as_str())
}

fn annotation<'a>(pod: &'a Value, name: &str) -> Option<&'a str> {
    pod.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::{Fault, go_duration, named, seconds};

    #[test]
    fn the_annotation_goes_before_the_first_tag() {
        let pod = |fault: Option<&str>, images: &[&str]| {
            let containers: Vec<_> = images.iter().map(|image| json!({"image": image})).collect();
            let annotations = fault.map_or(json!({}), |fault| json!({"fault.phaseline.dev": fault}));
            json!({"metadata": {"annotations": annotations}, "spec": {"containers": containers}})
        };
        for (fault, images, expected) in [
            (None, &["app:1"][..], Fault::None),
            (None, &["app:never-ready-v2"], Fault::NeverReady),
            (None, &["localhost:5000/app:slow-3"], Fault::Slow),
            (None, &["app:1", "app:pull-me"], Fault::Pull),
            (None, &["app:crash", "app:pull"], Fault::Crash),
            (Some("unready"), &["app:crash"], Fault::Unready),
            (Some("flap-4"), &["app"], Fault::Flap),
            (Some("none"), &["app:fail"], Fault::None),
            (Some("odd"), &["app:fail"], Fault::Unknown),
        ] {
            assert_eq!(named(&pod(fault, images)), expected, "{fault:?} {images:?}");
        }
        assert_eq!(seconds(&pod(None, &["app:slow-3"]), "slow"), Some(3));
        assert_eq!(seconds(&pod(Some("slow-7"), &["app:slow-3"]), "slow"), Some(7));
        assert_eq!(seconds(&pod(None, &["app:slow"]), "slow"), None);
        assert_eq!(seconds(&pod(None, &["app:slowly-9"]), "slow"), None);
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (text, milliseconds) in [
            ("3s", Some(3000)),
            ("1m30s", Some(90_000)),
            ("1.5s", Some(1500)),
            ("100ms", Some(100)),
            ("3", None),
            ("", None),
        ] {
            assert_eq!(go_duration(text), milliseconds.map(SignedDuration::from_millis), "{text}");
        }
    }
}
