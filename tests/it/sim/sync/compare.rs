//! Runs our controller on a world and compares what it does with what the real one did.

use phaseline::sim::controllers::stateful_set::StatefulSets;
use phaseline::sim::{Compat, Version};
use serde_json::{Value, json};

use super::still::Still;

/// What our controller does on a world, in the form of the oracle's answer.
pub(super) fn ours(world: &Value, version: Version) -> Value {
    let compat = Compat { version, max_unavailable: world["maxUnavailable"] == true };
    let mut still = Still::of(world);
    let now = world["now"].as_str().unwrap().parse().unwrap();
    let outcome = StatefulSets::new(compat).sync(&mut still, "shop", "web", now);
    let errors = outcome.error.map(|error| error.messages().to_vec()).unwrap_or_default();
    let mut answer = json!({"effects": still.effects, "errors": errors});
    if let Some(after) = outcome.requeue_after {
        answer["requeueMillis"] = json!(i64::try_from(after.as_millis()).unwrap());
    }
    answer
}

/// Where ours and the real one's differ; none where they agree.
pub(super) fn difference(world: &Value, version: Version, answer: &Value) -> Option<String> {
    let (ours, theirs) = (plain(world, &ours(world, version)), plain(world, answer));
    if ours == theirs {
        return None;
    }
    for field in ["errors", "requeueMillis"] {
        if ours[field] != theirs[field] {
            return Some(format!("{field}: ours {}, theirs {}\n{}", ours[field], theirs[field], both(&ours, &theirs)));
        }
    }
    Some(both(&ours, &theirs))
}

/// The effects side by side, the first that differ in full.
fn both(ours: &Value, theirs: &Value) -> String {
    let list = |answer: &Value| answer["effects"].as_array().cloned().unwrap_or_default();
    let (ours, theirs) = (list(ours), list(theirs));
    let at = ours.iter().zip(&theirs).position(|(one, other)| one != other).unwrap_or(ours.len().min(theirs.len()));
    let show = |effects: &[Value]| {
        let short = effects.iter().map(|it| match it["do"].as_str() {
            Some("event") => format!("  {}: {}", it["reason"], it["message"]),
            _ => format!("  {} {} {}", it["do"], it["what"], it["name"]),
        });
        let short = short.collect::<Vec<_>>().join("\n");
        format!("{short}\n  at {at}: {}", effects.get(at).unwrap_or(&Value::Null))
    };
    format!("ours:\n{}\ntheirs:\n{}", show(&ours), show(&theirs))
}

/// An answer without what may differ: the order of what Go does at once or takes from a map, and what its types write
/// that says nothing.
fn plain(world: &Value, answer: &Value) -> Value {
    let parallel = world["set"]["spec"]["podManagementPolicy"] == "Parallel";
    let effects = answer["effects"].as_array().cloned().unwrap_or_default();
    let mut effects: Vec<Value> = effects.into_iter().map(plain_effect).collect();
    // Requests about revisions and the status come one after the other; what lies between them may be mixed.
    let fixed = |it: &Value| it["what"] == "controllerrevisions" || it["do"] == "status";
    let adopts = |it: &Value| it["do"] == "patch" && it["what"] == "pods";
    let of_claim = |it: &Value| {
        (it["do"] == "create" && it["what"] == "persistentvolumeclaims")
            || it["message"].as_str().is_some_and(|it| it.contains(" Claim "))
    };
    if parallel {
        sort_runs(&mut effects, |it| !fixed(it));
    } else {
        sort_runs(&mut effects, adopts);
        sort_runs(&mut effects, of_claim);
    }
    let mut errors: Vec<String> =
        answer["errors"].as_array().into_iter().flatten().map(|it| it.as_str().unwrap().to_owned()).collect();
    errors.sort();
    json!({"effects": effects, "errors": errors, "requeueMillis": answer["requeueMillis"]})
}

/// Sorts each run of neighbours that `within` takes.
fn sort_runs(effects: &mut [Value], within: impl Fn(&Value) -> bool) {
    for run in effects.chunk_by_mut(|one, other| within(one) == within(other)) {
        if within(&run[0]) {
            run.sort_by_key(Value::to_string);
        }
    }
}

fn plain_effect(mut effect: Value) -> Value {
    let what = effect["what"].clone();
    if let Some(object) = effect.get_mut("object") {
        strip_nulls(object);
        if let Some(object) = object.as_object_mut() {
            object.remove("apiVersion");
            object.remove("kind");
            // It is in the URL.
            object.get_mut("metadata").and_then(Value::as_object_mut).and_then(|it| it.remove("namespace"));
            // At 1.33 its times are moved to the oracle's clock, and no controller writes it.
            if what == "pods" || object.get("status").is_some_and(|it| *it == json!({})) {
                object.remove("status");
            }
        }
        if let Some(volumes) = object.pointer_mut("/spec/volumes").and_then(Value::as_array_mut) {
            volumes.sort_by_key(Value::to_string);
        }
    }
    effect
}

fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(strip_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}
