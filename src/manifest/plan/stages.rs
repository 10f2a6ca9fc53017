//! Reads the stages of a plan, or the ramp that makes them.

use std::collections::BTreeSet;

use jiff::fmt::friendly::SpanParser;
use serde_json::Value;

use super::super::findings::Findings;
use super::super::words::{found, is_invisible, show};
use super::fields::{Fields, whole};
use super::{MAX_SECONDS, MAX_STAGES, PAUSE, RAMP, RAMP_RULES, STAGE};
use crate::model::{Pause, Ramp, Schedule, Size, Stage};

/// The most characters of a stage's name, as of a label.
const MAX_NAME_CHARS: usize = 63;

/// The greatest number of pods that a set can have.
const MAX_PODS: u32 = i32::MAX as u32;

/// How the last stage is written.
const LAST: &str = "the last stage reaches every pod: write `replicas: \"100%\"`";

/// The schedule of a plan: stages or ramp, exactly one of them.
pub(super) fn schedule(spec: &Fields<'_>, deadline: u32, findings: &mut Findings<'_>) -> Option<Schedule> {
    match (spec.get("stages"), spec.get("ramp")) {
        (Some(_), Some(_)) => {
            findings.key_error(&spec.at("ramp"), "there are both `stages` and a `ramp`").hint =
                "a ramp makes the stages itself: keep one of the two".into();
            None
        }
        (None, None) => {
            findings.error(spec.pointer(), "the plan has neither `stages` nor a `ramp`").hint =
                "write at least `stages: [{replicas: \"100%\"}]`".into();
            None
        }
        (Some(stages), None) => written(stages, &spec.at("stages"), deadline, findings).map(Schedule::Stages),
        (None, Some(_)) => ramp(spec, deadline, findings),
    }
}

fn written(value: &Value, at: &str, deadline: u32, findings: &mut Findings<'_>) -> Option<Vec<Stage>> {
    let Value::Array(list) = value else {
        findings.error(at, format!("`stages` is a list, not {}", found(value)));
        return None;
    };
    if list.is_empty() {
        findings.error(at, "there are no stages").hint = "write at least one: `- replicas: \"100%\"`".into();
        return None;
    }
    if list.len() > MAX_STAGES {
        findings.error(at, format!("there are {} stages, more than {MAX_STAGES}", list.len())).hint =
            "write a `ramp` instead".into();
        return None;
    }
    let mut names = BTreeSet::new();
    let mut stages = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let at = format!("{at}/{index}");
        let Some(fields) = Fields::of(value, at, &STAGE, findings) else { continue };
        let name = name(&fields, &mut names, findings);
        let min_ready_seconds = soak(&fields, deadline, findings);
        let pause = pause(&fields, findings);
        if let (Some(name), Some((size, at)), Some(pause)) = (name, size(&fields, findings), pause) {
            stages.push((Stage { name, size, min_ready_seconds, pause }, at));
        }
    }
    if stages.len() < list.len() {
        return None;
    }
    check_order(&stages, findings);
    Some(stages.into_iter().map(|(stage, _)| stage).collect())
}

/// A stage's name; empty where it has none.
fn name(fields: &Fields<'_>, names: &mut BTreeSet<String>, findings: &mut Findings<'_>) -> Option<String> {
    let Some(value) = fields.get("name") else { return Some(String::new()) };
    let at = fields.at("name");
    let Value::String(name) = value else {
        findings.error(&at, format!("a stage's name is text, not {}", found(value))).hint = "quote it".into();
        return None;
    };
    let trouble = if name.trim() != name || name.is_empty() {
        Some("is empty, or begins or ends with a blank")
    } else if name.chars().count() > MAX_NAME_CHARS {
        Some("is too long")
    } else if name.chars().any(is_invisible) {
        Some("holds characters that cannot be seen")
    } else {
        None
    };
    if let Some(trouble) = trouble {
        findings.error(&at, format!("the stage's name {} {trouble}", show(name))).hint =
            format!("at most {MAX_NAME_CHARS} visible characters");
        return None;
    }
    if !names.insert(name.clone()) {
        findings.error(&at, format!("there are two stages {}", show(name))).hint =
            "`promote` and `status` name stages: give each a name of its own".into();
        return None;
    }
    Some(name.clone())
}

/// How far a stage reaches, and where that is written.
fn size(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<(Size, String)> {
    let mut given = ["replicas", "partition", "setWeight"].into_iter().filter_map(|key| Some((key, fields.get(key)?)));
    let Some((key, value)) = given.next() else {
        if fields.has_unknown() {
            return None;
        }
        findings.error(fields.pointer(), "the stage does not say how far it reaches").hint =
            "write `replicas: 1`, `replicas: \"25%\"` or `partition: 3`".into();
        return None;
    };
    if let Some((second, _)) = given.next() {
        let message = format!("there are both `{key}` and `{second}`");
        findings.key_error(&fields.at(second), message).hint = "each says how far the stage reaches: keep one".into();
        return None;
    }
    let at = fields.at(key);
    let size = match (key, value) {
        ("partition", value) => Size::Partition(whole(key, value, &at, 0, MAX_PODS, findings)?),
        ("setWeight", value) => Size::Percent(whole(key, value, &at, 1, 100, findings)?),
        (_, Value::String(text)) => match percent(text) {
            Ok(percent) => Size::Percent(percent),
            Err(hint) => {
                findings.error(&at, format!("`replicas` cannot be {}", found(value))).hint = hint.into();
                return None;
            }
        },
        (_, value) => Size::Pods(whole(key, value, &at, 1, MAX_PODS, findings)?),
    };
    Some((size, at))
}

/// A share like `25%`; else the way out.
fn percent(text: &str) -> Result<u32, &'static str> {
    const WHOLE: &str = "a share is a whole number of percent, from \"1%\" to \"100%\"";
    let Some(digits) = text.strip_suffix('%') else {
        let number = text.parse::<u32>().is_ok();
        return Err(if number { "a number of pods is written without quotes, a share as \"25%\"" } else { WHOLE });
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(WHOLE);
    }
    digits.parse().ok().filter(|percent| (1..=100).contains(percent)).ok_or(WHOLE)
}

/// `minReadySeconds`, which has to fit into the deadline: a stage cannot be done before.
fn soak(fields: &Fields<'_>, deadline: u32, findings: &mut Findings<'_>) -> u32 {
    let seconds = fields.count("minReadySeconds", 0, MAX_SECONDS, findings).unwrap_or_default();
    if seconds >= deadline {
        let message = format!("`minReadySeconds` {seconds} is not less than `progressDeadlineSeconds` {deadline}");
        findings.error(&fields.at("minReadySeconds"), message).hint =
            "every stage would fail before its pods were Ready for long enough".into();
    }
    seconds
}

/// The pause after a stage: until promoted, for some time, or none.
fn pause(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<Pause> {
    let Some(value) = fields.get("pause") else { return Some(Pause::None) };
    let at = fields.at("pause");
    if value.is_number() {
        return whole("pause", value, &at, 0, MAX_SECONDS, findings).map(timed);
    }
    if !value.is_object() {
        findings.error(&at, format!("`pause` cannot be {}", found(value))).hint =
            "write `pause: {}` to wait until promoted, or `pause: {duration: 10m}`".into();
        return None;
    }
    let pause = fields.inner("pause", &PAUSE, findings)?;
    let at = pause.at("duration");
    match pause.get("duration") {
        // With any key at all it was not meant to last until promoted; the key has had its finding.
        None if value.as_object().is_some_and(|map| !map.is_empty()) => None,
        None => Some(Pause::UntilPromoted),
        Some(number) if number.is_number() => whole("duration", number, &at, 0, MAX_SECONDS, findings).map(timed),
        Some(Value::String(text)) => match seconds(text) {
            Ok(seconds) => Some(timed(seconds)),
            Err(hint) => {
                findings.error(&at, format!("{} is no duration", show(text))).hint = hint;
                None
            }
        },
        Some(other) => {
            findings.error(&at, format!("a duration cannot be {}", found(other))).hint = DURATION.into();
            None
        }
    }
}

/// How a duration is written.
const DURATION: &str = "write `90s`, `10m`, `1h30m`, or a number of seconds";

fn timed(seconds: u32) -> Pause {
    if seconds == 0 { Pause::None } else { Pause::Seconds(seconds) }
}

/// A duration like `1h30m` in seconds; else the way out.
fn seconds(text: &str) -> Result<u32, String> {
    if text.parse::<u32>().is_ok() {
        return Err("a number of seconds is written without quotes; with a unit it is `90s`".into());
    }
    // `parse_duration` takes no days or longer units, since their length is not always the same.
    let duration = SpanParser::new().parse_duration(text).map_err(|_| DURATION.to_owned())?;
    if duration.subsec_nanos() != 0 {
        return Err("the shortest unit is a second".into());
    }
    match u32::try_from(duration.as_secs()) {
        Ok(seconds) if seconds <= MAX_SECONDS => Ok(seconds),
        Ok(_) => Err(TOO_LONG.into()),
        Err(_) if duration.is_positive() => Err(TOO_LONG.into()),
        Err(_) => Err("a pause cannot be negative".into()),
    }
}

/// What is longer waits for a person.
const TOO_LONG: &str = "at most 30 days (720h); `pause: {}` waits until promoted";

/// A ramp: exactly one rule.
fn ramp(spec: &Fields<'_>, deadline: u32, findings: &mut Findings<'_>) -> Option<Schedule> {
    let fields = spec.inner("ramp", &RAMP, findings)?;
    let min_ready_seconds = soak(&fields, deadline, findings);
    let pause = pause(&fields, findings);
    let given: Vec<_> = RAMP_RULES.iter().filter(|(name, ..)| fields.get(name).is_some()).collect();
    let [(name, keys, least, _)] = given.as_slice() else {
        let message = if given.is_empty() { "the ramp has no rule" } else { "the ramp has more than one rule" };
        findings.error(fields.pointer(), message).hint =
            "write one of `linear: {step: 1}`, `geometric: {factor: 2}`, `exponential: {base: 2}`".into();
        return None;
    };
    let rule = fields.inner(name, keys, findings)?;
    let key = keys.known.first().copied().unwrap_or_default();
    if rule.get(key).is_none() && !rule.has_unknown() {
        findings.error(&fields.at(name), format!("`{name}` has no `{key}`")).hint =
            format!("write `{name}: {{{key}: {least}}}`");
        return None;
    }
    let number = rule.count(key, *least, MAX_PODS, findings)?;
    let ramp = match *name {
        "linear" => Ramp::Linear(number),
        "geometric" => Ramp::Geometric(number),
        _ => Ramp::Exponential(number),
    };
    Some(Schedule::Ramp { ramp, min_ready_seconds, pause: pause? })
}

/// Checks what can be said of the sizes without knowing the replicas: none falls, and the last reaches every pod.
fn check_order(stages: &[(Stage, String)], findings: &mut Findings<'_>) {
    // The furthest reach so far, for each way of saying it: only like can be compared with like.
    let (mut pods, mut percent, mut partition) = (0, 0, u32::MAX);
    let mut all = false;
    for (stage, at) in stages {
        let (falls, same) = match stage.size {
            Size::Pods(count) => (count < pods, count == pods),
            Size::Percent(share) => (share < percent, share == percent),
            Size::Partition(number) => (number > partition, number == partition),
        };
        let whole = reaches_all(stage.size);
        if falls || all && !whole {
            findings.error(at, "the stage reaches less far than one before it").hint =
                "stages are cumulative: each says how many pods in all run the new revision".into();
        } else if same || all {
            findings.warning(at, "the stage reaches no further than one before it: the two are merged");
        }
        match stage.size {
            Size::Pods(count) => pods = pods.max(count),
            Size::Percent(share) => percent = percent.max(share),
            Size::Partition(number) => partition = partition.min(number),
        }
        all |= whole;
    }
    if let Some((last, at)) = stages.last()
        && !reaches_all(last.size)
        && !all
    {
        let message = match last.size {
            Size::Pods(count) => format!("the last stage reaches {count} pods, and a set may have more"),
            Size::Percent(share) => format!("the last stage reaches {share}% of the pods"),
            Size::Partition(number) => format!("the last stage leaves the {number} lowest pods out"),
        };
        findings.error(at, message).hint = LAST.into();
    }
}

fn reaches_all(size: Size) -> bool {
    matches!(size, Size::Percent(100) | Size::Partition(0))
}
