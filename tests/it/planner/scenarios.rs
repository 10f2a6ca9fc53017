//! Whole stories, second by second, compared with golden traces; `UPDATE_GOLDEN=1` writes them anew.

use std::path::PathBuf;

use phaseline::model::{OnNewRevision, Pause, Plan, Ramp, Schedule, Size, Verb};

use super::bench::{plan, stage, three};
use super::world::{Behaviour, World};

/// Compares a world's trace with its golden file, and wants every monitor content.
fn golden(name: &str, world: &World) {
    let mut text = world.trace.join("\n");
    if let Some(wrong) = &world.monitor.wrong {
        panic!("{name}: {wrong}\n{text}");
    }
    text.push('\n');
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/planner/golden").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if let Some(at) = text.lines().zip(expected.lines()).position(|(is, was)| is != was) {
        let line = |text: &str| text.lines().nth(at).unwrap_or_default().to_owned();
        panic!("{name}, line {}:\n  was {}\n  is  {}", at + 1, line(&expected), line(&text));
    }
    assert_eq!(text.lines().count(), expected.lines().count(), "{name}: of another length");
}

/// A world whose set runs A everywhere, at rest; what led there is not in its trace.
fn resting(replicas: Option<u32>, plan: Plan) -> World {
    let mut world = World::new(1, replicas, plan);
    world.tracing = false;
    for (template, behaviour) in
        [('N', Behaviour::NeverReady), ('P', Behaviour::Pull), ('K', Behaviour::Crash), ('F', Behaviour::Flaps)]
    {
        world.behaviours.insert(template, behaviour);
    }
    world.until("the first install", World::is_converged);
    world.tracing = true;
    world.daemon.writes = 0;
    world.monitor.log.clear();
    world
}

fn is_waiting(words: &'static str) -> impl Fn(&World) -> bool {
    move |world| world.daemon.last.as_ref().is_some_and(|last| super::bench::line(last).contains(words))
}

/// How often a line is in the trace.
fn count(world: &World, words: &str) -> usize {
    world.trace.iter().filter(|line| line.contains(words)).count()
}

fn paused() -> Plan {
    plan(vec![
        stage("canary", Size::Pods(1), 5, Pause::UntilPromoted),
        stage("some", Size::Pods(3), 0, Pause::Seconds(30)),
        stage("all", Size::Percent(100), 0, Pause::None),
    ])
}

fn with(on: OnNewRevision) -> Plan {
    Plan { on_new_revision: on, progress_deadline_seconds: 60, ..three() }
}

/// A canary of B at its pause.
fn canary(replicas: Option<u32>) -> World {
    let mut world = resting(replicas, paused());
    if replicas.is_none() {
        world.autoscale(5).run(2).until("five", World::is_converged);
    }
    world.commit(|commit| commit.template = 'B');
    world.until("the canary's pause", is_waiting("| Promotion"));
    world
}

#[test]
fn first_install() {
    let mut world = World::new(1, Some(3), three());
    world.until("at rest", World::is_converged);
    assert_eq!(world.daemon.writes, 2, "created, and recorded as complete");
    golden("first_install", &world);
}

#[test]
fn three_stages_with_soak_and_pause() {
    let mut world = canary(Some(5));
    world.run(20).ask(Verb::Promote).until("at rest", World::is_converged);
    assert_eq!(world.daemon.writes, 4, "three partitions, and the completion");
    golden("three_stages_with_soak_and_pause", &world);
}

#[test]
fn a_rollout_of_s_partitions_takes_s_writes_and_one() {
    for (replicas, plan, partitions) in [
        (5, three(), 3),
        (1, three(), 1),
        (2, three(), 2),
        (3, three(), 2),
        (7, Plan { schedule: ramp(Ramp::Linear(1)), ..Plan::default() }, 7),
        (9, Plan { schedule: ramp(Ramp::Exponential(2)), ..Plan::default() }, 5),
        (4, Plan::default(), 1),
    ] {
        let mut world = resting(Some(replicas), plan);
        world.commit(|commit| commit.template = 'B').until("at rest", World::is_converged);
        assert_eq!(world.daemon.writes, partitions + 1, "{replicas} replicas");
        world.monitor_silence(86_400);
        assert_eq!(world.monitor.wrong, None);
    }
}

fn ramp(ramp: Ramp) -> Schedule {
    Schedule::Ramp { ramp, min_ready_seconds: 0, pause: Pause::None }
}

#[test]
fn a_bad_image_halts_and_a_revert_heals() {
    let mut world = resting(Some(3), with(OnNewRevision::Continue));
    let untouched: Vec<u32> = (0..2).map(|ordinal| world.cluster.pods[&ordinal].uid).collect();
    world.commit(|commit| commit.template = 'P').until("halted", is_waiting("| Decision"));
    world.commit(|commit| commit.template = 'A').until("at rest", World::is_converged);
    assert_eq!(count(&world, "daemon   DeletePod"), 1);
    assert_eq!(count(&world, "daemon   DeletePod 2"), 1);
    let still: Vec<u32> = (0..2).map(|ordinal| world.cluster.pods[&ordinal].uid).collect();
    assert_eq!(still, untouched);
    golden("a_bad_image_halts_and_a_revert_heals", &world);
}

#[test]
fn revert_mid_rollout() {
    let mut world = canary(Some(5));
    world.ask(Verb::Promote).until("the second stage", is_waiting("| Pause"));
    world.commit(|commit| commit.template = 'A').until("at rest", World::is_converged);
    golden("revert_mid_rollout", &world);
}

#[test]
fn roll_forward() {
    for (on, name) in [
        (OnNewRevision::Continue, "roll_forward_continue"),
        (OnNewRevision::Restart, "roll_forward_restart"),
        (OnNewRevision::Queue, "roll_forward_queue"),
        (OnNewRevision::Block, "roll_forward_block"),
    ] {
        let mut world = resting(Some(5), with(on));
        world.commit(|commit| commit.template = 'B').until("stage 2", |world| count(world, "Patch p=2") == 1);
        world.run(1).commit(|commit| commit.template = 'C');
        if on == OnNewRevision::Block {
            world.until("blocked", is_waiting("NewRevisionDecision")).ask(Verb::Resume);
        }
        world.until("at rest", World::is_converged);
        golden(name, &world);
    }
}

#[test]
fn rollback_inside_the_window() {
    let mut world = resting(Some(3), three());
    world.commit(|commit| commit.template = 'B').until("B at rest", World::is_converged);
    world.commit(|commit| commit.template = 'A').until("A at rest", World::is_converged);
    assert_eq!(count(&world, "Fast"), 2, "the start and the completion");
    golden("rollback_at_rest", &world);
    let mut world = resting(Some(3), paused());
    world.tracing = false;
    world.commit(|commit| commit.template = 'B').until("paused", is_waiting("| Promotion"));
    world.ask(Verb::PromoteFull).until("B at rest", World::is_converged);
    world.tracing = true;
    world.commit(|commit| commit.template = 'C').until("C paused", is_waiting("| Promotion"));
    world.commit(|commit| commit.template = 'A').until("A at rest", World::is_converged);
    golden("rollback_mid_rollout", &world);
}

#[test]
fn a_singleton() {
    let mut world = resting(Some(1), three());
    world.commit(|commit| commit.template = 'B').until("at rest", World::is_converged);
    golden("a_singleton", &world);
}

#[test]
fn ordinals_from_five() {
    let mut world = World::new(1, Some(3), three());
    world.git.commits[0].start = 5;
    world.until("installed", World::is_converged);
    world.commit(|commit| commit.template = 'B').until("at rest", World::is_converged);
    assert!(world.cluster.pods.keys().eq(&[5, 6, 7]));
    golden("ordinals_from_five", &world);
}

#[test]
fn thirty_percent_of_seven() {
    let stages = vec![stage("", Size::Percent(30), 0, Pause::None), stage("", Size::Percent(100), 0, Pause::None)];
    let mut world = resting(Some(7), plan(stages));
    world.commit(|commit| commit.template = 'B').until("at rest", World::is_converged);
    let partitions: Vec<u32> = world.monitor.log.iter().map(|(_, partition)| *partition).collect();
    assert_eq!(partitions, [4, 0, i32::MAX as u32]);
}

#[test]
fn a_commit_scales_and_brings_a_template() {
    let mut world = resting(Some(3), three());
    world.commit(|commit| (commit.replicas, commit.template) = (Some(5), 'B')).until("at rest", World::is_converged);
    golden("a_commit_scales_and_brings_a_template", &world);
}

#[test]
fn an_autoscaler_under_way() {
    let mut world = canary(None);
    world.autoscale(8).run(40);
    world.autoscale(1).run(40);
    world.autoscale(4).run(40);
    for _ in 0..3 {
        if !world.is_converged() {
            world.operator();
        }
        world.run(80);
    }
    assert!(world.is_converged());
    golden("an_autoscaler_under_way", &world);
}

#[test]
fn replicas_are_dropped_from_the_manifest() {
    let mut world = resting(Some(5), three());
    world.commit(|commit| commit.replicas = None).until("at rest", World::is_converged).run(5);
    assert_eq!(world.cluster.set.as_ref().unwrap().replicas, 5);
    assert!(!world.replicas_are_ours());
    world.autoscale(6).until("at rest", World::is_converged);
    world.commit(|commit| commit.template = 'B').until("at rest", World::is_converged);
    assert_eq!(world.cluster.set.as_ref().unwrap().replicas, 6);
    golden("replicas_are_dropped_from_the_manifest", &world);
}

#[test]
fn adoption() {
    let mut world = World::new(1, Some(3), three());
    world.foreign_set('A', 3);
    let before: Vec<u32> = world.cluster.pods.values().map(|pod| pod.uid).collect();
    world.ask(Verb::Adopt).until("at rest", World::is_converged);
    let after: Vec<u32> = world.cluster.pods.values().map(|pod| pod.uid).collect();
    assert_eq!(before, after, "no pod restarts");
    world.commit(|commit| commit.template = 'B').until("at rest", World::is_converged);
    golden("adoption", &world);
}

#[test]
fn a_wish_for_a_restart() {
    let mut world = resting(Some(3), three());
    world.kubectl_restart();
    world.until("at rest", |world| world.now > 20 && is_waiting("Healthy")(world) && world.is_converged());
    assert!(world.cluster.pods.values().all(|pod| pod.tpl.restart > 0));
    golden("a_wish_for_a_restart", &world);
    let mut world = canary(Some(3));
    world.kubectl_restart().run(20).ask(Verb::Promote).until("at rest", World::is_converged);
    assert!(world.cluster.pods.values().all(|pod| pod.tpl.restart > 0 && pod.tpl.id == 'B'));
    golden("a_wish_for_a_restart_under_way", &world);
}

#[test]
fn drift() {
    let mut world = resting(Some(3), three());
    world.kubectl_set_image('X').run(5).ask(Verb::ResumeOverwrite).until("at rest", World::is_converged);
    assert_eq!(world.cluster.set.as_ref().unwrap().tpl.id, 'A');
    golden("drift_overwritten", &world);
    let mut world = resting(Some(3), three());
    world.kubectl_set_image('X').run(5).ask(Verb::ResumeAccept);
    world.until("rolled", |world| world.cluster.pods.values().all(|pod| pod.tpl.id == 'X' && pod.ready)).run(5);
    golden("drift_accepted", &world);
}

#[test]
fn people_ask() {
    let mut world = canary(Some(5));
    world.ask(Verb::Pause).run(5).ask(Verb::Promote).run(5).ask(Verb::Resume).run(5);
    world.ask(Verb::PromoteFull).until("at rest", World::is_converged);
    world.ask(Verb::Release).run(10);
    golden("people_ask", &world);
    let mut world = resting(Some(3), with(OnNewRevision::Continue));
    world.commit(|commit| commit.template = 'N').until("halted", is_waiting("| Decision"));
    world.behaviours.insert('N', Behaviour::Good);
    world.kubectl_delete_pod(2).run(10).ask(Verb::Retry).until("at rest", World::is_converged);
    golden("retry", &world);
}

#[test]
fn a_first_install_that_never_becomes_ready() {
    let mut world = World::new(1, Some(3), with(OnNewRevision::Continue));
    world.behaviours.insert('A', Behaviour::Crash);
    world.until("late", is_waiting("Degraded"));
    world.commit(|commit| commit.template = 'B').until("at rest", World::is_converged);
    assert_eq!(count(&world, "daemon   DeletePod"), 1);
    golden("a_first_install_that_never_becomes_ready", &world);
}

#[test]
fn staging_by_hand() {
    let by_hand = |partition| Plan { schedule: Schedule::ByHand(partition), ..Plan::default() };
    let mut world = resting(Some(4), by_hand(0));
    world.commit(|commit| (commit.template, commit.plan) = ('B', by_hand(3)));
    for partition in [2, 0] {
        world.until("by hand", is_waiting("PartitionCommit")).run(3);
        world.commit(|commit| commit.plan = by_hand(partition));
    }
    world.until("at rest", World::is_converged);
    golden("staging_by_hand", &world);
}

#[test]
fn a_ramp() {
    let mut world = resting(Some(9), Plan { schedule: ramp(Ramp::Geometric(2)), ..Plan::default() });
    world.commit(|commit| commit.template = 'B').until("at rest", World::is_converged);
    let partitions: Vec<u32> = world.monitor.log.iter().map(|(_, partition)| *partition).collect();
    assert_eq!(partitions, [8, 6, 2, 0, i32::MAX as u32]);
}

#[test]
fn a_canary_scaled_to_zero() {
    let mut world = canary(None);
    world.autoscale(0).run(20).autoscale(3).run(20).ask(Verb::Retry).until("at rest", World::is_converged);
    golden("a_canary_scaled_to_zero", &world);
}

#[test]
fn a_set_goes_to_zero_and_back_with_another_template() {
    let mut world = resting(Some(3), three());
    world.commit(|commit| commit.replicas = Some(0)).until("at zero", World::is_converged);
    world.commit(|commit| commit.template = 'B').run(5);
    world.commit(|commit| commit.replicas = Some(3)).run(2).until("at rest", World::is_converged);
    assert!(world.cluster.pods.values().all(|pod| pod.tpl.id == 'B'));
    golden("to_zero_and_back", &world);
}
