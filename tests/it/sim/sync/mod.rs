//! One sync of our StatefulSet controller against one of the real one, on the same world.
//!
//! `tests/controlplane/differential` generates worlds and asks the oracle; a few of them, and what once differed, are run
//! without Go.

mod compare;
mod generate;
mod recorded;
mod still;

use std::env;
use std::time::{Instant, SystemTime};

use phaseline::manifest::default::{self, Level};
use phaseline::sim::Version;
use serde_json::{Value, json};

use crate::oracle::{LEVELS, Oracle, minor, shrink::shrink};
use compare::difference;
use recorded::Recorder;

/// How many worlds are asked about at once.
const BATCH: u64 = 200;

/// After so many differences there is enough to mend.
const MOST_SHOWN: usize = 5;

fn version(level: Level) -> Version {
    match level {
        Level::V1_33 => Version::V1_33,
        Level::V1_36 => Version::V1_36,
    }
}

fn request(world: &Value) -> Value {
    json!({"mode": "sync", "world": world})
}

/// Whether a world could be: what a shrunk one lacks to be asked about at all.
fn is_sound(world: &Value, level: Level) -> bool {
    let texts = |object: &Value, fields: &[&str]| {
        fields.iter().all(|it| object.pointer(it).and_then(Value::as_str).is_some_and(|it| !it.is_empty()))
    };
    let named = ["/metadata/name", "/metadata/namespace"];
    let list = |field: &str| world[field].as_array().cloned().unwrap_or_default();
    let set = &world["set"];
    let all = |field: &str, needs: &[&str]| {
        list(field).iter().all(|it| texts(it, &named) && it["metadata"]["namespace"] == "shop" && texts(it, needs))
    };
    let owned = |object: &Value| {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).cloned().unwrap_or_default();
        owners.iter().all(|it| texts(it, &["/apiVersion", "/kind", "/name", "/uid"]))
    };
    texts(set, &named)
        && texts(set, &["/metadata/uid", "/spec/updateStrategy/type", "/spec/template/metadata/labels/app"])
        && texts(set, &["/spec/selector/matchLabels/app"])
        && ["OrderedReady", "Parallel"].iter().any(|it| set["spec"]["podManagementPolicy"] == *it)
        && ["RollingUpdate", "OnDelete"].iter().any(|it| set["spec"]["updateStrategy"]["type"] == *it)
        && texts(set, &["/spec/template/spec/containers/0/name"])
        && set["spec"]["template"] == default::template(&set["spec"]["template"], level)
        && set["metadata"]["name"] == "web"
        && set["metadata"]["namespace"] == "shop"
        && set["spec"]["replicas"].is_i64()
        && set["spec"]["revisionHistoryLimit"].is_i64()
        && set.pointer("/spec/updateStrategy/rollingUpdate").is_none_or(|it| it["partition"].is_i64())
        && set.pointer("/spec/persistentVolumeClaimRetentionPolicy").is_none_or(|it| {
            ["whenScaled", "whenDeleted"].iter().all(|field| it[*field] == "Retain" || it[*field] == "Delete")
        })
        && set["spec"]["volumeClaimTemplates"].as_array().is_none_or(|it| {
            it.iter().all(|it| texts(it, &["/metadata/name", "/spec/resources/requests/storage", "/status/phase"]))
        })
        && world["now"] == generate::NOW
        && list("refusals").iter().all(|it| {
            texts(it, &["/verb", "/resource", "/name", "/message"])
                && generate::REFUSALS.iter().any(|(code, reason)| it["code"] == *code && it["reason"] == *reason)
                && it["times"].is_i64()
        })
        && all("pods", &["/metadata/uid", "/status/phase", "/spec/containers/0/name"])
        && list("pods").iter().all(|it| it["spec"]["containers"][0]["resources"].is_object())
        && all("revisions", &["/data/spec/template/spec/containers/0/name", "/metadata/labels/app"])
        && list("revisions").iter().all(|it| it["data"]["spec"]["template"]["$patch"] == "replace")
        && all("claims", &["/spec/resources/requests/storage", "/status/phase"])
        && ["pods", "revisions", "claims"].iter().all(|field| list(field).iter().all(owned))
}

#[test]
fn a_sync_does_what_the_real_controller_does() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("PHASELINE_DIFFERENTIAL").unwrap_or(2_000);
    let by_clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let seed = number("PHASELINE_SEED").unwrap_or(by_clock);
    let mut shown = Vec::new();
    let mut recorder = Recorder::default();
    for level in LEVELS {
        let Some(mut oracle) = Oracle::of(level) else { return };
        let begun = Instant::now();
        let (mut effects, mut failed, mut at) = (0, 0, 0);
        while at < count && shown.len() < MOST_SHOWN {
            let seeds: Vec<u64> =
                (at..count.min(at + BATCH)).map(|it| seed.wrapping_mul(1_000_003).wrapping_add(it)).collect();
            let worlds: Vec<Value> = seeds.iter().map(|seed| generate::world(*seed, level)).collect();
            let answers = oracle.ask_all(&worlds.iter().map(request).collect::<Vec<_>>());
            for ((world, answer), seed) in worlds.iter().zip(&answers).zip(seeds) {
                effects += answer["effects"].as_array().map_or(0, Vec::len);
                failed += u64::from(answer["errors"] != json!([]));
                recorder.see(seed, minor(level), world, answer);
                let found = difference(world, version(level), answer).filter(|_| shown.len() < MOST_SHOWN);
                let Some(found) = found else { continue };
                let mut theirs = |world: &Value| oracle.answers(&[request(world)]).remove(0);
                let smallest = shrink(world, |smaller| {
                    is_sound(smaller, level) && {
                        let answer = theirs(smaller);
                        answer.get("failure").is_none() && difference(smaller, version(level), &answer).is_some()
                    }
                });
                let answer = theirs(&smallest);
                let what = difference(&smallest, version(level), &answer).unwrap_or_default();
                let case = json!({"name": format!("seed {seed}"), "version": minor(level), "world": smallest, "answer": answer});
                shown.push(format!("{} seed {seed}:\n{found}\nshrunk:\n{what}\n{case}", minor(level)));
            }
            at += BATCH;
        }
        println!(
            "{}: {count} worlds, {effects} effects, {failed} syncs with errors, seed {seed}, {:.0?}",
            minor(level),
            begun.elapsed()
        );
    }
    recorder.write();
    assert!(shown.is_empty(), "seed {seed}:\n{}", shown.join("\n\n"));
}
