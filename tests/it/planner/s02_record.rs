//! Section 2 of the rules: the record, its bounds, and what is written.

use phaseline::model::record::Answer;
use phaseline::model::{
    CommitId, Failed, Hold, Origin, Pause, Phase, Reason, Record, RecordState, Seen, Size, TemplateHash, WaitingOn,
};

use super::bench::{Bench, at, line, plan, stage};

/// A plan as large as it is let into a record.
fn long_plan() -> phaseline::model::Plan {
    let stages = |count: u32| {
        (1..=count).map(|n| stage(&"x".repeat(20), Size::Percent(n), 86_400, Pause::Seconds(86_400))).collect()
    };
    let mut largest = plan(stages(1));
    for count in 2..40 {
        let next = plan(stages(count));
        if next.frozen().len() > phaseline::model::Plan::MAX_FROZEN_BYTES {
            break;
        }
        largest = next;
    }
    largest
}

/// A record with everything in it as long as it gets.
pub(super) fn largest() -> Record {
    let mut record = Bench::running(1).record;
    let commit = |n: u32| CommitId(format!("{n:0>40}"));
    let digest = |n: u32| TemplateHash(format!("{n:a>20}"));
    let seen =
        |n: u32| Seen { commit: commit(n), hash: digest(n), restart: "2026-07-24T10:00:00.123456789+02:00".into() };
    record.plan = long_plan();
    record.epoch = u64::MAX;
    record.rollout = format!("{}-{}", digest(1).short(), u64::MAX);
    record.target = seen(1);
    record.stable = Some(seen(2));
    record.src = Some(Origin {
        id: "5".repeat(16),
        branch: "6".repeat(8),
        head: true,
        name: "n".repeat(Origin::MAX_NAME_BYTES),
    });
    record.mark = commit(9);
    record.back = "n".repeat(74);
    record.digest = "d".repeat(20);
    record.rest = "r".repeat(20);
    record.live = digest(3);
    record.stage = Some(39);
    record.exposed = Some(1000);
    record.promoted = true;
    (record.accepted, record.replicas, record.was) = (true, Some(u32::MAX), Some(seen(4)));
    record.stated = "2026-07-24T10:00:00.123456789+02:00".into();
    record.hold = Some(Hold { by: "h".repeat(64) });
    record.req = Some(Answer { id: "i".repeat(36), refused: "w".repeat(160) });
    record.failed = (0..5)
        .map(|n| Failed {
            commit: commit(n),
            hash: digest(n),
            reason: "ProgressDeadlineExceeded".into(),
            culprit: format!("{}-{n}: CreateContainerConfigError", "s".repeat(52)),
        })
        .collect();
    record.proven = (0..10).map(digest).collect();
    record
}

#[test]
fn a_record_fits_into_2_kib_whatever_is_in_it() {
    let record = largest();
    let text = record.encode();
    assert!(text.len() <= Record::MAX_BYTES, "{} bytes", text.len());
    let back = Record::decode(&text).expect("what was written can be read");
    assert_eq!((back.epoch, &back.target, &back.plan), (record.epoch, &record.target, &record.plan));
    let is_same = back.src.zip(record.src).is_some_and(|(back, origin)| back.is_same(&origin));
    assert!(is_same && back.mark == record.mark, "whose it is, and how new, is never left out");
}

#[test]
fn a_record_that_cannot_be_read_stops_everything() {
    for text in ["{}", "nonsense", r#"{"v":2}"#, r#"{"v":1,"surprise":1}"#] {
        let why = Record::decode(text).unwrap_err();
        let mut bench = Bench::resting();
        bench.tip("c2", "B");
        bench.set().record = RecordState::Unreadable(why);
        assert_eq!(line(&bench.decide()), "- | Blocked RecordUnreadable | Correction", "{text}");
    }
}

#[test]
fn a_record_with_a_field_we_do_not_know_is_not_read() {
    let text = Bench::running(1).record.encode().replacen('{', "{\"later\":1,", 1);
    assert!(Record::decode(&text).unwrap_err().contains("later"));
}

#[test]
fn a_newer_record_says_so() {
    assert!(Record::decode(r#"{"v":2,"anything":[]}"#).unwrap_err().contains("newer phaseline"));
}

#[test]
fn a_stale_view_is_not_acted_on() {
    let mut bench = Bench::resting();
    bench.tip("c2", "B");
    bench.observed.stale_seconds = Some(61);
    let decision = bench.decide();
    assert_eq!(
        (decision.phase, decision.reason, decision.waiting_on, decision.actions.len()),
        (Phase::Progressing, Reason::ViewStale, Some(WaitingOn::FreshView), 0)
    );
}

#[test]
fn a_stale_view_of_a_set_at_rest_says_how_it_was() {
    let mut bench = Bench::resting();
    bench.observed.stale_seconds = Some(61);
    assert_eq!(bench.line(), "- | Healthy Completed | -");
    assert!(bench.decide().message.contains("61 s ago"));
}

#[test]
fn a_stale_view_of_a_rollout_does_not_say_what_it_waits_for() {
    // It may long have happened.
    let mut bench = Bench::running(1);
    bench.set().observed_generation -= 1;
    bench.observed.stale_seconds = Some(200);
    assert_eq!(bench.line(), "- | Progressing ViewStale | FreshView");
}

#[test]
fn what_may_not_be_seen_is_not_decided_on() {
    for mut bench in [Bench::resting(), Bench::running(1)] {
        bench.tip("c9", "Z");
        bench.observed.forbidden = Some("not allowed to list pods in namespace b".into());
        assert_eq!(bench.line(), "- | Blocked Forbidden | Correction");
    }
}

#[test]
fn a_set_being_deleted_is_left_alone() {
    let mut bench = Bench::running(1);
    bench.set().terminating = true;
    assert_eq!(bench.line(), "- | Progressing Terminating | SetGone");
}

#[test]
fn at_rest_nothing_is_written_however_often_it_is_looked_at() {
    let mut bench = Bench::resting();
    for second in 0..86_400_i64 / 600 {
        bench.now = at(second * 600);
        let decision = bench.decide();
        assert_eq!((line(&decision).as_str(), decision.requeue), ("- | Healthy Completed | -", None));
    }
}

#[test]
fn every_write_raises_the_epoch_and_tests_what_it_read() {
    let mut bench = Bench::running(1);
    let text = bench.record.encode();
    let decision = bench.decide();
    let [phaseline::model::Action::Patch { record, uid, generation, old_record, .. }] = decision.actions.as_slice()
    else {
        panic!("{decision:?}")
    };
    assert_eq!((record.epoch, uid.as_str(), *generation, old_record), (8, "set-1", 3, &text));
    assert_eq!(record.generation, 4, "a moved partition is a new generation");
}
