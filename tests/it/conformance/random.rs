//! Sequences of requests by a seed: scripts like any other, made smaller where the clusters differ on them.

use serde_json::{Value, json};

use super::script::{self, Case};

/// How many requests a sequence has.
const LENGTH: usize = 8;

/// The script of a seed.
pub(super) fn generated(seed: u64) -> String {
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut steps = vec![create(&mut chance, "a"), json!("settle")];
    for _ in 0..LENGTH {
        steps.push(request(&mut chance));
        // Some requests come while the one before is still being worked on, most when all is at rest.
        if chance.u8(..4) > 0 {
            steps.push(json!({"settle": "400ms"}));
        }
    }
    steps.extend([json!("settle"), json!("GET sts"), json!("GET crs"), json!("META pods"), json!("GET pvcs")]);
    text(&format!("a sequence by chance, seed {seed}"), &steps)
}

fn text(title: &str, steps: &[Value]) -> String {
    serde_yaml::to_string(&json!({"case": title, "steps": steps})).expect("JSON is YAML")
}

fn create(chance: &mut fastrand::Rng, name: &str) -> Value {
    let object = if chance.u8(..4) == 0 { "db" } else { "web" };
    let policy = if chance.bool() { "OrderedReady" } else { "Parallel" };
    let (replicas, image) = (chance.u8(..4), image(chance));
    let strategy = match chance.u8(..5) {
        0 => json!({"type": "OnDelete"}),
        1 => json!({"type": "RollingUpdate"}),
        2 => json!({"rollingUpdate": {"partition": chance.u8(..4)}}),
        _ => json!(null),
    };
    let from = format!("{object} name={name} replicas={replicas} policy={policy} image={image}");
    json!({"POST sts": {"from": from, "spec": {"updateStrategy": strategy}}})
}

fn image(chance: &mut fastrand::Rng) -> &'static str {
    const IMAGES: [&str; 8] = ["app:1", "app:1", "app:2", "app:2", "app:3", "app:never-ready", "app:pull", "app:crash"];
    IMAGES[chance.usize(..IMAGES.len())]
}

fn request(chance: &mut fastrand::Rng) -> Value {
    // `b` is often not there: what is answered then is compared too.
    let set = if chance.u8(..6) == 0 { "b" } else { "a" };
    let sts = format!("sts/{set}");
    let pod = format!("pods/{set}-{}", chance.u8(..3));
    let one = |key: String, value: Value| Value::Object([(key, value)].into_iter().collect());
    match chance.u8(..15) {
        0..=2 => one(format!("IMAGE {sts}"), image(chance).into()),
        3 | 4 => one(format!("MERGE {sts}"), json!({"spec": {"replicas": chance.u8(..4)}})),
        5 => one(format!("MERGE {sts}/scale"), json!({"spec": {"replicas": chance.u8(..4)}})),
        6 => one(
            format!("MERGE {sts}"),
            json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": chance.u8(..4)}}}}),
        ),
        7 => one(
            format!("MERGE {sts}"),
            json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
        ),
        8 | 9 => Value::String(format!("DELETE {pod}")),
        10 => one(format!("MERGE {pod}"), json!({"metadata": {"annotations": {"fault.phaseline.dev": "unready"}}})),
        11 => one(format!("MERGE {pod}/status"), json!({"status": {"phase": "Failed"}})),
        12 => create(chance, set),
        13 => {
            let policy = if chance.bool() { "Background" } else { "Orphan" };
            one(format!("DELETE {sts}"), json!({"propagationPolicy": policy}))
        }
        _ => {
            let label = if chance.bool() { json!(set) } else { json!("somebody") };
            one(format!("MERGE {pod}"), json!({"metadata": {"labels": {"app": label}}}))
        }
    }
}

/// The smallest script found on which `differs` still says so; it is asked a bounded number of times.
pub(super) fn shrunk(text: &str, mut differs: impl FnMut(&Case) -> bool) -> String {
    const MOST: usize = 40;
    let file: Value = serde_yaml::from_str(text).expect("it was read before");
    let title = file["case"].as_str().unwrap_or_default().to_owned();
    let mut steps = file["steps"].as_array().cloned().unwrap_or_default();
    let mut asked = 0;
    let mut at = steps.len();
    while at > 0 && asked < MOST {
        at -= 1;
        let mut fewer = steps.clone();
        fewer.remove(at);
        let text = self::text(&title, &fewer);
        let Ok(case) = script::read("random/shrinking", &text) else { continue };
        asked += 1;
        if differs(&case) {
            steps = fewer;
        }
    }
    self::text(&title, &steps)
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
    let differs = |case: &Case| case.steps.iter().any(|it| format!("{it:?}").contains("crs"));
    let small = shrunk(&text, differs);
    assert_eq!(script::read("random/it", &small).unwrap().steps.len(), 1, "{small}");
}
