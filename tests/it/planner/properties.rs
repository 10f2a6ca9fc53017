//! Random worlds: whatever happens, the invariants hold, and when it is over the set is where Git wants it.

use phaseline::model::{OnNewRevision, Pause, Plan, Ramp, RepairPolicy, Schedule, Size, Verb};

use super::bench::{plan, stage};
use super::world::{Behaviour, Faults, Mutant, World};

/// How many worlds a run looks at.
const WORLDS: u64 = 20_000;
/// The longest a world may take to come to rest, in virtual seconds.
const BOUND: i64 = 12_000;

fn any_plan(rng: &mut fastrand::Rng) -> Plan {
    let pause = |rng: &mut fastrand::Rng| match rng.u32(0..5) {
        0 => Pause::UntilPromoted,
        1 => Pause::Seconds(rng.u32(1..20)),
        _ => Pause::None,
    };
    let soak = |rng: &mut fastrand::Rng| if rng.u32(0..3) == 0 { rng.u32(1..8) } else { 0 };
    let mut plan = match rng.u32(0..10) {
        0 => Plan::default(),
        1 => {
            let ramp = match rng.u32(0..3) {
                0 => Ramp::Linear(rng.u32(1..3)),
                1 => Ramp::Geometric(rng.u32(1..3)),
                _ => Ramp::Exponential(2),
            };
            Plan {
                schedule: Schedule::Ramp { ramp, min_ready_seconds: soak(rng), pause: pause(rng) },
                ..Plan::default()
            }
        }
        2 => Plan { schedule: Schedule::ByHand(rng.u32(0..4)), ..Plan::default() },
        _ => {
            let mut stages = Vec::new();
            for _ in 0..rng.u32(1..4) {
                let size = match rng.u32(0..3) {
                    0 => Size::Pods(rng.u32(1..4)),
                    1 => Size::Percent(rng.u32(1..80)),
                    _ => Size::Partition(rng.u32(1..4)),
                };
                stages.push(stage("", size, soak(rng), pause(rng)));
            }
            stages.push(stage("", Size::Percent(100), soak(rng), pause(rng)));
            plan(stages)
        }
    };
    plan.progress_deadline_seconds = rng.u32(20..60);
    plan.on_new_revision = match rng.u32(0..6) {
        0 => OnNewRevision::Restart,
        1 => OnNewRevision::Queue,
        2 => OnNewRevision::Block,
        _ => OnNewRevision::Continue,
    };
    plan.rollback_window = rng.u32(0..4);
    if rng.u32(0..8) == 0 {
        plan.repair_policy = RepairPolicy::None;
    }
    plan
}

/// Templates that are good in every world.
const GOOD: [char; 3] = ['A', 'E', 'G'];

fn any_world(seed: u64) -> World {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut first = any_plan(&mut rng);
    if let Schedule::ByHand(_) = first.schedule {
        first.schedule = Schedule::ByHand(0);
    }
    let replicas = rng.u32(1..6);
    let stated = rng.u32(0..3) > 0;
    let mut world = World::new(rng.u64(..), stated.then_some(replicas), first);
    world.tracing = false;
    world.varies = true;
    let commit = &mut world.git.commits[0];
    commit.parallel = rng.u32(0..4) == 0;
    commit.max_unavailable = commit.parallel && rng.bool();
    commit.min_ready = if rng.u32(0..4) == 0 { rng.u32(1..5) } else { 0 };
    commit.start = if rng.u32(0..6) == 0 { 3 } else { 0 };
    world.behaviours.insert('B', [Behaviour::NeverReady, Behaviour::Pull, Behaviour::Crash][rng.usize(0..3)]);
    world.behaviours.insert('C', Behaviour::Flaps);
    world.behaviours.insert('D', [Behaviour::Pull, Behaviour::Crash][rng.usize(0..2)]);
    world.behaviours.insert('E', [Behaviour::Good, Behaviour::Slow][rng.usize(0..2)]);
    if rng.u32(0..12) == 0 {
        world.git.commits[0].template = 'B';
    }
    if rng.u32(0..2) == 0 {
        world.faults =
            Faults { lost: rng.u32(0..8), unanswered: rng.u32(0..8), stale: rng.u32(0..40), restarts: rng.u32(0..6) };
    }
    world
}

/// Something happens.
fn event(world: &mut World, meddles: bool) {
    let letter = *world.rng.choice(&['A', 'B', 'B', 'C', 'D', 'E', 'G']).unwrap();
    let replicas = if world.rng.u32(0..12) == 0 { 0 } else { world.rng.u32(1..7) };
    let stated = world.git.tip().replicas.is_some();
    match world.rng.u32(0..if meddles { 26 } else { 22 }) {
        0..=5 => {
            world.commit(|commit| commit.template = letter);
        }
        6 => {
            // A revert.
            let commits = &world.git.commits;
            let template = commits[commits.len().saturating_sub(2)].template;
            world.commit(|commit| commit.template = template);
        }
        7 if stated => {
            world.commit(|commit| commit.replicas = Some(replicas));
        }
        8 if stated => {
            world.commit(|commit| (commit.replicas, commit.template) = (Some(replicas), letter));
        }
        9 if stated && world.rng.u32(0..3) == 0 => {
            world.commit(|commit| commit.replicas = None);
        }
        9 | 10 if !stated || meddles => {
            world.autoscale(replicas);
        }
        11 => {
            let plan = any_plan(&mut world.rng);
            world.commit(|commit| commit.plan = plan);
        }
        12 => {
            world.kubectl_restart();
        }
        13 | 14 => {
            let pods: Vec<u32> = world.cluster.pods.keys().copied().collect();
            if let Some(ordinal) = world.rng.choice(&pods).copied() {
                world.kubectl_delete_pod(ordinal);
            }
        }
        15..=20 => {
            let verb = *world
                .rng
                .choice(&[
                    Verb::Promote,
                    Verb::Promote,
                    Verb::PromoteFull,
                    Verb::Pause,
                    Verb::Resume,
                    Verb::Resume,
                    Verb::Retry,
                    Verb::ResumeReplan,
                    Verb::ResumeOverwrite,
                    Verb::Adopt,
                ])
                .unwrap();
            world.ask(verb);
        }
        21 => {
            let start = world.rng.u32(0..4);
            world.commit(|commit| commit.start = start);
        }
        22 => {
            world.kubectl_set_image(letter);
        }
        23 => {
            let partition = world.rng.u32(0..5);
            world.kubectl_partition(partition);
        }
        // What is broken and accepted is the person's own doing.
        24 if world.cluster.set.as_ref().is_some_and(|set| GOOD.contains(&set.tpl.id)) => {
            world.ask(Verb::ResumeAccept);
        }
        25 => {
            world.ask(Verb::Release);
        }
        _ => {}
    }
}

/// A short life of one world, then peace and a good commit.
fn live(world: &mut World) {
    let meddles = world.rng.u32(0..6) == 0;
    for _ in 0..world.rng.u32(5..60) {
        world.now += world.rng.i64(0..5);
        if world.rng.u32(0..4) == 0 {
            event(world, meddles);
        }
        if world.rng.u32(0..100) < world.faults.restarts {
            world.restart_daemon();
        }
        // In any order, and not always all of them.
        for _ in 0..4 {
            match world.rng.u32(0..3) {
                0 => world.kubelet(),
                1 => world.controller(),
                _ => world.daemon_round(),
            };
            world.look();
        }
        if world.monitor.wrong.is_some() {
            return;
        }
    }
    world.faults = Faults::default();
    let mut good = *world.rng.choice(&GOOD).unwrap();
    if world.monitor.meddled && world.record().is_some_and(|record| record.target.hash.0 == good.to_string()) {
        // What was accepted counts as what Git asks for: only another template moves it.
        good = if good == 'A' { 'G' } else { 'A' };
    }
    let replicas = world.rng.u32(1..6);
    if world.cluster.set.as_ref().is_some_and(|set| set.replicas == 0) && world.git.tip().replicas.is_none() {
        world.autoscale(replicas);
    }
    world.commit(|commit| {
        commit.template = good;
        commit.replicas = commit.replicas.map(|_| replicas);
    });
    let end = world.now + BOUND;
    while world.now < end && world.monitor.wrong.is_none() {
        world.settle();
        if world.is_converged() {
            return world.monitor_silence(3600);
        }
        let before = world.cluster.rv;
        if world.daemon.last.as_ref().is_some_and(|last| last.waiting_on.is_some()) {
            world.operator();
        }
        let next = world.next_event().unwrap_or(world.now + 60).min(world.now + 60);
        world.now = if world.cluster.rv == before { next.max(world.now + 1) } else { world.now + 1 };
    }
    let last = world.daemon.last.as_ref().map(super::bench::line);
    world.monitor.fail(format!("never comes to rest; the last decision is {last:?}"));
}

/// Runs a world again with its trace.
fn show(seed: u64, why: &str) -> String {
    let mut world = any_world(seed);
    world.tracing = true;
    live(&mut world);
    let mut trace = world.trace.clone();
    if trace.len() > 140 {
        trace.splice(120..trace.len() - 12, ["  ...".to_owned()]);
    }
    let head = world.git.commits[0].clone();
    format!(
        "PHASELINE_SEED={seed}: {why}\nfirst commit {head:?}\n{}\nset {:?}\nrecord {:?}\ntip {:?}",
        trace.join("\n"),
        world.cluster.set.as_ref().map(|set| (set.tpl, set.current, set.update, set.partition, set.replicas)),
        world.record(),
        world.git.tip(),
    )
}

fn run(seed: u64) -> Result<(), String> {
    let mut world = any_world(seed);
    live(&mut world);
    world.monitor.wrong.map_or(Ok(()), Err)
}

#[test]
fn random_worlds_keep_the_invariants_and_come_to_rest() {
    if let Some(seed) = std::env::var("PHASELINE_SEED").ok().and_then(|seed| seed.parse().ok()) {
        let why = run(seed).err().unwrap_or_else(|| "nothing is wrong".into());
        println!("{}", show(seed, &why));
        assert_eq!(why, "nothing is wrong");
        return;
    }
    // Other worlds than every day's: PHASELINE_FIRST=1000000 PHASELINE_WORLDS=200000.
    let first: u64 = std::env::var("PHASELINE_FIRST").ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    let worlds = std::env::var("PHASELINE_WORLDS").ok().and_then(|worlds| worlds.parse().ok()).unwrap_or(WORLDS);
    let threads = 2;
    let failures: Vec<(u64, String)> = std::thread::scope(|scope| {
        let hands: Vec<_> = (0..threads)
            .map(|hand| {
                scope.spawn(move || {
                    (first..first + worlds)
                        .filter(|seed| seed % threads == hand)
                        .filter_map(|seed| {
                            let outcome = std::panic::catch_unwind(|| run(seed));
                            outcome.unwrap_or_else(|_| Err("panic".into())).err().map(|why| (seed, why))
                        })
                        .take(40)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        hands.into_iter().flat_map(|hand| hand.join().unwrap()).collect()
    });
    if let Some((seed, why)) = failures.first() {
        let list: Vec<String> = failures.iter().map(|(seed, why)| format!("{seed}: {why}")).collect();
        panic!("{}\n\n{} worlds failed:\n{}", show(*seed, why), failures.len(), list.join("\n"));
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for seed in 0..50 {
        let trace = || {
            let mut world = any_world(seed);
            world.tracing = true;
            live(&mut world);
            world.trace
        };
        assert_eq!(trace(), trace(), "seed {seed}");
    }
}

#[test]
fn every_monitor_can_fail() {
    for (mutant, rule) in [
        (Mutant::NoPreconditions, "I6"),
        (Mutant::PartitionAfterTemplate, "record"),
        (Mutant::NoGate, "I4"),
        (Mutant::DeletesWithoutCause, "I8"),
        (Mutant::DeletesAll, "I8"),
        (Mutant::SkipsStages, "I1"),
        (Mutant::RaisesPartition, "I3"),
        (Mutant::ReplicasOfItsOwn, "I8"),
        (Mutant::WritesAtRest, "I12"),
        (Mutant::GoesOnAfterFailure, "I16"),
        (Mutant::ParksEarly, "I4"),
        (Mutant::RepeatsStage, "I7"),
    ] {
        let caught = (0..400).any(|seed| {
            let mut world = any_world(seed);
            world.daemon.mutant = Some(mutant);
            live(&mut world);
            world.monitor.wrong.is_some_and(|wrong| wrong.starts_with(rule))
        });
        assert!(caught, "{mutant:?} is not caught as {rule}");
    }
}
