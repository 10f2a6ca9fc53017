//! Section 14 of the rules: whose set it is, and which view of Git is newer.

use phaseline::model::{
    Action, CommitId, Decision, Lineage, Origin, Pause, Phase, Problem, Reason, Record, RecordState, Sight, Size, Verb,
    Wanted,
};
use phaseline::rollout::decide;

use super::bench::{Bench, Row, bent, line, plan, run, seen, stage, three};

fn origin(id: &str) -> Origin {
    Origin { id: id.into(), branch: "b".into(), head: false, name: format!("git.example.com/{id}, branch main") }
}

/// A daemon's view: confirmed, and as new as the record.
fn sight(tip: &str) -> Sight {
    Sight { origin: Some(origin("ours")), tip: CommitId(tip.into()), ..Sight::default() }
}

/// A daemon whose view stands so to the record.
fn seeing(mut bench: Bench, lineage: Lineage, settled: bool) -> Bench {
    bench.observed.sight = Sight { lineage, settled, ..sight("c9") };
    bench
}

/// The tip of Git is an older template than the one that the set was rolled to.
fn lagging(bench: Bench) -> Bench {
    seeing(
        bent(bench, |b| {
            b.tip("c0", "Z");
        }),
        Lineage::Behind,
        false,
    )
}

fn asked(mut bench: Bench, verb: Verb) -> Bench {
    bench.ask(verb);
    bench
}

fn elsewhere(mut bench: Bench) -> Bench {
    bench.observed.sight = sight("c9");
    bench.record.src = Some(origin("theirs"));
    bench
}

fn unconfirmed(mut bench: Bench) -> Bench {
    bench.observed.sight = Sight { confirmed: false, trouble: "no route to host".into(), ..sight("c9") };
    bench
}

const BEHIND: &str = "- | Progressing SourceBehind | Source";

const ROWS: &[Row] = &[
    ("an older tip at rest", || lagging(Bench::resting()), BEHIND),
    ("an older tip under way", || lagging(Bench::running(1)), BEHIND),
    ("a commit that is not known", || seeing(Bench::running(1), Lineage::Unknown, false), BEHIND),
    ("a commit aside", || seeing(Bench::resting(), Lineage::Aside, false), BEHIND),
    (
        "an older tip that has other replicas",
        || {
            lagging(bent(Bench::resting(), |b| {
                b.scale_commit(Some(9));
            }))
        },
        BEHIND,
    ),
    (
        "an older tip does not end a pause, nor a stage that is done",
        || lagging(Bench::running_with(5, plan(vec![stage("", Size::Pods(1), 0, Pause::None)]), 1)),
        BEHIND,
    ),
    (
        "the partition rises with the replicas all the same",
        || lagging(bent(Bench::running(1), |b| b.set().replicas = 8)),
        "Patch p=7 stage=0 | Progressing SourceBehind | Source",
    ),
    ("and never falls", || lagging(bent(Bench::running(3), |b| b.set().replicas = 4)), BEHIND),
    (
        "pause is answered",
        || asked(lagging(Bench::running(1)), Verb::Pause),
        "Note stage=0 held by ann answered | Paused PausedByUser | Resume",
    ),
    (
        "release is answered",
        || asked(lagging(Bench::resting()), Verb::Release),
        "Release p=Some(\"0\") | Blocked AdoptionRequired | -",
    ),
    ("promote waits", || asked(lagging(Bench::running(1)), Verb::Promote), BEHIND),
    ("overwrite waits", || asked(lagging(Bench::resting()), Verb::ResumeOverwrite), BEHIND),
    ("retry waits", || asked(lagging(bent(Bench::running(1), |b| _ = b.failed())), Verb::Retry), BEHIND),
    // Rewritten, and it stands.
    (
        "a proven revision goes through the stages",
        || {
            seeing(
                bent(Bench::resting(), |b| {
                    b.record.proven.insert(0, super::bench::hash("Z"));
                    b.tip("c0", "Z");
                }),
                Lineage::Behind,
                true,
            )
        },
        "Start Z of Z p=4 replicas=5 stage=0 | Progressing SourceRewritten | -",
    ),
    (
        "stable under way: not back at once, but from the first stage",
        || {
            seeing(
                bent(Bench::running(3), |b| {
                    b.tip("c1", "A");
                }),
                Lineage::Behind,
                true,
            )
        },
        "Start A of A p=4 replicas=5 stage=0 | Progressing SourceRewritten | -",
    ),
    (
        "another one under way does not go on where the old one stood",
        || {
            seeing(
                bent(Bench::running(3), |b| {
                    b.tip("d1", "D");
                }),
                Lineage::Aside,
                true,
            )
        },
        "Start D of D p=4 replicas=5 stage=0 | Progressing SourceRewritten | -",
    ),
    (
        "nothing asked for but what is there: it is noted",
        || seeing(Bench::resting(), Lineage::Unknown, true),
        "Note done | Healthy Completed | -",
    ),
    // Of another source.
    ("another source's set", || elsewhere(Bench::resting()), "- | Blocked OtherSource | Adoption"),
    (
        "another source's set with another template",
        || {
            elsewhere(bent(Bench::running(1), |b| {
                b.tip("c9", "Z");
            }))
        },
        "- | Blocked OtherSource | Adoption",
    ),
    (
        "no request of it is answered",
        || asked(elsewhere(Bench::resting()), Verb::Release),
        "- | Blocked OtherSource | Adoption",
    ),
    ("nor pause", || asked(elsewhere(Bench::running(1)), Verb::Pause), "- | Blocked OtherSource | Adoption"),
    (
        "adopt moves it over",
        || asked(elsewhere(Bench::resting()), Verb::Adopt),
        "Note done answered | Progressing Starting | -",
    ),
    (
        "a manifest that asks for adoption moves nothing over: two of them would fight",
        || elsewhere(bent(Bench::resting(), |b| b.desired.tip.adopt = true)),
        "- | Blocked OtherSource | Adoption",
    ),
    // On a copy that nobody has confirmed.
    (
        "a newer commit of an unconfirmed copy waits",
        || {
            unconfirmed(bent(Bench::resting(), |b| {
                b.tip("c2", "B");
            }))
        },
        BEHIND,
    ),
    ("so do its replicas", || unconfirmed(bent(Bench::resting(), |b| _ = b.scale_commit(Some(9)))), BEHIND),
    (
        "the rollout that runs goes on",
        || unconfirmed(Bench::running(1)),
        "Patch p=2 stage=1 | Progressing WaitingReady | -",
    ),
    ("at rest it is at rest", || unconfirmed(Bench::resting()), "- | Healthy Completed | -"),
    (
        "promote is answered",
        || asked(unconfirmed(Bench::running_with(5, paused(), 1)), Verb::Promote),
        "Patch p=0 stage=1 answered | Progressing WaitingReady | -",
    ),
];

fn paused() -> phaseline::model::Plan {
    plan(vec![stage("", Size::Pods(1), 0, Pause::UntilPromoted), stage("", Size::Percent(100), 0, Pause::None)])
}

#[test]
fn forward_in_git_only() {
    run(ROWS);
}

fn record_of(decision: &Decision) -> &Record {
    match decision.actions.as_slice() {
        [Action::Apply { record, .. } | Action::Patch { record, .. } | Action::Adopt { record, .. }] => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_write_of_git_notes_the_source_and_the_tip_and_a_stage_only_the_source() {
    let mut start = Bench::resting();
    start.tip("c2", "B");
    start.observed.sight = sight("c9");
    let decision = start.decide();
    let record = record_of(&decision);
    assert_eq!((&record.src, &record.mark.0[..], &record.target.commit.0[..]), (&Some(origin("ours")), "c9", "c2"));

    let mut scaled = Bench::running(1);
    scaled.record.mark = CommitId("c2".into());
    scaled.scale_commit(Some(9));
    scaled.observed.sight = sight("c9");
    assert_eq!(record_of(&scaled.decide()).mark.0, "c9", "the target stays, the mark moves");

    // A record of an earlier version is taken as ours; it gets its source with the next write, and none is made for it.
    let mut stage = Bench::running(1);
    stage.observed.sight = sight("c9");
    let decision = stage.decide();
    assert_eq!((&record_of(&decision).src, &record_of(&decision).mark.0[..]), (&Some(origin("ours")), ""));
    let mut rest = Bench::resting();
    rest.observed.sight = sight("c9");
    assert_eq!(rest.line(), "- | Healthy Completed | -");

    let mut created = Bench::resting();
    created.observed.set = None;
    created.observed.pods = Default::default();
    created.observed.sight = sight("c9");
    let decision = created.decide_without_record();
    assert_eq!((&record_of(&decision).src, &record_of(&decision).mark.0[..]), (&Some(origin("ours")), "c9"));
    created.observed.sight.confirmed = false;
    assert_eq!(line(&created.decide_without_record()), BEHIND, "nothing is made of an unconfirmed copy");
}

#[test]
fn a_set_that_git_does_not_name_is_not_given_a_source() {
    let mut bench = Bench::running(1);
    bench.observed.sight = sight("c9");
    bench.set().replicas = 8;
    let record = bench.record.clone();
    bench.set().record = RecordState::Is(Box::new(record.clone()), record.encode());
    for wanted in [Wanted::Absent, Wanted::Unknown] {
        for action in decide(&wanted, &bench.observed, bench.now).actions {
            let (Action::Patch { record, .. } | Action::Apply { record, .. } | Action::Adopt { record, .. }) = action
            else {
                continue;
            };
            assert_eq!((record.src, record.mark), (None, CommitId::default()));
        }
    }
}

#[test]
fn moved_over_it_says_from_where_and_the_difference_is_a_rollout_of_its_own() {
    let mut bench = asked(elsewhere(Bench::resting()), Verb::Adopt);
    bench.tip("c9", "Z");
    let decision = bench.decide();
    assert!(decision.message.contains("git.example.com/theirs"), "{}", decision.message);
    let moved = record_of(&decision).clone();
    assert_eq!((&moved.src, &moved.mark.0[..], &moved.target), (&Some(origin("ours")), "c9", &seen("c1", "A")));
    (bench.record, bench.set().record, bench.set().request) = (moved, RecordState::Absent, None);
    assert_eq!(bench.line(), "Start Z of Z p=4 replicas=5 stage=0 answered | Progressing Starting | -");
}

#[test]
fn both_sources_are_named_with_the_way_out_and_it_is_never_called_orphaned() {
    let mut bench = elsewhere(Bench::resting());
    let record = bench.record.clone();
    bench.set().record = RecordState::Is(Box::new(record.clone()), record.encode());
    let problem = Problem { diagnostics: Vec::new() };
    for wanted in [Wanted::Absent, Wanted::Unknown, Wanted::Broken(&problem), Wanted::Is(&bench.desired, None)] {
        let decision = decide(&wanted, &bench.observed, bench.now);
        assert_eq!((decision.phase, decision.reason), (Phase::Blocked, Reason::OtherSource));
        for word in ["git.example.com/ours", "git.example.com/theirs", "`phaseline adopt web -n default`"] {
            assert!(decision.message.contains(word), "{}", decision.message);
        }
    }
}

#[test]
fn a_command_that_only_reads_is_never_behind_nor_elsewhere() {
    let mut bench = Bench::running_with(5, three(), 1);
    bench.record.src = Some(origin("theirs"));
    bench.record.mark = CommitId("c9".into());
    assert_eq!(bench.line(), "Patch p=2 stage=1 | Progressing WaitingReady | -");
}

#[test]
fn before_the_first_view_nothing_is_advanced_and_the_cause_is_said() {
    let mut bench = Bench::running(1);
    bench.observed.sight = Sight::none("cannot reach https://git.example.com");
    let record = bench.record.clone();
    bench.set().record = RecordState::Is(Box::new(record.clone()), record.encode());
    let decision = decide(&Wanted::Unknown, &bench.observed, bench.now);
    assert_eq!(line(&decision), BEHIND);
    assert!(decision.message.contains("cannot reach https://git.example.com"), "{}", decision.message);
}

#[test]
fn a_manifest_that_an_older_tip_lacks_is_not_gone() {
    for (lineage, settled, reason) in [
        (Lineage::Behind, false, Reason::SourceBehind),
        (Lineage::Unknown, false, Reason::SourceBehind),
        (Lineage::Aside, true, Reason::Orphaned),
        (Lineage::Onward, false, Reason::Orphaned),
    ] {
        let mut bench = seeing(Bench::resting(), lineage, settled);
        let record = bench.record.clone();
        bench.set().record = RecordState::Is(Box::new(record.clone()), record.encode());
        assert_eq!(decide(&Wanted::Absent, &bench.observed, bench.now).reason, reason, "{lineage:?}");
    }
}
