//! Plays the cases on real planes and on the embedded cluster; `tests/conformance/run` starts it.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::Value;

use kube::config::{KubeConfigOptions, Kubeconfig};

use super::{
    compare::{Verdict, compare},
    embedded,
    kubectl::Kubectl,
    level::Level,
    memory::Memory,
    normal::normalized,
    pack,
    play::{Stage, play},
    random,
    record::Recording,
    report::{Played, report},
    script::{self, Case, Step},
    trace::Trace,
};
use crate::controlplane::{ControlPlane, Options};

/// Where recordings lie.
pub(super) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/conformance")
}

/// What was recorded of the cases of a folder.
pub(super) fn recordings(level: Level, kind: &str) -> BTreeMap<String, Recording> {
    match fs::read_to_string(file(level, kind)) {
        Ok(text) => pack::unpack(&text).unwrap_or_else(|why| panic!("{}: {why}", file(level, kind).display())),
        Err(_) => BTreeMap::new(),
    }
}

fn file(level: Level, kind: &str) -> PathBuf {
    folder().join(level.name()).join(format!("{kind}.json"))
}

/// Keeps what was recorded anew, beside what was recorded before of cases that are still there.
fn keep(level: Level, new: &BTreeMap<String, Recording>, cases: &[Case]) {
    let kind_of = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
    let kinds: BTreeSet<String> = new.keys().map(|it| kind_of(it)).collect();
    for kind in kinds {
        let mut all = recordings(level, &kind);
        all.extend(new.iter().filter(|it| kind_of(it.0) == kind).map(|(name, it)| (name.clone(), it.clone())));
        all.retain(|name, _| cases.iter().any(|it| it.name == *name && it.levels.contains(&level)));
        fs::create_dir_all(folder().join(level.name())).unwrap();
        fs::write(file(level, &kind), pack::pack(&all)).unwrap();
    }
}

/// A connection for the current runtime.
pub(super) async fn stage(kubeconfig: &std::path::Path, kubectl: Option<&std::path::Path>) -> Result<Stage, String> {
    let config = Kubeconfig::read_from(kubeconfig).map_err(|it| it.to_string())?;
    let mut config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
        .await
        .map_err(|it| it.to_string())?;
    config.read_timeout = None;
    // What is refused is compared, not tried again.
    config.default_retry = false;
    let client = kube::Client::try_from(config).map_err(|it| it.to_string())?;
    let kubectl = kubectl.map(|it| Kubectl::new(it, client.clone()));
    Ok(Stage { client, kubectl, memory: Memory::of_plane(kubeconfig)? })
}

/// Whether a case needs the real `kubectl`.
pub(super) fn needs_kubectl(case: &Case) -> bool {
    case.steps.iter().any(|it| matches!(it, Step::Kubectl(_) | Step::Start(_)))
}

static NAMESPACES: AtomicUsize = AtomicUsize::new(1);

/// Plays a case once over HTTP.
pub(super) fn once(
    case: &Case,
    kubeconfig: &std::path::Path,
    kubectl: Option<&std::path::Path>,
) -> Result<Trace, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|it| it.to_string())?;
    let namespace = format!("conf-n{:05}", NAMESPACES.fetch_add(1, Ordering::Relaxed));
    runtime.block_on(async {
        let stage = stage(kubeconfig, kubectl).await?;
        play(case, &stage, &namespace).await.map(|raw| normalized(&raw))
    })
}

/// Does something for each item on some threads; results in the order of the items.
pub(super) fn each<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((at, item)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
                {
                    let result = work(item);
                    done.lock().unwrap().insert(at, result);
                }
            });
        }
    });
    done.into_inner().unwrap().into_values().collect()
}

/// A case on a real plane, so many times.
fn recorded(case: &Case, plane: &ControlPlane, runs: usize) -> Result<Recording, String> {
    // kwok deletes a pod twice at times and so hits the next one of its name. Such a run counts only where the script
    // itself lets pods vanish at once, that is, where others are like it.
    let mut groups: BTreeMap<Vec<String>, Vec<Trace>> = BTreeMap::new();
    for _ in 0..runs * 3 {
        let trace = once(case, &plane.kubeconfig(), Some(plane.kubectl_path()))?;
        if let Some(failed) = trace.steps.iter().find(|it| !it["failed"].is_null()) {
            return Err(failed.to_string());
        }
        let group = groups.entry(vanished(&trace)).or_default();
        group.push(trace);
        if group.len() == runs {
            break;
        }
    }
    let most = groups.into_values().max_by_key(Vec::len).unwrap_or_default();
    let mut recording = Recording::default();
    most.iter().for_each(|trace| recording.add(trace));
    Ok(recording)
}

/// Pods that went without having been seen to terminate.
fn vanished(trace: &Trace) -> Vec<String> {
    let terminated = |states: &[Value]| states.iter().any(|it| it.pointer("/metadata/deletionTimestamp").is_some());
    let pods = trace.objects.iter().filter(|it| it.0.starts_with("Pod/") && it.1.last().is_some_and(|it| it == "gone"));
    pods.filter(|it| !terminated(it.1)).map(|it| it.0.clone()).collect()
}

/// Holds the embedded cluster against a recording.
pub(super) fn held(case: &Case, level: Level, real: &Recording, kubectl: Option<&std::path::Path>) -> Verdict {
    if real_only() {
        return Verdict::default();
    }
    match embedded::once(case, level, kubectl) {
        Ok(trace) => compare(real, &trace, &case.known_at(level)),
        Err(why) => Verdict { differences: vec![why], ..Verdict::default() },
    }
}

/// What came of all cases of a level, and what could not be played on a real plane.
fn level_played(level: Level, cases: &[Case]) -> (BTreeMap<String, (Recording, Verdict)>, Vec<String>) {
    let number = |name: &str, default| env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default);
    let (runs, threads) = (number("PHASELINE_CONFORMANCE_RUNS", 3), number("PHASELINE_CONFORMANCE_THREADS", 6));
    if env::var("PHASELINE_CONFORMANCE_RECORDED").is_ok() {
        return from_recordings(level, cases, threads);
    }
    let plane = ControlPlane::start_with(level.version(), &level.options()).expect("a control plane");
    eprintln!("{}: {} cases, {runs} runs each", level.name(), cases.len());
    let work = |case: &Case| {
        let mut result = recorded(case, &plane, runs).map(|real| {
            let verdict = held(case, level, &real, Some(plane.kubectl_path()));
            (real, verdict)
        });
        // What two real runs do not agree in is learnt from more of them before it counts as a difference.
        for _ in 0..number("PHASELINE_CONFORMANCE_MORE", 6) {
            let Ok((real, verdict)) = &mut result else { break };
            if verdict.differences.is_empty() {
                break;
            }
            match recorded(case, &plane, 1) {
                Ok(more) => real.merge(&more),
                Err(why) => result = Err(why),
            }
            if let Ok((real, verdict)) = &mut result {
                *verdict = held(case, level, real, Some(plane.kubectl_path()));
            }
        }
        match &result {
            Ok((_, verdict)) if verdict.differences.is_empty() => eprintln!("{} {}: ok", level.name(), case.name),
            Ok((_, verdict)) => {
                eprintln!("{} {}: differs\n  {}", level.name(), case.name, verdict.differences.join("\n  "));
            }
            Err(why) => eprintln!("{} {}: {why}", level.name(), case.name),
        }
        result
    };
    // What a cluster forgets it forgets for everybody: then nobody else is at work.
    let (alone, together): (Vec<Case>, Vec<Case>) =
        cases.iter().cloned().partition(|it| it.steps.contains(&Step::Forget));
    let mut results = each(&together, threads, work);
    results.extend(each(&alone, 1, work));
    let (mut played, mut broken) = (BTreeMap::new(), Vec::new());
    for (case, result) in together.iter().chain(&alone).zip(results) {
        match result {
            Ok(it) => drop(played.insert(case.name.clone(), it)),
            Err(why) => broken.push(format!("{} {}: {why}", level.name(), case.name)),
        }
    }
    (played, broken)
}

/// The same against what was recorded; `kubectl` is needed all the same.
fn from_recordings(
    level: Level,
    cases: &[Case],
    threads: usize,
) -> (BTreeMap<String, (Recording, Verdict)>, Vec<String>) {
    let recorded = recorded_of(level, cases);
    let kubectl = Options::kubectl(level.version());
    let verdicts = each(cases, threads, |case| {
        recorded.get(&case.name).map(|real| (real.clone(), held(case, level, real, Some(&kubectl))))
    });
    let (mut played, mut broken) = (BTreeMap::new(), Vec::new());
    for (case, verdict) in cases.iter().zip(verdicts) {
        match verdict {
            Some(it) => drop(played.insert(case.name.clone(), it)),
            None => broken.push(format!("{} {}: not recorded", level.name(), case.name)),
        }
    }
    (played, broken)
}

fn recorded_of(level: Level, cases: &[Case]) -> BTreeMap<String, Recording> {
    let kinds: BTreeSet<&str> = cases.iter().filter_map(|it| it.name.split('/').next()).collect();
    kinds.into_iter().flat_map(|kind| recordings(level, kind)).collect()
}

#[test]
fn conformance_of_the_real_ones() {
    let Ok(levels) = env::var("PHASELINE_CONFORMANCE") else { return };
    let filter = env::var("PHASELINE_CONFORMANCE_FILTER").unwrap_or_default();
    let record = env::var("PHASELINE_CONFORMANCE_RECORD").is_ok();
    let (mut wrong, mut all) = (Vec::new(), Played::new());
    for level in levels.split_whitespace().map(|it| Level::named(it).expect("a level")) {
        let wanted = |it: &Case| it.levels.contains(&level) && it.name.contains(&filter) && it.embedded_only.is_none();
        let cases: Vec<Case> = script::all().into_iter().filter(wanted).collect();
        if cases.is_empty() {
            continue;
        }
        let (played, broken) = level_played(level, &cases);
        wrong.extend(broken);
        let differ = played.iter().filter(|it| !it.1.1.differences.is_empty());
        wrong.extend(differ.map(|it| format!("{} {}", level.name(), it.0)));
        if record {
            let new = played.iter().map(|(name, (recording, _))| (name.clone(), recording.clone())).collect();
            keep(level, &new, &script::all());
        }
        all.insert(level, played);
    }
    if filter.is_empty() && all.len() == Level::ALL.len() && !real_only() {
        fs::write(script::folder().join("REPORT.md"), report(&all)).unwrap();
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn real_only() -> bool {
    env::var("PHASELINE_CONFORMANCE_REAL").is_ok()
}

/// Sequences by chance, on both; one that differs is made smaller and becomes a case.
#[test]
fn conformance_of_sequences_by_chance() {
    let Some(count) = env::var("PHASELINE_CONFORMANCE_RANDOM").ok().and_then(|it| it.parse::<u64>().ok()) else {
        return;
    };
    let seed = env::var("PHASELINE_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    let level = env::var("PHASELINE_CONFORMANCE").unwrap_or_else(|_| "1.36".into());
    let level = Level::named(&level).expect("a level");
    let plane = ControlPlane::start_with(level.version(), &level.options()).expect("a control plane");
    let differs = |case: &Case, runs: usize| match recorded(case, &plane, runs) {
        Ok(real) => held(case, level, &real, None).differences,
        Err(why) => {
            eprintln!("{}: {why}", case.name);
            Vec::new()
        }
    };
    let seeds: Vec<u64> = (seed..seed + count).collect();
    let found = each(&seeds, 6, |seed| {
        let text = random::generated(*seed);
        let case = script::read(&format!("random/seed-{seed}"), &text).expect("a script");
        let first = differs(&case, 3);
        let told = if first.is_empty() { "alike".into() } else { format!("differs\n  {}", first.join("\n  ")) };
        eprintln!("seed {seed} at {}: {told}", level.name());
        if !first.is_empty() {
            eprintln!("{text}");
        }
        // Whether it differs also from more runs.
        if first.is_empty() || differs(&case, 6).is_empty() {
            return None;
        }
        let small = random::shrunk(&text, |case| !differs(case, 3).is_empty());
        let file = script::folder().join("random").join(format!("seed-{seed}-at-{}.yaml", level.name()));
        let kept = fs::create_dir_all(script::folder().join("random")).and_then(|()| fs::write(&file, &small));
        kept.expect("the script is kept");
        Some(format!("seed {seed}:\n{small}\n  {}", first.join("\n  ")))
    });
    let found: Vec<String> = found.into_iter().flatten().collect();
    assert!(found.is_empty(), "{} of {count} sequences differ:\n{}", found.len(), found.join("\n"));
}

/// Plain `cargo test`: what was recorded of the real planes, against the embedded cluster in virtual time.
fn replayed(level: Level) {
    let filter = env::var("PHASELINE_CONFORMANCE_FILTER").unwrap_or_default();
    let cases: Vec<Case> = script::all()
        .into_iter()
        .filter(|it| it.levels.contains(&level) && !needs_kubectl(it) && it.name.contains(&filter))
        .collect();
    let recorded = recorded_of(level, &cases);
    let threads = thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let verdicts = each(&cases, threads, |case| recorded.get(&case.name).map(|real| held(case, level, real, None)));
    let mut wrong = Vec::new();
    for (case, verdict) in cases.iter().zip(verdicts) {
        match verdict {
            None => wrong.push(format!("{}: not recorded", case.name)),
            Some(it) if it.differences.is_empty() => {}
            Some(it) => wrong.push(format!("{}: {}", case.name, it.differences.join("\n  "))),
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn the_embedded_cluster_is_like_the_recorded_1_36() {
    replayed(Level::V1_36);
}

#[test]
fn the_embedded_cluster_is_like_the_recorded_1_33() {
    replayed(Level::V1_33);
}

#[test]
fn the_embedded_cluster_is_like_the_recorded_1_36_with_max_unavailable() {
    replayed(Level::V1_36Max);
}
