//! What the tests found wrong in the planner, one named test each.

use phaseline::model::record::Answer;
use phaseline::model::{
    Action, FieldOwner, Hold, LiveSet, Mode, OnNewRevision, Ordinal, PARKED, Partition, Pause, Reason, Record, Size,
    Verb,
};

use super::bench::{Bench, at, bent, hash, line, owner, plan, seen, stage, three};
use super::s02_record::largest;

#[test]
fn names_in_a_record_are_bounded_however_people_write_them() {
    for verb in [Verb::Pause, Verb::Retry] {
        let mut bench = Bench::running(1);
        bench.ask(verb);
        if let Some(Ok(request)) = &mut bench.set().request {
            request.by = "\u{1}\"é".repeat(100);
            request.id = "\"".repeat(64);
        }
        let decision = bench.decide();
        let [Action::Patch { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
        let mut with = largest();
        (with.hold, with.req) = (record.hold.clone().or(with.hold), record.req.clone());
        let text = with.encode();
        assert!(text.len() <= Record::MAX_BYTES, "{} bytes", text.len());
        assert_eq!(Record::decode(&text).unwrap().req.unwrap().id, "\"".repeat(64));
    }
}

#[test]
fn a_request_whose_id_does_not_fit_a_record_is_dropped() {
    for id in [String::new(), "x".repeat(65), "a\nb".into()] {
        let mut bench = Bench::running(1);
        bench.ask(Verb::Pause);
        if let Some(Ok(request)) = &mut bench.set().request {
            request.id = id;
        }
        assert_eq!(bench.line(), "DropRequest | Progressing Starting | -");
    }
}

#[test]
fn the_failure_in_force_is_never_left_out() {
    let mut record = largest();
    let current = record.failed[1].clone();
    (record.target.commit, record.target.hash) = (current.commit.clone(), current.hash.clone());
    record.hold = Some(Hold { by: "é".repeat(40) });
    record.req = Some(Answer { id: "\"".repeat(64), refused: "\"".repeat(160) });
    let text = record.encode();
    assert!(text.len() <= Record::MAX_BYTES, "{} bytes", text.len());
    let failed = Record::decode(&text).unwrap().failed;
    assert_eq!((failed.len(), &failed[0].hash, &failed[0].reason), (1, &current.hash, &current.reason));
}

#[test]
fn straight_to_the_end_stays_at_the_end_when_the_set_grows() {
    let mut bench = Bench::resting();
    bench.record.proven = vec![hash("B"), hash("A")];
    bench.tip("c2", "B");
    let decision = bench.decide();
    let [Action::Apply { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    for replicas in [1, 5, 9] {
        assert_eq!(phaseline::rollout::stage::standing(record, replicas).partition, Partition(0));
    }
}

#[test]
fn a_request_on_a_foreign_set_that_cannot_be_read_is_dropped() {
    let mut bench = Bench::resting();
    bench.set().request = Some(Err("no JSON".into()));
    assert_eq!(line(&bench.decide_without_record()), "DropRequest | Blocked AdoptionRequired | Adoption");
}

/// A first install, parked from the beginning, whose template somebody else changed.
fn install_changed(change: impl FnOnce(&mut LiveSet)) -> Bench {
    bent(Bench::running(5), |b| {
        b.record.mode = Mode::Install;
        (b.record.stable, b.record.stage, b.record.partition) = (None, None, PARKED);
        let set = b.set();
        set.partition = Some(PARKED);
        set.generation += 1;
        set.observed_generation += 1;
        set.update_revision = "web-X".into();
        change(set);
    })
}

#[test]
fn a_first_install_that_drifted_and_is_accepted_is_not_held_back() {
    let mut bench = install_changed(|set| set.template = hash("X"));
    bench.ask(Verb::ResumeAccept);
    assert_eq!(bench.line(), "Patch p=0 Install answered | Progressing WaitingReady | -");
}

#[test]
fn a_first_install_that_is_to_restart_is_not_held_back() {
    let mut bench = install_changed(|set| set.restarted_at = "monday".into());
    assert_eq!(bench.line(), "Patch p=0 Install | Progressing Starting | -");
}

/// C restarted over B at stage 0: pod 4 runs C, pods 2 and 3 still B, below the partition.
fn three_revisions() -> Bench {
    bent(Bench::running(3), |b| {
        b.tip("c3", "C");
        b.record.target = seen("c3", "C");
        b.record.live = hash("C");
        (b.record.stage, b.record.partition) = (Some(0), Partition(4));
        let set = b.set();
        (set.template, set.update_revision) = (hash("C"), "web-C".into());
        set.partition = Some(Partition(4));
        b.pod(4, "C");
    })
}

#[test]
fn a_revert_takes_back_every_pod_that_left_stable() {
    let mut bench = three_revisions();
    bench.tip("c4", "A");
    assert_eq!(bench.line(), "Start A of A p=2 replicas=5 stage=1 Back | Progressing Starting | -");
}

#[test]
fn a_revert_that_scales_up_takes_back_the_same_pods() {
    let mut bench = Bench::running(3);
    bench.tip("c4", "A");
    bench.scale_commit(Some(9));
    assert_eq!(bench.line(), "Start A of A p=2 replicas=9 stage=1 exposed=7 Back | Progressing Starting | -");
}

#[test]
fn a_revert_after_the_controller_made_the_target_current_goes_to_the_end() {
    let mut bench = Bench::running(5);
    bench.record.partition = Partition(2);
    bench.set().partition = Some(Partition(2));
    bench.tip("c4", "A");
    assert_eq!(bench.line(), "Start A of A p=0 replicas=5 stage=2 Back | Progressing Starting | -");
}

#[test]
fn a_pod_left_behind_on_the_way_back_goes_back_too() {
    let mut bench = three_revisions();
    bench.tip("c4", "A");
    bench.record.target = seen("c4", "A");
    (bench.record.mode, bench.record.live) = (Mode::Back, hash("A"));
    let set = bench.set();
    (set.template, set.update_revision) = (hash("A"), "web-A".into());
    assert_eq!(bench.line(), "Patch p=2 stage=0 Back | Progressing WaitingReady | -");
}

#[test]
fn a_way_back_of_every_pod_is_not_parked_before_the_controller_made_stable_current() {
    let mut bench = Bench::running(5);
    bench.tip("c4", "A");
    bench.record.target = seen("c4", "A");
    (bench.record.mode, bench.record.live) = (Mode::Back, hash("A"));
    let set = bench.set();
    (set.template, set.update_revision) = (hash("A"), "web-A".into());
    for ordinal in 0..5 {
        bench.pod(ordinal, "A");
    }
    assert_eq!(bench.line(), "- | Progressing WaitingReady | ControllerPromotion");
    bench.set().current_revision = "web-A".into();
    assert_eq!(bench.line(), "Patch p=parked stage=2 Back done | Healthy RolledBack | -");
}

#[test]
fn a_way_back_over_an_upgrade_leaves_alone_what_never_left() {
    let mut bench = Bench::running(1);
    bench.tip("c4", "A");
    bench.record.target = seen("c4", "A");
    (bench.record.mode, bench.record.live) = (Mode::Back, hash("A"));
    let set = bench.set();
    (set.template, set.update_revision) = (hash("A"), "web-A2".into());
    bench.pod(4, "A2");
    assert_eq!(bench.line(), "Patch p=parked stage=2 Back done | Healthy RolledBack | -");
}

/// The half-done rollout of B, scaled to zero by somebody; its pods are gone, B is current.
fn zeroed() -> Bench {
    bent(Bench::running(1), |b| {
        b.autoscale(0);
        b.observed.pods.clear();
        b.set().current_revision = "web-B".into();
    })
}

#[test]
fn a_scale_to_zero_is_recorded_when_the_controller_has_promoted_and_not_before() {
    let mut bench = zeroed();
    bench.set().current_revision = "web-A".into();
    assert_eq!(bench.line(), "- | Degraded PromotedByScaleToZero | ControllerPromotion");
    bench.pod(0, "A");
    assert_eq!(bench.line(), "- | Degraded PromotedByScaleToZero | PodGone 0");
    bench.set().observed_generation -= 1;
    assert_eq!(bench.line(), "- | Degraded PromotedByScaleToZero | ObservedGeneration 4");
    assert_eq!(zeroed().line(), "Patch p=parked stage=0 done | Degraded PromotedByScaleToZero | -");
}

#[test]
fn a_scale_to_zero_on_the_way_back_promotes_stable() {
    let mut bench = zeroed();
    bench.record.mode = Mode::Back;
    assert_eq!(bench.line(), "Patch p=parked stage=2 Back done | Healthy RolledBack | -");
}

#[test]
fn a_scale_to_zero_is_recorded_before_a_newer_commit_takes_over() {
    let mut bench = zeroed();
    bench.tip("c3", "C");
    assert_eq!(bench.line(), "Patch p=parked stage=0 done | Degraded PromotedByScaleToZero | -");
}

#[test]
fn a_rollout_promoted_by_zero_and_taken_as_it_is_is_stable() {
    let mut bench = zeroed();
    bench.record.done = true;
    bench.record.partition = PARKED;
    bench.set().partition = Some(PARKED);
    bench.failed();
    bench.record.failed[0].reason = Reason::PromotedByScaleToZero.to_string();
    bench.ask(Verb::Retry);
    let decision = bench.decide();
    let [Action::Patch { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!((record.stable.as_ref(), record.proven.last()), (Some(&record.target), Some(&hash("A"))));
    assert!(record.failed.is_empty());
}

#[test]
fn a_pod_evicted_in_a_long_pause_has_a_deadline_of_its_own() {
    for remembers in [true, false] {
        let stages = vec![
            stage("canary", Size::Pods(1), 0, Pause::UntilPromoted),
            stage("all", Size::Percent(100), 0, Pause::None),
        ];
        let mut bench = Bench::running_with(5, plan(stages), 1);
        bench.now = at(86_400);
        let decision = bench.decide();
        assert_eq!(line(&decision), "- | Paused StagePaused | Promotion");
        if remembers {
            bench.observed.progress = decision.progress;
        }
        bench.observed.pods.remove(&Ordinal(0));
        bench.now = at(86_410);
        let decision = bench.decide();
        assert_eq!(line(&decision), "- | Progressing WaitingReady | PodCreated 0");
        assert_eq!(decision.requeue, Some(at(87_010)));
    }
}

#[test]
fn restarts_of_stable_are_no_failure_of_the_way_back() {
    let mut bench = Bench::running(1);
    bench.tip("c4", "A");
    bench.record.target = seen("c4", "A");
    (bench.record.mode, bench.record.live) = (Mode::Back, hash("A"));
    let set = bench.set();
    (set.template, set.update_revision) = (hash("A"), "web-A".into());
    bench.pod(4, "A").restarts = 9;
    bench.pod(0, "A").restarts = 40;
    assert_eq!(bench.line(), "Patch p=parked stage=2 Back done | Healthy RolledBack | -");
}

#[test]
fn restarts_are_counted_from_the_beginning_of_the_stage() {
    let mut bench = Bench::running(3);
    bench.pod_mut(4).restarts = 3;
    bench.pod_mut(4).created = at(-900);
    bench.pod_mut(3).ready = false;
    bench.observed.progress = bench.decide().progress;
    bench.pod_mut(4).restarts = 6;
    assert_eq!(bench.line(), "- | Progressing WaitingReady | PodReady 3");
    bench.pod_mut(4).restarts = 7;
    assert_eq!(bench.line(), "Note stage=1 | Degraded TooManyRestarts | PodReady 3");
}

#[test]
fn a_retry_after_too_many_restarts_starts_counting_anew() {
    let mut bench = Bench::running(1);
    bench.pod_mut(4).restarts = 9;
    bench.failed();
    bench.ask(Verb::Retry);
    let decision = bench.decide();
    let [Action::Patch { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    bench.record = (**record).clone();
    bench.set().record = phaseline::model::RecordState::Absent;
    bench.set().request = None;
    bench.now = at(5);
    assert_eq!(bench.line(), "Patch p=2 stage=1 answered | Progressing WaitingReady | -");
}

/// A rollout of B whose partition somebody moved, and who is told to put Git's state back.
fn overwritten(bend: impl FnOnce(&mut Bench)) -> Bench {
    bent(Bench::running(1), |b| {
        let set = b.set();
        set.generation += 1;
        set.observed_generation += 1;
        set.partition = Some(Partition(0));
        b.ask(Verb::ResumeOverwrite);
        bend(b);
    })
}

#[test]
fn an_overwrite_after_a_scale_takes_the_share_of_the_replicas_that_are_there() {
    let mut bench = overwritten(|b| {
        b.scale_commit(None);
        b.record.rest.clone_from(&b.desired.tip.rest);
        b.set().owners[0].replicas = false;
        b.set().replicas = 9;
    });
    assert_eq!(bench.line(), "Overwrite B of B p=8 stage=0 answered | Progressing Starting | -");
}

#[test]
fn an_overwrite_hands_replicas_over_first() {
    let mut bench = overwritten(|b| drop(b.scale_commit(None).observed.pods.first_entry()));
    assert_eq!(bench.line(), "HandOver 5 | Progressing Starting | -");
    bench.set().owners.push(FieldOwner { replicas: true, ..owner(FieldOwner::HANDOVER) });
    assert_eq!(bench.line(), "Overwrite B of B p=4 stage=0 answered | Progressing Starting | -");
}

#[test]
fn an_overwrite_does_nothing_that_is_forbidden() {
    let mut bench = overwritten(|b| drop(b.scale_commit(Some(0)).observed.pods.first_entry()));
    assert_eq!(bench.line(), "Note stage=0 refused | Progressing Starting | -");
    let mut bench = overwritten(|b| b.scale_commit(Some(3)).desired.tip.deletes_claims_when_scaled = true);
    assert_eq!(bench.line(), "Note stage=0 refused | Progressing Starting | -");
}

#[test]
fn an_overwrite_gives_the_stage_its_deadline_again() {
    let mut bench = overwritten(|b| b.now = at(86_400));
    let decision = bench.decide();
    let [Action::Apply { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!(record.at, at(86_400).as_second());
}

#[test]
fn taking_a_blocked_commit_does_nothing_that_is_forbidden() {
    let mut bench = Bench::running(1);
    bench.record.plan.on_new_revision = OnNewRevision::Block;
    bench.tip("c3", "C");
    bench.scale_commit(Some(0));
    bench.ask(Verb::Resume);
    assert_eq!(bench.line(), "Note stage=0 refused | Progressing Starting | -");
}

/// The way back from B, whose pod 2 it broke, below others.
fn broken_below() -> Bench {
    bent(Bench::running(3), |b| {
        b.tip("c4", "A");
        b.record.target = seen("c4", "A");
        (b.record.mode, b.record.live) = (Mode::Back, hash("A"));
        let set = b.set();
        (set.template, set.update_revision) = (hash("A"), "web-A".into());
        b.broken(2, "B", "CrashLoopBackOff");
    })
}

#[test]
fn a_pod_missing_above_a_broken_one_does_not_keep_it_from_being_replaced() {
    let mut bench = broken_below();
    bench.observed.pods.remove(&Ordinal(4));
    assert_eq!(bench.line(), "DeletePod 2 | Progressing WaitingReady | PodCreated 4");
    bench.observed.pods.remove(&Ordinal(0));
    assert_eq!(bench.line(), "- | Progressing WaitingReady | PodCreated 4");
}

#[test]
fn no_pod_is_replaced_while_a_condemned_one_terminates() {
    let mut bench = broken_below();
    bench.pod(7, "B").terminating = true;
    assert_eq!(bench.line(), "- | Progressing WaitingReady | PodUpdated 4 web-B");
}

#[test]
fn what_was_made_current_at_zero_replicas_and_never_became_ready_is_no_stable_revision() {
    let mut bench = Bench::resting_with(0, three());
    bench.tip("c2", "B");
    let decision = bench.decide();
    let [Action::Apply { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!((record.done, record.mode, record.partition), (false, Mode::Install, Partition(0)));
    bench.record = Record { generation: 3, ..(**record).clone() };
    let set = bench.set();
    (set.template, set.partition, set.record) = (hash("B"), Some(Partition(0)), Default::default());
    set.update_revision = "web-B".into();
    assert_eq!(bench.line(), "- | Progressing WaitingReady | ControllerPromotion");
    bench.set().current_revision = "web-B".into();
    let decision = bench.decide();
    let [Action::Patch { record, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    assert_eq!((record.done, record.proven.contains(&hash("B"))), (true, false));
    // Scaled up it turns out to be broken; the fix is not held back by it.
    let mut up = Bench::resting();
    up.record = Record { generation: 3, rest: up.record.rest.clone(), ..(**record).clone() };
    let set = up.set();
    (set.template, set.current_revision, set.update_revision) = (hash("B"), "web-B".into(), "web-B".into());
    for ordinal in 0..5 {
        up.observed.pods.remove(&Ordinal(ordinal));
    }
    up.broken(0, "B", "CrashLoopBackOff");
    up.tip("c3", "C");
    assert_eq!(up.line(), "Start C of C p=0 replicas=5 Install | Progressing Starting | -");
    up.pod(0, "B");
    assert_eq!(up.line(), "Start C of C p=4 replicas=5 stage=0 | Progressing Starting | -");
}

/// A set at rest in which somebody put another template and let it roll.
fn rolled_by_another(bend: impl FnOnce(&mut Bench)) -> Bench {
    bent(Bench::resting(), |b| {
        let set = b.set();
        set.generation += 1;
        set.observed_generation += 1;
        set.template = hash("X");
        set.update_revision = "web-X".into();
        set.partition = Some(Partition(0));
        b.ask(Verb::ResumeOverwrite);
        bend(b);
    })
}

#[test]
fn an_overwrite_at_rest_takes_back_the_pods_that_a_foreign_change_has_reached() {
    let mut bench = rolled_by_another(|b| b.pod(3, "X").restarts = 0);
    assert_eq!(bench.line(), "Overwrite A of A p=3 replicas=5 stage=0 Back answered | Progressing Starting | -");
    let mut bench = rolled_by_another(|b| b.set().current_revision = "web-X".into());
    assert_eq!(bench.line(), "Overwrite A of A p=0 replicas=5 stage=0 Back answered | Progressing Starting | -");
    let mut bench = rolled_by_another(|_| ());
    assert_eq!(bench.line(), "Overwrite A of A p=parked replicas=5 done answered | Progressing Starting | -");
}

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
    bench.observed.progress.at = Some(at(-900));
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
    assert_eq!(decision.requeue, Some(at(28)), "and it is looked at again");
    bench.now = at(28);
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
