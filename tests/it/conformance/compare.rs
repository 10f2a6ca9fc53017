//! Holds a run of the embedded cluster against what real runs showed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    normal::{about_claims, is_waiting_for_claims},
    record::Recording,
    trace::{Trace, changes, nothing},
};

/// What came of a comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Verdict {
    /// What no real run shows.
    pub(super) differences: Vec<String>,
    /// What no real run shows in steps of which that is known.
    pub(super) known: Vec<String>,
    /// What it says by 501 that it has not.
    pub(super) unclaimed: Vec<String>,
    /// What is like no single real run, but within what they differ in.
    pub(super) loose: Vec<String>,
}

/// Compares a run with a recording. The steps that are known to differ have to.
pub(super) fn compare(real: &Recording, mine: &Trace, known: &[&str]) -> Verdict {
    let mut verdict = Verdict::default();
    let (real, mine) = (&comparable(real.clone()), &mut mine.clone());
    mine.steps.iter_mut().for_each(without_internals);
    mine.objects.values_mut().for_each(|it| it.retain(|it| !is_waiting_for_claims(it)));
    mine.events = mine.events.iter().filter(|it| !about_claims(it)).map(|it| told_outside(it)).collect();
    if let Some((at, stuck)) = mine.steps.iter().enumerate().find(|it| it.1.get("failed").is_some()) {
        for (seen, answer) in real.steps.iter().zip(&mine.steps[..at]) {
            answers(answer["step"].as_str().unwrap_or_default(), seen, answer, &mut verdict);
        }
        verdict.differences.push(format!("stuck: {}: {}", stuck["step"], shown(&Some(stuck["failed"].clone()))));
        return verdict;
    }
    for (index, seen) in real.steps.iter().enumerate() {
        let step = seen.first().and_then(|it| it["step"].as_str()).unwrap_or_default();
        match mine.steps.get(index) {
            Some(answer) if known.contains(&step) => {
                let mut apart = Verdict::default();
                answers(step, seen, answer, &mut apart);
                if apart.differences.is_empty() {
                    verdict.differences.push(format!("`{step}` no longer differs"));
                }
                verdict.known.append(&mut apart.differences);
            }
            Some(answer) => answers(step, seen, answer, &mut verdict),
            None => verdict.differences.push(format!("`{step}` was not reached")),
        }
    }
    for answer in mine.steps.iter().skip(real.steps.len()) {
        verdict.differences.push(format!("only embedded: {answer}"));
    }
    let none = Vec::new();
    let keys: BTreeSet<&String> = real.objects.keys().chain(mine.objects.keys()).collect();
    for key in keys {
        match real.objects.get(key) {
            Some(seen) => states(key, seen, mine.objects.get(key).unwrap_or(&none), &mut verdict),
            None => verdict.differences.push(format!("{key} is there only on the embedded cluster")),
        }
    }
    order(real, mine, &mut verdict);
    for (event, runs) in &real.events {
        if *runs == real.runs && !mine.events.contains(event) {
            verdict.differences.push(format!("event only real: {event}"));
        }
    }
    for event in mine.events.iter().filter(|it| !real.events.contains_key(*it)) {
        // The controller manager of a busy plane is minutes behind with what it tells of every pod; that the pod was
        // made or deleted is compared all the same.
        if event.starts_with("Normal Successful") && event.contains(" by statefulset-controller: ") {
            verdict.loose.push(format!("not told in time by the real one: {event}"));
            continue;
        }
        verdict.differences.push(format!("event only embedded: {event}"));
    }
    verdict
}

fn answers(step: &str, seen: &[Value], mine: &Value, verdict: &mut Verdict) {
    if seen.contains(mine) || (mine["step"] == *step && is_subset(mine, seen)) {
        return;
    }
    let Some((first, others)) = seen.split_first() else { return };
    if let Some(what) = unclaimed(mine) {
        verdict.unclaimed.push(format!("`{step}`: {what}"));
        return;
    }
    // Another answer altogether: not place by place.
    if !seen.iter().any(|it| it["code"] == mine["code"]) {
        let told = |it: &Value| match it["body"]["message"].as_str() {
            Some(message) => format!("{} {}", it["code"], shown(&Some(message.into()))),
            None => it["code"].to_string(),
        };
        verdict.differences.push(format!("`{step}`: real {}, embedded {}", told(first), told(mine)));
        return;
    }
    let unstable: Vec<String> = others.iter().flat_map(|other| changes(first, other).into_keys()).collect();
    let found = changes(first, mine);
    let total = found.len();
    let real: Vec<_> =
        found.into_iter().filter(|(place, _)| !unstable.iter().any(|it| place.starts_with(it.as_str()))).collect();
    if real.is_empty() {
        verdict.loose.push(format!("`{step}`: {total} places that differ between real runs"));
    }
    for (place, (theirs, ours)) in real {
        verdict.differences.push(format!("`{step}` {place}: real {}, embedded {}", shown(&theirs), shown(&ours)));
    }
}

/// What an answer says by 501 that is not there: to a request, or as a command passes it on.
fn unclaimed(mine: &Value) -> Option<&str> {
    if mine["code"] == 501 {
        return mine["body"]["message"].as_str();
    }
    let first = mine["err"].as_array()?.first()?.as_str()?;
    first.strip_prefix("Error from server (NotImplemented): ")
}

/// Of what a step marked so lists, the embedded cluster may have less, but nothing else.
fn is_subset(mine: &Value, seen: &[Value]) -> bool {
    let Some(real) = seen.first() else { return false };
    if mine["subset"] != true && !mine["step"].as_str().is_some_and(|it| it.starts_with("SUBSET ")) {
        return false;
    }
    fn within(mine: &Value, real: &Value) -> bool {
        match (mine, real) {
            (Value::Array(mine), Value::Array(real)) => {
                mine.iter().all(|it| real.iter().any(|other| within(it, other)))
            }
            (Value::Object(mine), Value::Object(real)) => {
                mine.iter().all(|(key, it)| real.get(key).is_some_and(|other| within(it, other)))
            }
            _ => mine == real,
        }
    }
    within(mine, real)
}

/// A value for a person: not longer than a few lines.
fn shown(value: &Option<Value>) -> String {
    const MOST: usize = 600;
    let Some(value) = value else { return "nothing".into() };
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

fn states(key: &str, seen: &[Vec<Value>], mine: &[Value], verdict: &mut Verdict) {
    if seen.iter().any(|it| it == mine) {
        return;
    }
    if mine.is_empty() {
        verdict.differences.push(format!("{key} is there only on the real cluster"));
        return;
    }
    let common = seen.iter().skip(1).fold(seen[0].clone(), |common, other| longest_common(&common, other));
    let foreign: Vec<&Value> = mine.iter().filter(|it| !seen.iter().any(|states| states.contains(it))).collect();
    let missing = missing(&common, mine);
    let ends = seen.iter().any(|it| it.last() == mine.last());
    if seen.len() > 1 && foreign.is_empty() && missing.is_empty() && ends {
        verdict.loose.push(format!("{key}: its states are in another one of the ways in which real runs mix them"));
        return;
    }
    if key.starts_with("StatefulSet/") && seen.iter().any(|it| is_coalesced(it, mine)) {
        verdict.loose.push(format!("{key}: its status changed in one step here and in two there"));
        return;
    }
    let nearest = seen.iter().max_by_key(|it| longest_common(it, mine).len()).unwrap_or(&seen[0]);
    verdict.differences.push(told(key, nearest, mine));
}

/// Whether two sequences differ only in states that lie between two that both have: each value of such a state is that
/// of the one before or of the one after. So it is where a controller saw two changes at once on one of the clusters.
/// Where several pods go at once a count may fall meanwhile by as many. That a controller saw a set once more before it
/// went shows in nothing else.
fn is_coalesced(real: &[Value], mine: &[Value]) -> bool {
    let common = longest_common(real, mine);
    let gaps = |states: &[Value]| {
        let mut gaps = vec![Vec::new()];
        let mut next = common.iter().peekable();
        for state in states {
            if next.next_if(|it| *it == state).is_some() {
                gaps.push(Vec::new());
            } else if let Some(gap) = gaps.last_mut() {
                gap.push(state.clone());
            }
        }
        gaps
    };
    let within = |at: usize, states: &[Value]| {
        let (Some(before), Some(after)) = (at.checked_sub(1).and_then(|it| common.get(it)), common.get(at)) else {
            return states.is_empty();
        };
        let (many, is_over) = (at_once(before), after == "gone");
        states.iter().all(|state| {
            changes(before, state).into_iter().all(|(place, (was, is))| {
                let then = after.pointer(&place).cloned();
                is_status(&place) && (is_over || then == is || is_between(&was, &is, &then, many))
            })
        })
    };
    let all = |states: &[Value]| gaps(states).iter().enumerate().all(|(at, states)| within(at, states));
    all(real) && all(mine)
}

/// A count on its way, which may be so far below; one that is not shown is none, and nobody owns it.
fn is_between(was: &Option<Value>, is: &Option<Value>, then: &Option<Value>, below: i64) -> bool {
    let count = |value: &Option<Value>| value.as_ref().map_or(Some(0), Value::as_i64);
    match (count(was), count(is), count(then)) {
        (Some(was), Some(is), Some(then)) => (was.min(then) - below..=was.max(then)).contains(&is),
        // Who owns a count that falls to nothing.
        _ => below > 0 && is.is_none(),
    }
}

/// How many pods of a set go at once, by its update or by whoever deletes those of a parallel one, where that are several.
fn at_once(set: &Value) -> i64 {
    let count = |pointer: &str| set.pointer(pointer).and_then(Value::as_i64);
    let most = "/spec/updateStrategy/rollingUpdate/maxUnavailable";
    let share = set.pointer(most).and_then(Value::as_str).and_then(|it| it.strip_suffix('%')?.parse::<i64>().ok());
    let share = share.map(|it| it * count("/spec/replicas").unwrap_or(0) / 100);
    let all = || count("/spec/replicas").filter(|_| set["spec"]["podManagementPolicy"] == "Parallel");
    share.or(count(most)).or_else(all).filter(|it| *it > 1).unwrap_or(0)
}

fn is_status(place: &str) -> bool {
    place.starts_with("/status") || place.contains("/f:status/")
}

/// Both sequences as what changed, side by side.
fn told(key: &str, real: &[Value], mine: &[Value]) -> String {
    let mut text = format!("{key}: its states differ");
    let common = longest_common(real, mine);
    let (mut real, mut mine, mut common) = (real.iter().peekable(), mine.iter().peekable(), common.into_iter());
    let (mut before, mut printed) = (Value::Null, 0);
    loop {
        let next = common.next();
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        while let Some(state) = real.next_if(|it| Some(*it) != next.as_ref()) {
            theirs.push(state);
        }
        while let Some(state) = mine.next_if(|it| Some(*it) != next.as_ref()) {
            ours.push(state);
        }
        if let ([theirs], [ours]) = (theirs.as_slice(), ours.as_slice()) {
            for (place, (theirs, ours)) in changes(theirs, ours) {
                text.push_str(&format!("\n    * {place}: real {}, embedded {}", shown(&theirs), shown(&ours)));
            }
        } else {
            let mut base = before.clone();
            for state in theirs {
                text.push_str(&format!("\n    real only: {}", step_of(&base, state)));
                base = state.clone();
            }
            let mut base = before.clone();
            for state in ours {
                text.push_str(&format!("\n    embedded only: {}", step_of(&base, state)));
                base = state.clone();
            }
        }
        printed += 1;
        let Some(state) = next else { return text };
        if printed < 40 {
            text.push_str(&format!("\n    both: {}", step_of(&before, &state)));
        }
        real.next();
        mine.next();
        before = state;
    }
}

/// What is new in a state.
fn step_of(before: &Value, after: &Value) -> String {
    if before.is_null() {
        return format!("made: {}", shown(&Some(after["status"].clone())));
    }
    if !after.is_object() {
        return after.to_string();
    }
    let mut new = nothing();
    for (place, (_, value)) in changes(before, after) {
        new[place] = value.unwrap_or(Value::from("(gone)"));
    }
    shown(&Some(new))
}

fn longest_common(a: &[Value], b: &[Value]) -> Vec<Value> {
    let mut lengths = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i][j] =
                if a[i] == b[j] { lengths[i + 1][j + 1] + 1 } else { lengths[i + 1][j].max(lengths[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut common) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            common.push(a[i].clone());
            (i, j) = (i + 1, j + 1);
        } else if lengths[i + 1][j] >= lengths[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    common
}

/// What of `wanted` does not stand in `there`, in this order.
fn missing(wanted: &[Value], there: &[Value]) -> Vec<Value> {
    let mut from = 0;
    let mut missing = Vec::new();
    for value in wanted {
        match there[from..].iter().position(|it| it == value) {
            Some(at) => from += at + 1,
            None => missing.push(value.clone()),
        }
    }
    missing
}

/// A recording without what is not compared.
fn comparable(mut real: Recording) -> Recording {
    real.steps.iter_mut().flatten().for_each(without_internals);
    real.objects.values_mut().flatten().for_each(|it| it.retain(|it| !is_waiting_for_claims(it)));
    let mut events = BTreeMap::new();
    for (event, runs) in real.events.iter().filter(|it| !about_claims(it.0)) {
        *events.entry(told_outside(event)).or_default() += runs;
    }
    real.events = events;
    real
}

/// A message up to what it tells of Go's structs and parsers.
fn told_outside(text: &str) -> String {
    let marks = ["previously negative)", "error decoding YAML: "];
    let end = marks.iter().filter_map(|mark| Some(text.find(mark)? + mark.len())).min();
    end.map_or(text, |end| &text[..end]).to_owned()
}

/// Cuts off what messages tell of Go's structs and parsers.
fn without_internals(value: &mut Value) {
    match value {
        Value::String(text) => *text = told_outside(text),
        Value::Array(items) => items.iter_mut().for_each(without_internals),
        Value::Object(map) => map.values_mut().for_each(without_internals),
        _ => {}
    }
}

/// The set that a line of the story is about, as far as its order is somebody's decision: pods, revisions and the set
/// itself, until it is deleted.
fn set_of(line: &str) -> Option<&str> {
    let (kind, rest) = line.split_once('/')?;
    let (name, what) = rest.split_once('#')?;
    match kind {
        "Pod" => name.rsplit_once('-').map(|it| it.0),
        "ControllerRevision" if what.contains(" made") || what.contains(" number") => {
            name.rsplit_once('-').map(|it| it.0)
        }
        "StatefulSet" => Some(name),
        _ => None,
    }
    .filter(|_| !what.contains(" owned by "))
}

/// What comes before what in every real run, comes so here.
fn order(recording: &Recording, mine: &Trace, verdict: &mut Verdict) {
    let (real, story) = (&recording.stories, &mine.story);
    if real.iter().any(|it| it == story) {
        return;
    }
    let Some(first) = real.first() else { return };
    let parallel: BTreeSet<&str> = mine
        .objects
        .iter()
        .filter(|it| it.1.iter().any(|state| state["spec"]["podManagementPolicy"] == "Parallel"))
        .filter_map(|it| it.0.strip_prefix("StatefulSet/")?.split('#').next())
        .collect();
    let places: Vec<BTreeMap<&str, usize>> =
        real.iter().map(|it| it.iter().enumerate().map(|(at, line)| (line.as_str(), at)).collect()).collect();
    let mut wrong = Vec::new();
    for line in first.iter().filter(|line| places.iter().all(|it| it.contains_key(line.as_str()))) {
        if !story.contains(line) {
            wrong.push(format!("never: {line}"));
        }
    }
    for line in story.iter().filter(|line| !places.iter().any(|it| it.contains_key(line.as_str()))) {
        wrong.push(format!("only embedded: {line}"));
    }
    let mut over: BTreeSet<&str> = BTreeSet::new();
    for (at, early) in story.iter().enumerate() {
        let Some(set) = set_of(early).filter(|set| !parallel.contains(set) && !over.contains(set)) else { continue };
        if early.starts_with("StatefulSet/") && (early.contains(" terminating") || early.contains(" gone")) {
            over.insert(set);
        }
        for late in story[at + 1..].iter().filter(|late| set_of(late) == Some(set)) {
            let both: Vec<_> =
                places.iter().filter_map(|it| Some((it.get(early.as_str())?, it.get(late.as_str())?))).collect();
            if !both.is_empty() && both.iter().all(|(early, late)| early > late) && wrong.len() < 8 {
                wrong.push(format!("`{early}` comes before `{late}`, really after"));
            }
        }
    }
    if wrong.is_empty() {
        verdict.loose.push("the order is another one of those that are left open".into());
    } else {
        verdict.differences.push(format!("the order of what happens: {}", wrong.join("; ")));
    }
}

#[test]
fn what_is_known_of_one_step_covers_no_other() {
    let step = |name: &str, code: u16| serde_json::json!({"step": name, "code": code, "body": {"a": code}});
    let trace =
        |codes: [u16; 2]| Trace { steps: vec![step("GET a", codes[0]), step("GET b", codes[1])], ..Trace::default() };
    let mut real = Recording::default();
    real.add(&trace([200, 200]));
    let found = |codes, known: &[&str]| {
        let verdict = compare(&real, &trace(codes), known);
        (verdict.differences.len(), verdict.known.len())
    };
    assert_eq!(found([200, 200], &[]), (0, 0));
    assert_eq!(found([404, 200], &["GET a"]), (0, 1));
    assert_eq!(found([404, 404], &["GET a"]), (1, 1));
    // What differs no longer is no longer to be marked.
    assert_eq!(found([200, 200], &["GET a"]), (1, 0));
}

#[test]
fn a_status_may_take_other_steps_but_no_other_way() {
    let state = |most: Value, counts: [i64; 2], name: &str| {
        let spec = serde_json::json!({"replicas": 5, "updateStrategy": {"rollingUpdate": {"maxUnavailable": most}}});
        serde_json::json!({"name": name, "spec": spec, "status": {"replicas": counts[0], "updatedReplicas": counts[1]}})
    };
    let run = |most: &Value, counts: &[[i64; 2]]| -> Vec<Value> {
        counts.iter().map(|it| state(most.clone(), *it, "web")).collect()
    };
    for most in [Value::from(2), Value::from("50%")] {
        let real = run(&most, &[[5, 0], [4, 0], [5, 1], [4, 1], [5, 2]]);
        assert!(is_coalesced(&real, &run(&most, &[[5, 0], [3, 0], [5, 2]])));
        assert!(!is_coalesced(&real, &run(&most, &[[5, 0], [2, 0], [5, 2]])));
        assert!(!is_coalesced(&real, &run(&most, &[[5, 0], [5, 3], [5, 2]])));
        let mut renamed = run(&most, &[[5, 0], [3, 0], [5, 2]]);
        renamed[1] = state(most, [3, 0], "other");
        assert!(!is_coalesced(&real, &renamed));
    }
    let one = Value::from(1);
    assert!(is_coalesced(&run(&one, &[[5, 0], [4, 1], [4, 2]]), &run(&one, &[[5, 0], [4, 2]])));
    assert!(!is_coalesced(&run(&one, &[[5, 0], [5, 1]]), &run(&one, &[[5, 0], [3, 0], [5, 1]])));
}
