//! Compares what the embedded cluster makes of writes, and who owns what then, with what Kubernetes makes of them.

use std::{collections::BTreeMap, env, time::Instant};

use phaseline::{
    manifest::default::Level,
    sim::apply::{Scope, keep_times, keep_times_of_scaled, ownership_of_parent, ownership_of_scale},
};
use serde_json::{Map, Value, json};

use super::{LEVELS, Oracle, minor, requests::Requests, shrink::shrink};

/// How many writes follow each other on one set.
const STEPS: u64 = 8;

/// How many sets are written to at once.
const BATCH: u64 = 200;

/// After so many differences there is enough to mend.
const MOST_SHOWN: usize = 5;

/// What becomes of a write: the set as it is stored, or the server's Status.
pub(super) type Outcome = Result<Value, Value>;

/// The write of a request to the oracle, `{"live", "verb", "subresource", "manager", "force", "body", "now"}`, on the
/// embedded cluster.
pub(super) fn ours(level: Level, write: &Value) -> Outcome {
    let text = |name: &str| write[name].as_str().unwrap_or_default();
    let live = write.get("live").filter(|live| !live.is_null());
    let set = Scope::stateful_set(level);
    let (sub, scope) = match text("subresource") {
        "" => ("", set),
        "status" => ("status", Scope::stateful_set_status(level)),
        other => (other, Scope::scale(level)),
    };
    // Through the scale subresource a set looks so.
    let at = if sub == "scale" { live.map(scale_of) } else { live.cloned() };
    let at = at.map(|at| scope.decoded(&at));
    let (manager, now, body) = (text("manager"), text("now"), &write["body"]);
    let update = |new: &Value| scope.updated(at.as_ref(), &scope.decoded(new), manager, now);
    let new = match text("verb") {
        "apply" => {
            let force = write["force"] == true;
            let applied = scope.apply(at.as_ref(), body, manager, force, now);
            scope.decoded(&applied.map_err(|error| error.status().to_json())?)
        }
        "merge" => {
            let mut new = at.clone().unwrap_or_default();
            merge(&mut new, body);
            update(&new)
        }
        _ => update(&without_doubled_owners(body)),
    };
    let mut new = without_doubled_owners(&new);
    let mut stored = match live {
        Some(live) if sub == "scale" => {
            let mut set = ownership_of_parent(live, &new);
            set["spec"]["replicas"] = new["spec"].get("replicas").cloned().unwrap_or_else(|| json!(0));
            set
        }
        Some(live) if sub == "status" => {
            new["spec"] = live["spec"].clone();
            new
        }
        Some(live) => {
            new["status"] = live["status"].clone();
            new
        }
        None => {
            new["status"] = Value::Null;
            new
        }
    };
    (stored["apiVersion"], stored["kind"]) = ("apps/v1".into(), "StatefulSet".into());
    stored = set.stored(&stored);
    if let Some(live) = live {
        for name in ["uid", "resourceVersion", "creationTimestamp", "generation", "namespace"] {
            if let Some(value) = live["metadata"].get(name) {
                stored["metadata"][name] = value.clone();
            }
        }
        let settle = if sub == "scale" { keep_times_of_scaled } else { keep_times };
        settle(live, &mut stored);
    }
    Ok(stored)
}

/// What the handlers do of their own accord, to what is put before it is known who owns what, and to all else behind.
fn without_doubled_owners(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(owners) = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut) {
        let mut seen = Vec::new();
        owners.retain(|owner| {
            let is_new = !seen.contains(owner);
            seen.push(owner.clone());
            is_new
        });
    }
    object
}

fn scale_of(set: &Value) -> Value {
    let mut metadata = Map::new();
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = set["metadata"].get(name) {
            metadata.insert(name.into(), value.clone());
        }
    }
    let managed = ownership_of_scale(set);
    if !managed.is_null() {
        metadata.insert("managedFields".into(), managed);
    }
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": {"replicas": set["spec"]["replicas"]},
        "status": {"replicas": set["status"]["replicas"], "selector": "app=web"},
    })
}

/// RFC 7386.
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    let value = value.as_object_mut().unwrap();
    for (name, patch) in patch {
        if patch.is_null() {
            value.remove(name);
        } else {
            merge(value.entry(name).or_insert(Value::Null), patch);
        }
    }
}

/// What is the same on either side: not what the storage gives, and causes in one order.
pub(super) fn compared(level: Level, outcome: &Outcome) -> Value {
    match outcome {
        Ok(set) => {
            let mut set = Scope::stateful_set(level).stored(set);
            for name in ["uid", "resourceVersion", "creationTimestamp", "generation", "namespace", "selfLink"] {
                set["metadata"].as_object_mut().unwrap().remove(name);
            }
            set
        }
        Err(status) => {
            let mut status = status.clone();
            if let Some(causes) = status.pointer_mut("/details/causes").and_then(Value::as_array_mut) {
                causes.sort_by_key(|cause| (cause["message"].to_string(), cause["field"].to_string()));
            }
            // Of several mistakes the server names some, in any order.
            let message = status["message"].as_str().unwrap_or_default().to_owned();
            if message.starts_with("failed to create typed patch object") {
                let (head, _) = message.split_once("): ").unwrap();
                let undeclared = message.contains("field not declared");
                if undeclared || message.contains("errors:") {
                    status["message"] = format!("{head}: {}", if undeclared { "undeclared" } else { "several" }).into();
                }
            }
            // What of a text is no time is said closer there.
            if let Some((head, _)) = message.split_once(": cannot parse") {
                status["message"] = head.into();
            }
            status
        }
    }
}

/// What Kubernetes says otherwise; none where validation refuses what is not validated here.
fn difference(level: Level, write: &Value, answer: &Value) -> Option<String> {
    let theirs = match answer["accepted"] == true {
        true => Ok(answer["object"].clone()),
        false => Err(answer["status"].clone()),
    };
    let code = theirs.as_ref().err().map_or(200, |status| status["code"].as_i64().unwrap_or_default());
    if matches!(code, 0 | 400 | 422) || (code != 200 && write["verb"] != "apply") {
        return None;
    }
    // There is no Scale of a set with a selector that validation would have refused.
    if code == 500 && write["subresource"] == "scale" && !answer["status"]["message"].to_string().contains("failed to")
    {
        return None;
    }
    let (ours, mut theirs) = (compared(level, &ours(level, write)), compared(level, &theirs));
    // Of several wrong quantities of a map the server tells any.
    let of_quantity = |status: &Value| status["message"].as_str().is_some_and(|message| message.contains("quantit"));
    if code == 500 && of_quantity(&ours) && of_quantity(&theirs) {
        theirs["message"] = ours["message"].clone();
    }
    let mut found = Vec::new();
    super::differential::differences("", &ours, &theirs, &mut found);
    (!found.is_empty()).then(|| found.join("\n"))
}

#[test]
fn writes_are_what_kubernetes_makes_of_them() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    // A tenth: each is several requests.
    let count = number("PHASELINE_DIFFERENTIAL").unwrap_or(2_000) / 10;
    let seed = number("PHASELINE_SEED").unwrap_or(1);
    let mut shown = Vec::new();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let start = Instant::now();
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        for first in (0..count).step_by(BATCH as usize) {
            let mut sequences: Vec<(Requests, Option<Value>)> = (first..count.min(first + BATCH))
                .map(|index| (Requests::of(level, seed.wrapping_mul(1_000_211).wrapping_add(index)), None))
                .collect();
            for step in 0..STEPS {
                let now = format!("2001-01-01T00:00:{:02}Z", step + 1);
                let writes: Vec<Value> =
                    sequences.iter_mut().map(|(requests, live)| requests.next(live.as_ref(), &now)).collect();
                let questions: Vec<Value> =
                    writes.iter().map(|write| json!({"mode": "write", "write": write})).collect();
                let answers = oracle.ask_all(&questions);
                for (((requests, live), write), answer) in sequences.iter_mut().zip(&writes).zip(answers) {
                    let verb = [write["verb"].as_str(), write["subresource"].as_str()];
                    let code = answer["status"]["code"].as_i64().unwrap_or(200);
                    let key = format!("{} {code}", verb.map(Option::unwrap_or_default).join("/"));
                    *outcomes.entry(key).or_default() += 1;
                    if let Some(first) = difference(level, write, &answer).filter(|_| shown.len() < MOST_SHOWN) {
                        // Smaller ones that differ in something else are another matter.
                        let about = first.split(": ").next().unwrap_or_default().to_owned();
                        let mut last = first;
                        let objects = json!({"live": write["live"], "body": write["body"]});
                        let smallest = shrink(&objects, |smaller| {
                            let smaller = sound(level, write, smaller);
                            let answer = oracle.ask(json!({"mode": "write", "write": smaller}));
                            let found = difference(level, &smaller, &answer).filter(|found| found.starts_with(&about));
                            last = found.clone().unwrap_or(std::mem::take(&mut last));
                            found.is_some()
                        });
                        let text = format!("{}: {last}\n  {}", minor(level), sound(level, write, &smallest));
                        println!("{text}");
                        shown.push(text);
                    }
                    if answer["accepted"] == true {
                        requests.taken(write);
                        let mut object = answer["object"].clone();
                        object["metadata"]["resourceVersion"] = "1".into();
                        *live = Some(object);
                    }
                }
            }
        }
        println!("Kubernetes {}: {outcomes:?}, seed {seed}, {:.0} s", minor(level), start.elapsed().as_secs_f64());
        if count >= 200 {
            for wanted in ["apply/ 200", "apply/ 409", "apply/ 500", "put/ 200", "merge/ 200", "merge/scale 200"] {
                assert!(outcomes.get(wanted).is_some_and(|count| *count >= 20), "hardly any: {wanted}");
            }
        }
    }
    assert!(shown.is_empty(), "seed {seed}: {} differences are shown above", shown.len());
}

/// A write with objects that were made smaller; the set is still one that could be stored.
fn sound(level: Level, write: &Value, objects: &Value) -> Value {
    let mut write = write.clone();
    write["body"] = objects["body"].clone();
    if write["live"].is_object() {
        let mut live = Scope::stateful_set(level).stored(&objects["live"]);
        if !live.is_object() {
            live = json!({"metadata": {}, "spec": {}});
        }
        for (name, value) in [("name", "web"), ("namespace", "default"), ("resourceVersion", "1"), ("uid", "1")] {
            live["metadata"][name] = value.into();
        }
        if let Some(owners) = live["metadata"].get_mut("managedFields").and_then(Value::as_array_mut) {
            owners.retain(|owner| owner["apiVersion"] == "apps/v1" && owner["fieldsV1"] != json!({}));
        }
        live["apiVersion"] = "apps/v1".into();
        live["kind"] = "StatefulSet".into();
        write["live"] = live;
    }
    write
}
