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
fn only_the_request_that_was_answered_is_taken_off() {
    let mut bench = Bench::running(1);
    bench.ask(Verb::Pause);
    let written = bench.set().request_text.clone();
    let decision = bench.decide();
    let [Action::Patch { clear_request, .. }] = decision.actions.as_slice() else { panic!("{decision:?}") };
    // A newer one that took its place would fail the write, and be looked at.
    assert!(written.contains("r1"));
    assert_eq!(clear_request.as_deref(), Some(written.as_str()));
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
pub(super) fn install_changed(change: impl FnOnce(&mut LiveSet)) -> Bench {
    bent(Bench::running(5), |b| {
        b.record.mode = Mode::Install;
        (b.record.stable, b.record.stage, b.record.partition) = (None, None, PARKED);
        let set = b.set();
        set.partition = Some(PARKED);
        set.generation += 1;
        set.observed_generation += 1;
        set.update_revision = "web-X".into();
        change(set);
        // In order there is only the first.
        b.observed.pods.clear();
        b.broken(0, "B", "ImagePullBackOff");
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
pub(super) fn three_revisions() -> Bench {
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
    let mut bench = overwritten(|b| b.scale_commit(None).now = at(0));
    assert_eq!(bench.line(), "HandOver 5 | Progressing Starting | -");
    bench.set().owners.push(FieldOwner { replicas: true, ..owner(FieldOwner::HANDOVER) });
    assert_eq!(bench.line(), "Overwrite B of B p=4 stage=0 answered | Progressing Starting | -");
}

#[test]
fn an_overwrite_does_nothing_that_is_forbidden() {
    let mut bench = overwritten(|b| b.scale_commit(Some(0)).now = at(0));
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
    bench.record = Record { generation: 3, live: hash("B"), ..(**record).clone() };
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
