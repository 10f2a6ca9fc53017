//! Another binary tells templates apart in another way: the record takes the new digests, and nothing rolls.

use phaseline::model::{Action, Decision, FieldOwner, Mode, Reason, Record, Seen};
use phaseline::revision::digest::HASH_VERSION;

use super::bench::{Bench, at, bent, hash, line, owner, seen};

/// The record as another binary wrote it: every digest is another one.
fn of_another(mut bench: Bench) -> Bench {
    let other = |seen: &mut Seen| seen.hash.0.insert_str(0, "old-");
    let record = &mut bench.record;
    other(&mut record.target);
    record.stable.iter_mut().for_each(other);
    record.live.0.insert_str(0, "old-");
    record.proven.iter_mut().for_each(|hash| hash.0.insert_str(0, "old-"));
    record.failed.iter_mut().for_each(|failed| failed.hash.0.insert_str(0, "old-"));
    bench
}

fn written(decision: &Decision) -> &Record {
    match decision.actions.as_slice() {
        [Action::Patch { record, .. } | Action::Apply { record, .. }] => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn at_rest_it_is_one_write_of_the_record_and_said_once() {
    let mut bench = of_another(Bench::resting());
    let decision = bench.decide();
    assert_eq!(line(&decision), "Note done | Healthy Completed | -");
    assert!(decision.message.contains("nothing is rolled"), "{}", decision.message);
    let record = written(&decision).clone();
    assert_eq!((&record.target, record.stable.as_ref()), (&seen("c1", "A"), Some(&seen("c1", "A"))));
    assert_eq!((&record.live, &record.proven, record.hashes), (&hash("A"), &vec![hash("A")], HASH_VERSION));
    bench.record = record;
    bench.observed.set.as_mut().unwrap().record = phaseline::model::RecordState::Absent;
    assert_eq!(bench.line(), "- | Healthy Completed | -", "once");
}

#[test]
fn under_way_nothing_is_lost() {
    let mut bench = of_another(bent(Bench::running(1), |b| {
        b.broken(4, "B", "ImagePullBackOff");
        b.failed();
    }));
    bench.desired.stable = Some(hash("A"));
    let decision = bench.decide();
    assert_eq!(line(&decision), "Note stage=0 | Degraded ProgressDeadlineExceeded | Decision", "what failed stays so");
    let record = written(&decision);
    assert_eq!((&record.target, record.stable.as_ref()), (&seen("c2", "B"), Some(&seen("c1", "A"))));
    assert_eq!((record.failed.len(), &record.failed[0].hash), (1, &hash("B")));
}

#[test]
fn a_revert_that_comes_with_the_other_binary_is_one() {
    let mut bench = of_another(Bench::running(1));
    bench.tip("c3", "A");
    bench.desired.stable = Some(hash("A"));
    // Git was asked for the commit in force.
    let decision = bench.decide();
    assert_eq!(line(&decision), "Start A of A p=4 replicas=5 stage=0 Back | Progressing Starting | -");
}

#[test]
fn a_commit_that_is_gone_from_git_is_told_by_what_is_live() {
    let mut bench = of_another(Bench::resting());
    bench.desired.tip.commit.id.0 = "rewritten".into();
    assert_eq!(bench.line(), "Note done | Healthy Completed | -");
}

#[test]
fn an_autoscaler_in_between_is_no_drift() {
    let mut bench = of_another(Bench::resting());
    bench.autoscale(6);
    bench.pod(5, "A");
    bench.record.hashes = HASH_VERSION + 1;
    assert_eq!(bench.line(), "Note done | Healthy Completed | -");
}

#[test]
fn a_foreign_template_is_still_a_drift() {
    let mut bench = of_another(Bench::resting());
    bench.record.hashes = HASH_VERSION + 1;
    let set = bench.set();
    (set.generation, set.observed_generation, set.template) = (4, 4, hash("X"));
    set.owners.push(FieldOwner { template: true, ..owner("kubectl-set") });
    assert_eq!(bench.decide().reason, Reason::Drifted);
}

#[test]
fn a_commit_that_waits_goes_out_in_the_same_write() {
    let mut bench = of_another(Bench::resting());
    bench.tip("c2", "B");
    let decision = bench.decide();
    assert_eq!(line(&decision), "Start B of B p=4 replicas=5 stage=0 | Progressing Starting | -");
    assert_eq!(written(&decision).stable, Some(seen("c1", "A")));
}

#[test]
fn defaults_that_are_spelled_out_cost_no_write() {
    let mut bench = Bench::resting();
    bench.record.rest = "as an earlier phaseline had it".into();
    bench.desired.tip.rest_as_written = bench.record.rest.clone();
    assert_eq!(bench.line(), "- | Healthy Completed | -");
}

#[test]
fn the_culprit_is_the_one_of_now() {
    let halted = |bend: fn(&mut Bench)| {
        bent(Bench::running(1), |b| {
            b.failed();
            bend(b);
        })
        .decide()
    };
    let well = halted(|_| ());
    assert_eq!((well.culprit.as_ref(), well.reason), (None, Reason::ProgressDeadlineExceeded));
    assert!(well.message.contains("Ready now: `phaseline retry web` goes on"), "{}", well.message);
    let other = halted(|b| _ = b.broken(4, "B", "CrashLoopBackOff"));
    assert_eq!(other.culprit.unwrap().1, "CrashLoopBackOff");
}

#[test]
fn a_trouble_has_one_steady_word() {
    let word = |bend: fn(&mut Bench)| bent(Bench::running(1), bend).decide().culprit.unwrap().1;
    for turn in ["ErrImagePull", "ImagePullBackOff"] {
        let mut bench = Bench::running(1);
        bench.broken(4, "B", turn);
        assert_eq!(bench.decide().culprit.unwrap().1, "ImagePullBackOff");
    }
    for turn in ["CrashLoopBackOff", "Error"] {
        let mut bench = Bench::running(1);
        bench.broken(4, "B", turn).restarts = 2;
        assert_eq!(bench.decide().culprit.unwrap().1, "CrashLoopBackOff");
    }
    let gone = word(|b| {
        let pod = b.broken(4, "B", "CrashLoopBackOff");
        (pod.node_lost, pod.node) = (true, "node-3".into());
    });
    assert!(gone.starts_with("node-3 does not answer since 20"), "{gone}");
    let held = word(|b| {
        let pod = b.pod(4, "B");
        (pod.ready, pod.terminating, pod.gone_by) = (false, true, Some(at(-60)));
        pod.finalizers = vec!["example.org/backup".into()];
    });
    assert!(held.ends_with("held by the finalizer example.org/backup"), "{held}");
}

#[test]
fn pods_of_a_superseded_revision_are_named() {
    let mut bench = super::found::three_revisions();
    bench.broken(4, "C", "");
    let decision = bench.decide();
    assert!(decision.message.contains("web-2 (web-B), web-3 (web-B)"), "{}", decision.message);
}

#[test]
fn ways_out_are_the_ones_that_work() {
    let mut bench = Bench::running(1);
    bench.record.plan.on_new_revision = phaseline::model::OnNewRevision::Block;
    bench.broken(4, "B", "ImagePullBackOff");
    bench.failed();
    assert!(bench.decide().message.contains("let it in with `phaseline resume web`"));
    let mut stuck = bent(Bench::running(1), |b| {
        b.tip("c3", "A");
        b.record.target = seen("c3", "A");
        (b.record.mode, b.record.live) = (Mode::Back, hash("A"));
        b.record.plan.repair_policy = phaseline::model::RepairPolicy::None;
        let set = b.set();
        (set.template, set.update_revision) = (hash("A"), "web-A".into());
        b.broken(4, "B", "ImagePullBackOff");
    });
    let message = stuck.decide().message;
    assert!(message.contains("`kubectl delete pod web-4 -n default`"), "{message}");
}
