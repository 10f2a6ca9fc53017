//! What random worlds found wrong in the planner, one named test each.

use phaseline::model::{
    Action, Mode, OnNewRevision, Ordinal, Partition, Pause, Plan, Reason, Record, Schedule, Size, Verb,
};

use super::bench::{Bench, at, bent, hash, line, plan, seen, stage, three};
use super::found::{install_changed, three_revisions};

#[test]
fn an_install_at_zero_replicas_proves_nothing() {
    let mut bench = Bench::resting_with(0, three());
    (bench.record.mode, bench.record.done, bench.record.stable) = (Mode::Install, false, None);
    bench.record.proven.clear();
    let decision = bench.decide();
    let [Action::Patch { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!((record.done, record.proven.len()), (true, 0));
}

#[test]
fn a_newer_commit_that_waits_for_a_person_behind_a_failure_is_spoken_of() {
    let mut bench = Bench::running(1);
    bench.record.plan.on_new_revision = OnNewRevision::Block;
    bench.broken(4, "B", "ImagePullBackOff");
    bench.failed();
    bench.tip("c3", "C");
    assert_eq!(bench.line(), "- | Degraded ProgressDeadlineExceeded | NewRevisionDecision");
    bench.ask(Verb::Resume);
    assert_eq!(bench.line(), "Start C of C p=4 replicas=5 stage=0 answered | Progressing Starting | -");
}

#[test]
fn a_restart_asked_for_on_the_way_back_goes_through_the_stages() {
    let mut bench = Bench::running(1);
    bench.tip("c4", "A");
    bench.record.target = seen("c4", "A");
    (bench.record.mode, bench.record.live) = (Mode::Back, hash("A"));
    let set = bench.set();
    (set.template, set.update_revision) = (hash("A"), "web-A@monday".into());
    (set.generation, set.observed_generation, set.restarted_at) = (4, 4, "monday".into());
    assert_eq!(bench.line(), "Note stage=0 | Progressing Starting | -");
}

#[test]
fn a_way_back_needs_the_pods_above_its_partition_and_no_others() {
    let mut bench = Bench::running(3);
    bench.tip("c4", "A");
    bench.record.target = seen("c4", "A");
    (bench.record.mode, bench.record.live) = (Mode::Back, hash("A"));
    let set = bench.set();
    // Over an upgrade stable has another name, and the set has shrunk since.
    (set.template, set.update_revision, set.replicas) = (hash("A"), "web-A2".into(), 4);
    bench.desired.tip.replicas = Some(4);
    bench.observed.pods.remove(&Ordinal(4));
    for ordinal in 2..4 {
        bench.pod(ordinal, "A2");
    }
    assert_eq!(bench.line(), "Patch p=parked stage=2 Back done | Healthy RolledBack | -");
}

#[test]
fn a_pod_made_in_the_second_of_the_start_was_not_broken_before() {
    let mut bench = Bench::running(1);
    let began = at(-1000);
    let pod = bench.broken(0, "A", "");
    (pod.created, pod.ready_since) = (began, Some(began));
    assert_eq!(bench.line(), "- | Progressing WaitingReady | PodReady 0");
}

#[test]
fn a_template_that_comes_with_the_scale_up_from_zero_is_not_staged_above_an_unproven_one() {
    let mut bench = Bench::resting_with(0, three());
    bench.record.proven.clear();
    bench.tip("c2", "B");
    bench.scale_commit(Some(5));
    assert_eq!(bench.line(), "Start B of B p=0 replicas=5 Install | Progressing Starting | -");
}

#[test]
fn an_adopted_set_without_a_ready_pod_is_proven_by_nothing() {
    let mut bench = Bench::resting();
    for ordinal in 0..5 {
        bench.broken(ordinal, "A", "CrashLoopBackOff");
    }
    bench.ask(Verb::Adopt);
    let decision = bench.decide_without_record();
    let [Action::Adopt { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert!(record.proven.is_empty());
}

#[test]
fn a_late_install_is_looked_at_again_when_its_pod_has_been_ready_for_long_enough() {
    let mut bench = Bench::running(5);
    (bench.record.mode, bench.record.stable, bench.record.stage) = (Mode::Install, None, None);
    bench.record.plan.progress_deadline_seconds = 20;
    bench.set().min_ready_seconds = 50;
    bench.observed.progress = bench.decide().progress;
    bench.observed.progress.at = Some(at(-900).as_duration());
    bench.pod_mut(4).ready_since = Some(at(-10));
    bench.observed.progress.reached.insert(Ordinal(4), phaseline::model::Milestone::Ready);
    bench.observed.progress.verified = 5;
    let decision = bench.decide();
    assert_eq!(line(&decision), "- | Degraded ProgressDeadlineExceeded | PodAvailable 4 at +41");
    assert_eq!(decision.requeue, Some(at(41)));
}

#[test]
fn a_first_install_that_would_be_made_at_another_revision_is_not_held_back() {
    let mut bench = install_changed(|_| ());
    bench.record.generation = 4;
    bench.set().current_revision = "web-A".into();
    bench.set().update_revision = "web-B".into();
    assert_eq!(bench.line(), "Patch p=0 Install | Progressing WaitingReady | -");
}

#[test]
fn a_conflict_of_a_scale_is_overwritten_while_a_newer_template_waits() {
    let mut bench = Bench::running(1);
    bench.record.plan.on_new_revision = OnNewRevision::Queue;
    bench.tip("c3", "C");
    bench.scale_commit(Some(8));
    bench.observed.refused = Some((Reason::Drifted, "conflict with \"hpa\"".into()));
    bench.ask(Verb::ResumeOverwrite);
    assert_eq!(bench.line(), "Overwrite B of B p=7 replicas=8 stage=0 answered | Progressing Starting | -");
}

#[test]
fn a_fix_does_not_queue_behind_an_install_that_never_ends() {
    for on in [OnNewRevision::Queue, OnNewRevision::Block] {
        let mut bench = Bench::running(5);
        (bench.record.mode, bench.record.stage) = (Mode::Install, None);
        bench.record.plan.on_new_revision = on;
        bench.tip("c3", "C");
        assert_eq!(bench.line(), "Start C of C p=0 replicas=5 stage=2 | Progressing Starting | -");
    }
}

#[test]
fn under_parallel_a_broken_pod_below_the_partition_is_replaced() {
    let mut bench = three_revisions();
    bench.set().parallel = true;
    bench.broken(2, "B", "CrashLoopBackOff");
    assert_eq!(bench.line(), "DeletePod 2 | Progressing WaitingReady | PodReady 2 CrashLoopBackOff");
    bench.pod(2, "B");
    bench.broken(4, "B", "CrashLoopBackOff");
    assert_eq!(bench.line(), "- | Progressing WaitingReady | PodUpdated 4 web-B");
}

#[test]
fn a_pod_that_flaps_in_a_pause_uses_the_deadline_up() {
    let stages =
        vec![stage("canary", Size::Pods(1), 0, Pause::Seconds(60)), stage("all", Size::Percent(100), 0, Pause::None)];
    let mut bench = Bench::running_with(5, plan(stages), 1);
    bench.record.plan.progress_deadline_seconds = 100;
    let failed = (0..1000).find(|second| {
        bench.now = at(*second);
        // Up for twenty seconds, down for ten.
        bench.pod_mut(4).ready = second % 30 < 20;
        bench.pod_mut(4).ready_since = Some(at(second - second % 30 + if second % 30 < 20 { 0 } else { 20 }));
        let decision = bench.decide();
        bench.observed.progress = decision.progress.clone();
        decision.reason == Reason::ProgressDeadlineExceeded
    });
    assert!(failed.is_some_and(|second| (280..420).contains(&second)), "{failed:?}");
}

#[test]
fn kept_pods_wait_as_the_stage_says_that_they_have_become() {
    let half = vec![
        stage("half", Size::Percent(50), 0, Pause::UntilPromoted),
        stage("all", Size::Percent(100), 0, Pause::None),
    ];
    // One of six was kept, before the first stage; of two it is the first stage.
    let mut bench = Bench::running_with(2, plan(half), 1);
    (bench.record.stage, bench.record.exposed) = (None, Some(1));
    assert_eq!(bench.line(), "- | Paused StagePaused | Promotion");
}

#[test]
fn a_ready_pod_that_leaves_proves_nothing_at_adoption() {
    let mut bench = Bench::resting();
    for ordinal in 0..5 {
        bench.pod_mut(ordinal).terminating = true;
    }
    bench.set().replicas = 0;
    bench.ask(Verb::Adopt);
    let decision = bench.decide_without_record();
    let [Action::Adopt { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert!(record.proven.is_empty());
}

#[test]
fn a_scale_up_from_zero_is_not_staged_above_a_template_that_is_being_made_current() {
    let mut bench = Bench::resting_with(0, three());
    bench.tip("c2", "B");
    let decision = bench.decide();
    let [Action::Apply { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    bench.record = Record { generation: 3, live: hash("B"), ..(**record).clone() };
    let set = bench.set();
    (set.template, set.partition, set.record) = (hash("B"), Some(Partition(0)), phaseline::model::RecordState::Absent);
    bench.tip("c3", "C");
    bench.scale_commit(Some(5));
    assert_eq!(bench.line(), "Start C of C p=0 replicas=5 Install | Progressing Starting | -");
}

#[test]
fn a_way_back_that_does_not_become_ready_keeps_nobody_waiting() {
    for (on, expected) in [
        (OnNewRevision::Queue, "Start C of C p=4 replicas=5 stage=0 | Progressing Starting | -"),
        (OnNewRevision::Block, "- | Degraded ProgressDeadlineExceeded | NewRevisionDecision"),
    ] {
        let mut bench = Bench::running(1);
        bench.tip("c4", "A");
        bench.record.target = seen("c4", "D");
        (bench.record.mode, bench.record.live) = (Mode::Back, hash("D"));
        bench.record.stable = Some(seen("c0", "D"));
        bench.set().template = hash("D");
        bench.record.plan.on_new_revision = on;
        bench.tip("c5", "C");
        bench.broken(4, "B", "");
        bench.now = at(2000);
        assert_eq!(bench.line(), expected);
    }
}

#[test]
fn a_pod_that_has_just_started_is_not_broken() {
    let mut bench = three_revisions();
    let pod = bench.broken(3, "B", "");
    (pod.created, pod.started, pod.ready_since) = (at(-2), Some(at(-1)), Some(at(-1)));
    let decision = bench.decide();
    assert_eq!(line(&decision), "- | Progressing WaitingReady | PodReady 3");
    assert_eq!(decision.requeue, Some(at(3)), "and it is looked at again");
    bench.now = at(3);
    assert_eq!(bench.line(), "DeletePod 3 | Progressing WaitingReady | PodReady 3");
}

#[test]
fn a_pod_in_trouble_after_it_was_ready_is_looked_at_again() {
    let mut bench = three_revisions();
    bench.broken(3, "B", "CrashLoopBackOff").ready_since = Some(at(-10));
    assert_eq!(bench.decide().requeue, Some(at(20)));
}

#[test]
fn a_revert_knows_that_the_controller_has_made_another_revision_current_than_stable() {
    // The set grew at the last partition: every pod ran B, the controller promoted it, C took over, and goes back to A.
    let mut bench = Bench::running(1);
    for ordinal in 0..4 {
        bench.pod(ordinal, "B");
    }
    bench.tip("c3", "C");
    bench.set().current_revision = "web-B".into();
    let decision = bench.decide();
    let [Action::Apply { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!((record.stable.as_ref(), record.back.as_str()), (Some(&seen("c2", "B")), "web-B"));
    // Or before the controller's promotion was seen.
    let mut bench = Bench::running(1);
    bench.record.target = seen("c3", "C");
    bench.record.live = hash("C");
    let set = bench.set();
    (set.template, set.current_revision, set.update_revision) = (hash("C"), "web-B".into(), "web-C".into());
    for ordinal in 0..5 {
        bench.pod(ordinal, "B");
    }
    bench.tip("c4", "A");
    bench.set().observed_generation = 2;
    assert_eq!(bench.line(), "Start A of A p=0 replicas=5 stage=2 Back | Progressing Starting | -");
}

#[test]
fn a_set_at_zero_replicas_is_adopted_when_its_template_is_current() {
    let mut bench = Bench::resting();
    bench.observed.pods.clear();
    bench.set().replicas = 0;
    bench.set().update_revision = "web-B".into();
    bench.ask(Verb::Adopt);
    assert_eq!(line(&bench.decide_without_record()), "- | Blocked NotAdoptable | Correction");
    bench.set().current_revision = "web-B".into();
    assert_eq!(line(&bench.decide_without_record()), "Adopt A | Progressing Starting | -");
}

#[test]
fn what_is_not_staged_is_not_held_by_a_partition_in_the_manifest() {
    for (mode, exposed, expected) in [
        (Mode::Install, 5, "Patch p=parked stage=0 Install done | Healthy Completed | -"),
        (Mode::Back, 2, "Patch p=parked stage=0 Back done | Healthy RolledBack | -"),
        (Mode::Fast, 2, "Patch p=0 stage=0 Fast | Progressing WaitingReady | -"),
        (Mode::Full, 2, "Patch p=0 stage=0 Full | Progressing WaitingReady | -"),
        (Mode::Staged, 2, "- | Paused StagePaused | PartitionCommit"),
    ] {
        let by_hand = Plan { schedule: Schedule::ByHand(3), ..Plan::default() };
        let mut bench = Bench::running_with(5, by_hand, exposed);
        (bench.record.mode, bench.record.stage) = (mode, Some(0));
        if mode == Mode::Back {
            bench.set().current_revision = "web-A".into();
        }
        assert_eq!(bench.line(), expected, "{mode:?}");
    }
}

#[test]
fn what_the_server_refused_is_not_sent_again_because_somebody_asks() {
    let blocked = |verb| {
        let mut bench = Bench::running(1);
        bench.record.plan.on_new_revision = OnNewRevision::Block;
        bench.tip("c3", "C");
        bench.ask(verb);
        bench
    };
    let mut bench = blocked(Verb::Resume);
    bench.observed.refused = Some((Reason::Drifted, "conflict with \"kubectl-set\"".into()));
    assert_eq!(bench.line(), "Note stage=0 refused | Progressing Starting | -");
    for verb in [Verb::ResumeOverwrite, Verb::Release] {
        let mut bench = blocked(verb);
        bench.observed.refused = Some((Reason::ImmutableField, "spec.serviceName".into()));
        assert_eq!(bench.line(), "Note stage=0 refused | Progressing Starting | -");
    }
    let mut bench = Bench::resting();
    bench.ask(Verb::Adopt);
    bench.observed.refused = Some((Reason::Refused, "no".into()));
    assert_eq!(line(&bench.decide_without_record()), "- | Blocked Refused | Correction");
}

#[test]
fn a_wish_for_a_restart_beside_a_drift_that_is_accepted_goes_through_the_plan() {
    let mut bench = Bench::resting();
    let set = bench.set();
    (set.generation, set.observed_generation, set.replicas) = (4, 4, 6);
    (set.restarted_at, set.update_revision) = ("monday".into(), "web-A@monday".into());
    bench.ask(Verb::ResumeAccept);
    assert_eq!(bench.line(), "Patch p=5 stage=0 answered | Progressing WaitingReady | -");
}

#[test]
fn an_overwrite_without_the_manifest_in_force_takes_the_one_that_waits() {
    let mut bench = Bench::running(1);
    bench.record.plan.on_new_revision = OnNewRevision::Queue;
    bench.tip("c3", "C");
    bench.desired.target = None;
    bench.observed.refused = Some((Reason::Drifted, "conflict with \"hpa\"".into()));
    bench.ask(Verb::ResumeOverwrite);
    assert_eq!(bench.line(), "Overwrite C of C p=4 replicas=5 stage=0 answered | Progressing Starting | -");
}

#[test]
fn everything_is_exposed_at_once_only_where_nothing_is_known_to_stand() {
    let fallen = |bend: fn(&mut Bench)| {
        bent(Bench::resting(), |b| {
            b.record.proven.clear();
            for ordinal in 0..5 {
                b.broken(ordinal, "A", "CrashLoopBackOff");
            }
            b.tip("c2", "B");
            bend(b);
        })
    };
    assert!(fallen(|_| ()).line().starts_with("Start B of B p=0 "), "{}", fallen(|_| ()).line());
    // Pods as they were before the last write, or fewer Ready ones than their controller counts: they are read first.
    let late = "- | Progressing WaitingReady | FreshPods";
    assert_eq!(fallen(|b| b.observed.pods_behind = true).line(), late);
    assert_eq!(fallen(|b| b.set().ready_replicas = 1).line(), late);
}
