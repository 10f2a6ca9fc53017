//! The JSON Schema of a rollout plan, for editors: assembled from the same tables that the reader checks with.

use serde_json::{Map, Value, json};

use super::kind::{PLAN_KIND, SET_KIND};
use super::plan::{
    API_VERSION, MAX_ROLLBACK_WINDOW, MAX_SECONDS, MAX_STAGES, METADATA, PAUSE, RAMP, RAMP_RULES, ROLLBACK_WINDOW,
    SPEC, STAGE, TOP, WORKLOAD_REF,
};
use super::stateful_set;
use crate::model::Plan;

/// The schema of `rollout-plan.yaml`, draft 2020-12. The reader checks more than a schema can say.
pub fn plan_schema() -> Value {
    let mut schema = level(TOP.known, |key| match key {
        "apiVersion" => json!({"const": API_VERSION}),
        "kind" => json!({"const": PLAN_KIND}),
        "metadata" => metadata(),
        _ => spec(),
    });
    if let Some(map) = schema.as_object_mut() {
        map.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        map.insert("title".into(), PLAN_KIND.into());
        map.insert("description".into(), "How a StatefulSet is rolled out, stage by stage.".into());
        map.insert("required".into(), json!(["apiVersion", "kind", "spec"]));
    }
    schema
}

/// A mapping with exactly these keys.
fn level(keys: &[&str], describe: impl Fn(&str) -> Value) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), describe(key))).collect();
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

fn metadata() -> Value {
    level(METADATA.known, |key| match key {
        "name" | "namespace" => dns_label(),
        _ => json!({"type": "object", "additionalProperties": {"type": "string"}}),
    })
}

fn spec() -> Value {
    let mut spec = level(SPEC.known, |key| match key {
        "workloadRef" => workload_ref(),
        "progressDeadlineSeconds" => described(
            whole(1, MAX_SECONDS, Some(Plan::DEFAULT_PROGRESS_DEADLINE_SECONDS)),
            "Seconds without progress after which a stage has failed; not counted while paused.",
        ),
        "onFailure" => json!({"const": "Halt"}),
        "onNewRevision" => words(&["Continue", "Restart", "Queue", "Block"]),
        "rollbackWindow" => level(ROLLBACK_WINDOW.known, |_| {
            let revisions = whole(0, MAX_ROLLBACK_WINDOW, Some(Plan::DEFAULT_ROLLBACK_WINDOW));
            described(revisions, "A revert to one of that many proven revisions skips pauses.")
        }),
        "repairPolicy" => words(&["Delete", "None"]),
        "maxRestarts" => described(
            whole(0, i32::MAX as u32, Some(Plan::DEFAULT_MAX_RESTARTS)),
            "Container restarts of one updated pod after which its stage has failed.",
        ),
        "failureThreshold" => json!({"const": 0}),
        "stages" => json!({"type": "array", "minItems": 1, "maxItems": MAX_STAGES, "items": stage()}),
        _ => ramp(),
    });
    if let Some(map) = spec.as_object_mut() {
        map.insert("oneOf".into(), json!([{"required": ["stages"]}, {"required": ["ramp"]}]));
    }
    spec
}

fn workload_ref() -> Value {
    let mut reference = level(WORKLOAD_REF.known, |key| match key {
        "apiVersion" => json!({"const": stateful_set::API_VERSION}),
        "kind" => json!({"const": SET_KIND}),
        _ => dns_label(),
    });
    if let Some(map) = reference.as_object_mut() {
        map.insert("required".into(), json!(["name"]));
    }
    described(reference, "The StatefulSet it is for, in the plan's namespace; without it every one of its folder.")
}

fn stage() -> Value {
    let mut stage = level(STAGE.known, |key| match key {
        "name" => json!({"type": "string", "minLength": 1, "maxLength": 63}),
        "replicas" => described(
            json!({"anyOf": [whole(1, i32::MAX as u32, None), {"type": "string", "pattern": "^0*([1-9][0-9]?|100)%$"}]}),
            "How many pods in all run the new revision: a number, or a share rounded up.",
        ),
        "partition" => described(whole(0, i32::MAX as u32, None), "The same as Kubernetes' own partition."),
        "setWeight" => described(whole(1, 100, None), "The same as a share in percent."),
        "minReadySeconds" => soak(),
        _ => pause(),
    });
    if let Some(map) = stage.as_object_mut() {
        map.insert(
            "oneOf".into(),
            json!([{"required": ["replicas"]}, {"required": ["partition"]}, {"required": ["setWeight"]}]),
        );
    }
    stage
}

fn ramp() -> Value {
    let mut ramp = level(RAMP.known, |key| match key {
        "minReadySeconds" => soak(),
        "pause" => pause(),
        rule => match RAMP_RULES.iter().find(|(name, ..)| *name == rule) {
            Some((_, keys, least, does)) => {
                let mut rule = level(keys.known, |_| whole(*least, i32::MAX as u32, None));
                if let Some(map) = rule.as_object_mut() {
                    map.insert("required".into(), json!(keys.known));
                }
                described(rule, does)
            }
            None => json!({}),
        },
    });
    if let Some(map) = ramp.as_object_mut() {
        let rules: Vec<Value> = RAMP_RULES.iter().map(|(name, ..)| json!({"required": [name]})).collect();
        map.insert("oneOf".into(), rules.into());
    }
    ramp
}

fn soak() -> Value {
    described(
        whole(0, MAX_SECONDS, Some(0)),
        "How long every updated pod must have been Ready before the stage is done.",
    )
}

fn pause() -> Value {
    let duration = json!({"anyOf": [whole(0, MAX_SECONDS, None), {"type": "string"}]});
    let until = level(PAUSE.known, |_| described(duration.clone(), "Seconds, or text like `10m` and `1h30m`."));
    described(
        json!({"anyOf": [until, whole(0, MAX_SECONDS, None)]}),
        "The wait after it: `{}` until promoted, `{duration: 10m}`, or a number of seconds.",
    )
}

fn whole(least: u32, most: u32, default: Option<u32>) -> Value {
    let mut schema = json!({"type": "integer", "minimum": least, "maximum": most});
    if let (Some(default), Some(map)) = (default, schema.as_object_mut()) {
        map.insert("default".into(), default.into());
    }
    schema
}

/// Words as written, or all in lower case; the first is the default.
fn words(words: &[&str]) -> Value {
    let lower = words.iter().map(|word| word.to_lowercase());
    let all: Vec<String> = words.iter().map(|word| (*word).to_owned()).chain(lower).collect();
    json!({"enum": all, "default": words.first()})
}

fn dns_label() -> Value {
    json!({"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"})
}

fn described(mut schema: Value, words: &str) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.insert("description".into(), words.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A JSON Schema validator as far as the schema above goes.
    fn valid(schema: &Value, value: &Value) -> bool {
        let map = schema.as_object().unwrap();
        map.iter().all(|(word, rule)| match word.as_str() {
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "integer" => value.is_i64() || value.is_u64(),
                other => panic!("{other}"),
            },
            "minimum" => value.as_i64() >= rule.as_i64(),
            "maximum" => value.as_i64() <= rule.as_i64(),
            "minItems" => value.as_array().unwrap().len() as u64 >= rule.as_u64().unwrap(),
            "maxItems" => value.as_array().unwrap().len() as u64 <= rule.as_u64().unwrap(),
            "minLength" => value.as_str().unwrap().len() as u64 >= rule.as_u64().unwrap(),
            "maxLength" => value.as_str().unwrap().len() as u64 <= rule.as_u64().unwrap(),
            "items" => value.as_array().unwrap().iter().all(|item| valid(rule, item)),
            "required" => rule.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
            "properties" => {
                rule.as_object().unwrap().iter().all(|(k, rule)| value.get(k).is_none_or(|v| valid(rule, v)))
            }
            "additionalProperties" if rule == &json!(false) => {
                value.as_object().unwrap().keys().all(|key| map["properties"].get(key).is_some())
            }
            "anyOf" => rule.as_array().unwrap().iter().any(|rule| valid(rule, value)),
            "oneOf" => rule.as_array().unwrap().iter().filter(|rule| valid(rule, value)).count() == 1,
            _ => true,
        })
    }

    #[test]
    fn the_example_of_the_documentation_is_valid_and_misspelt_ones_are_not() {
        let (documents, findings) = crate::manifest::parse("rollout-plan.yaml", super::super::plan::EXAMPLE.as_bytes());
        assert_eq!(findings, []);
        let plan = documents[0].value.clone();
        let schema = plan_schema();
        assert!(valid(&schema, &plan));
        for (pointer, key) in
            [("", "x"), ("/spec", "stage"), ("/spec/stages/0", "parttion"), ("/spec/workloadRef", "x")]
        {
            let mut other = plan.clone();
            other.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert(key.into(), json!(1));
            assert!(!valid(&schema, &other), "{key}");
        }
        let mut both = plan.clone();
        both["spec"]["ramp"] = json!({"linear": {"step": 1}});
        assert!(!valid(&schema, &both));
        both["spec"].as_object_mut().unwrap().remove("stages");
        assert!(valid(&schema, &both));
    }

    #[test]
    fn every_mapping_of_the_schema_is_closed() {
        fn walk(schema: &Value) {
            if schema.get("properties").is_some() {
                assert_eq!(schema["additionalProperties"], json!(false));
            }
            match schema {
                Value::Object(map) => map.values().for_each(walk),
                Value::Array(list) => list.iter().for_each(walk),
                _ => {}
            }
        }
        walk(&plan_schema());
    }
}
