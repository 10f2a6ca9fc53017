//! Sequences of requests by a seed: scripts like any other, made smaller where the clusters differ on them.

use serde_json::{Value, json};

use super::{
    requests,
    script::{self, Case, Step},
};

/// How many requests a sequence about sets has, and one about things that no controller touches.
const LENGTHS: [usize; 2] = [8, 30];

/// The script of a seed. An odd one is about things that no controller touches; of the others, every second one has
/// requests that come while the one before is still being worked on.
pub(super) fn generated(seed: u64) -> String {
    let mut chance = fastrand::Rng::with_seed(seed);
    let (is_quiet, is_hasty) = (seed % 2 == 1, seed.is_multiple_of(4));
    let mut steps = if is_quiet {
        vec![json!({"POST sts": {"from": "web name=a replicas=0"}}), json!({"POST pods": {"from": "pod name=p"}})]
    } else {
        vec![requests::create(&mut chance, "a")]
    };
    steps.push("settle".into());
    steps
        .push(json!({"keep": {"was": "${sts/a /metadata/resourceVersion}", "at": "${sts /metadata/resourceVersion}"}}));
    for _ in 0..LENGTHS[usize::from(is_quiet)] {
        let step = if is_quiet { requests::of_things(&mut chance) } else { requests::of_sets(&mut chance) };
        let waits = if is_quiet { about_cluster(&step) } else { !is_hasty || chance.u8(..4) > 0 };
        steps.push(step);
        if waits {
            steps.push(json!({"settle": "400ms"}));
        }
    }
    let last = ["settle", "GET sts", "GET crs", "META pods", "GET pvcs", "GET secrets", "GET leases"];
    steps.extend(last.map(Value::from));
    text(&format!("a sequence by chance, seed {seed}"), &steps)
}

/// Whether a step is about what the cluster's own programs look at.
fn about_cluster(step: &Value) -> bool {
    let text = step.to_string();
    ["sts", "pods"].iter().any(|kind| text.contains(kind))
}

fn text(title: &str, steps: &[Value]) -> String {
    serde_yaml::to_string(&json!({"case": title, "steps": steps})).expect("JSON is YAML")
}

/// The smallest script found on which `differs` still says so; it is asked a bounded number of times.
pub(super) fn shrunk(text: &str, mut differs: impl FnMut(&Case) -> bool) -> String {
    const MOST: usize = 60;
    let file: Value = serde_yaml::from_str(text).expect("it was read before");
    let title = file["case"].as_str().unwrap_or_default().to_owned();
    let steps = file["steps"].as_array().cloned().unwrap_or_default();
    // A step goes with the waiting behind it: without that it would be another matter.
    let mut parts: Vec<Vec<Value>> = Vec::new();
    for step in steps {
        match parts.last_mut() {
            Some(part) if step == "settle" || step.get("settle").is_some() => part.push(step),
            _ => parts.push(vec![step]),
        }
    }
    let mut asked = 0;
    // First half of them at once, then ever fewer.
    let mut size = parts.len() / 2;
    while size > 0 {
        let mut end = parts.len();
        while end > 0 && asked < MOST {
            let start = end.saturating_sub(size);
            let mut fewer = parts.clone();
            // What is kept is needed later.
            fewer.splice(start..end, parts[start..end].iter().filter(|it| it[0].get("keep").is_some()).cloned());
            let (before, text) = (parts.len(), self::text(&title, &fewer.concat()));
            end = start;
            let Ok(case) = script::read("random/shrinking", &text) else { continue };
            if fewer.len() == before {
                continue;
            }
            asked += 1;
            if differs(&case) {
                parts = fewer;
            }
        }
        size /= 2;
    }
    self::text(&title, &parts.concat())
}

#[test]
fn a_sequence_is_a_script_and_the_same_each_time() {
    for seed in 0..200 {
        let text = generated(seed);
        assert!(script::read("random/it", &text).is_ok(), "{text}");
        assert_eq!(text, generated(seed));
    }
}

#[test]
fn a_sequence_shrinks_to_what_differs() {
    let text = generated(7);
    let is_one = |it: &Step| matches!(it, Step::Request(request) if request.path == "pvcs");
    let differs = |case: &Case| case.steps.iter().any(is_one);
    let small = shrunk(&text, differs);
    let steps = script::read("random/it", &small).unwrap().steps;
    let requests = steps.iter().filter(|it| matches!(it, Step::Request(_)));
    assert_eq!(requests.count(), 1, "{small}");
}
