//! Plans that are good, and every way in which one is not.

use std::time::{Duration, Instant};

use super::*;
use crate::manifest::parse;
use crate::model::{Pause, Ramp, Schedule, Severity, Size, Stage};

/// The plan of the documentation.
pub(in crate::manifest) const EXAMPLE: &str = r#"apiVersion: phaseline.dev/v1alpha1
kind: RolloutPlan
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps/v1, kind: StatefulSet, name: web}
  progressDeadlineSeconds: 600      # per stage; stops while paused or outside a window
  onFailure: Halt
  onNewRevision: Continue           # Continue | Restart | Queue | Block: a new commit while a rollout runs
  rollbackWindow: {revisions: 3}    # a revert to one of the last 3 proven revisions skips pauses and gates
  repairPolicy: Delete              # the default; None | Evict | Delete: what to do with a pod that a newer decision left broken (kubernetes#67250)
  failureThreshold: 0               # Parallel only: pods that may be unready without failing a stage, number or percent
  stages:
    - name: canary
      replicas: 1                   # cumulative: number or "25%" (rounded up), or partition: N for experts
      pause: {}                     # until promoted; {duration: 10m}, or a number of seconds
    - name: third
      replicas: "34%"
      minReadySeconds: 60           # how long every updated pod must have been Ready before the stage is done
      pause: {duration: 10m}
    - name: rest
      replicas: "100%"
"#;

/// A plan from the text of its spec, three lines into the file, indented by two.
fn with_spec(spec: &str) -> PlanReading {
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!("apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nspec:\n{spec}");
    of_text(&text)
}

fn of_text(text: &str) -> PlanReading {
    let (documents, findings) = parse("apps/web/rollout-plan.yaml", text.as_bytes());
    assert!(findings.iter().all(|finding| finding.severity == Severity::Warning), "{text}: {findings:?}");
    read(&documents[0])
}

fn stage(name: &str, size: Size, min_ready_seconds: u32, pause: Pause) -> Stage {
    Stage { name: name.into(), size, min_ready_seconds, pause }
}

/// The first error, as `line:column: message | hint`.
fn first_error(reading: &PlanReading) -> String {
    let finding = reading.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
    let finding = finding.unwrap_or_else(|| panic!("no error in {reading:?}"));
    assert_eq!(reading.plan, None);
    assert_eq!(finding.file, "apps/web/rollout-plan.yaml");
    format!("{}:{}: {} | {}", finding.line, finding.column, finding.message, finding.hint)
}

#[test]
fn the_plan_of_the_documentation_is_read() {
    let reading = of_text(EXAMPLE);
    assert_eq!(reading.diagnostics, []);
    let document = reading.plan.unwrap();
    assert_eq!(document.name, "web");
    assert_eq!(document.workload_ref, Some((None, "web".into())));
    assert_eq!(document.folder, "apps/web");
    assert_eq!(document.line, 1);
    let plan = Plan {
        schedule: Schedule::Stages(vec![
            stage("canary", Size::Pods(1), 0, Pause::UntilPromoted),
            stage("third", Size::Percent(34), 60, Pause::Seconds(600)),
            stage("rest", Size::Percent(100), 0, Pause::None),
        ]),
        ..Plan::default()
    };
    assert_eq!(document.plan, plan);
    assert_eq!(document.digest, plan_digest(&plan));
    assert_eq!(document.digest.len(), 20);
    assert_ne!(document.digest, plan_digest(&Plan::default()));
}

#[test]
fn json_is_as_good_as_yaml() {
    let yaml = of_text(EXAMPLE);
    let (documents, _) = parse("rollout-plan.yaml", EXAMPLE.as_bytes());
    let json = serde_json::to_string_pretty(&documents[0].value).unwrap();
    let (documents, findings) = parse("rollout-plan.json", json.as_bytes());
    assert_eq!(findings, []);
    let reading = read(&documents[0]);
    assert_eq!(reading.plan.unwrap().digest, yaml.plan.unwrap().digest);
    // Places are found in JSON too.
    let (documents, _) = parse("rollout-plan.json", json.replace("\"34%\"", "\"134%\"").as_bytes());
    let finding = read(&documents[0]).diagnostics[0].clone();
    let line = json.lines().position(|line| line.contains("34%")).unwrap() + 1;
    assert_eq!((finding.line as usize, finding.column > 10), (line, true));
}

#[test]
fn what_may_be_written_in_several_ways_means_the_same() {
    let plain = "stages: [{replicas: '25%', pause: {duration: 10m}}, {replicas: '100%'}]";
    let expected = with_spec(plain).plan.unwrap().plan;
    for same in [
        "stages: [{setWeight: 25, pause: 600}, {partition: 0}]",
        "stages: [{setWeight: 25, pause: {duration: 600}}, {setWeight: 100}]",
        "stages: [{replicas: '25%', pause: {duration: 600s}}, {replicas: '100%', pause: 0}]",
        "onFailure: Halt\nfailureThreshold: 0\nstages: [{replicas: '025%', pause: 600}, {replicas: '100%'}]",
        "onNewRevision: continue\nrepairPolicy: delete\nstages: [{replicas: '25%', pause: 600}, {replicas: '100%'}]",
    ] {
        let reading = with_spec(same);
        assert_eq!(reading.diagnostics, [], "{same}");
        let mut plan = reading.plan.unwrap().plan;
        let Schedule::Stages(stages) = &mut plan.schedule else { panic!("{same}") };
        if stages[1].size == Size::Partition(0) {
            stages[1].size = Size::Percent(100);
        }
        assert_eq!(plan, expected, "{same}");
    }
}

#[test]
fn every_field_is_taken_over() {
    let plan = with_spec(
        "progressDeadlineSeconds: 60\nonNewRevision: Queue\nrollbackWindow: {revisions: 0}\nrepairPolicy: None\n\
         maxRestarts: 0\nramp: {geometric: {factor: 2}, minReadySeconds: 5, pause: {duration: 1h30m}}",
    );
    let expected = Plan {
        schedule: Schedule::Ramp { ramp: Ramp::Geometric(2), min_ready_seconds: 5, pause: Pause::Seconds(5400) },
        progress_deadline_seconds: 60,
        on_new_revision: OnNewRevision::Queue,
        rollback_window: 0,
        repair_policy: RepairPolicy::None,
        max_restarts: 0,
    };
    assert_eq!(plan.plan.unwrap().plan, expected);
    for (rule, ramp) in [
        ("linear: {step: 1}", Ramp::Linear(1)),
        ("geometric: {factor: 1}", Ramp::Geometric(1)),
        ("exponential: {base: 2}", Ramp::Exponential(2)),
    ] {
        let plan = with_spec(&format!("ramp: {{{rule}}}")).plan.unwrap().plan;
        assert_eq!(plan.schedule, Schedule::Ramp { ramp, min_ready_seconds: 0, pause: Pause::None });
    }
}

#[test]
fn sizes_that_make_no_sense_are_told_with_their_place() {
    const COUNT: &str = "a whole number from 1 to 2147483647";
    const SHARE: &str = "a share is a whole number of percent, from \"1%\" to \"100%\"";
    for (size, message, hint) in [
        ("partition: -1", "`partition` cannot be `-1`", "a whole number from 0 to 2147483647"),
        ("partition: 2147483648", "`partition` cannot be `2147483648`", "a whole number from 0 to 2147483647"),
        ("replicas: 0", "`replicas` cannot be `0`", COUNT),
        ("replicas: -1", "`replicas` cannot be `-1`", COUNT),
        ("replicas: 2147483648", "`replicas` cannot be `2147483648`", COUNT),
        ("replicas: 9223372036854775808", "`replicas` cannot be `9.223372036854776e+18`", COUNT),
        ("replicas: 1.5", "`replicas` cannot be `1.5`", COUNT),
        ("replicas: [1]", "`replicas` cannot be a list", COUNT),
        (
            "replicas: '3'",
            "`replicas` cannot be the text `3`",
            "a number of pods is written without quotes, a share as \"25%\"",
        ),
        ("replicas: 101%", "`replicas` cannot be the text `101%`", SHARE),
        ("replicas: -5 %", "`replicas` cannot be the text `-5 %`", SHARE),
        ("replicas: 0 %", "`replicas` cannot be the text `0 %`", SHARE),
        ("replicas: 0%", "`replicas` cannot be the text `0%`", SHARE),
        ("replicas: 33.333%", "`replicas` cannot be the text `33.333%`", SHARE),
        ("replicas: ½", "`replicas` cannot be the text `½`", SHARE),
        ("replicas: 99999999999%", "`replicas` cannot be the text `99999999999%`", SHARE),
        ("replicas: ٣%", "`replicas` cannot be the text `٣%`", SHARE),
        ("setWeight: 0", "`setWeight` cannot be `0`", "a whole number from 1 to 100"),
        ("setWeight: 101", "`setWeight` cannot be `101`", "a whole number from 1 to 100"),
    ] {
        let reading = with_spec(&format!("stages:\n  - name: a\n    {size}\n  - replicas: '100%'"));
        let column = 9 + size.find(':').unwrap();
        assert_eq!(first_error(&reading), format!("6:{column}: {message} | {hint}"), "{size}");
    }
}

#[test]
fn durations_that_make_no_sense_are_told_with_their_place() {
    const LONG: &str = "at most 30 days (720h); `pause: {}` waits until promoted";
    for (duration, message, hint) in [
        ("-1s", "`-1s` is no duration", "a pause cannot be negative"),
        ("-1", "`duration` cannot be `-1`", "a whole number from 0 to 2592000"),
        ("100y", "`100y` is no duration", DURATION),
        ("721h", "`721h` is no duration", LONG),
        ("9999999999999999999h", "`9999999999999999999h` is no duration", DURATION),
        ("99999999999", "`duration` cannot be `99999999999`", "a whole number from 0 to 2592000"),
        ("PT1H", "`PT1H` is no duration", DURATION),
        ("1ns", "`1ns` is no duration", "the shortest unit is a second"),
        ("1.5s", "`1.5s` is no duration", "the shortest unit is a second"),
        ("'10'", "`10` is no duration", "a number of seconds is written without quotes; with a unit it is `90s`"),
        ("soon", "`soon` is no duration", DURATION),
        ("''", "`` is no duration", DURATION),
        ("true", "a duration cannot be `true`", DURATION),
    ] {
        let reading =
            with_spec(&format!("stages:\n- replicas: 1\n  pause:\n    duration: {duration}\n- replicas: '100%'"));
        assert_eq!(first_error(&reading), format!("7:17: {message} | {hint}"), "{duration}");
    }
    for (duration, seconds) in [("10m", 600), ("90s", 90), ("1h30m", 5400), ("720h", 2_592_000), ("1 hour", 3600)] {
        let plan = with_spec(&format!("stages: [{{replicas: '100%', pause: {{duration: {duration}}}}}]")).plan.unwrap();
        let Schedule::Stages(stages) = plan.plan.schedule else { panic!("{duration}") };
        assert_eq!(stages[0].pause, Pause::Seconds(seconds), "{duration}");
    }
}

/// How a duration is written.
const DURATION: &str = "write `90s`, `10m`, `1h30m`, or a number of seconds";

#[test]
fn plans_that_make_no_sense_are_told_with_their_place() {
    let long = "x".repeat(64);
    let stages = |list: &str| format!("stages:\n{}", list.lines().map(|line| format!("{line}\n")).collect::<String>());
    let cumulative = "stages are cumulative: each says how many pods in all run the new revision";
    let last = "the last stage reaches every pod: write `replicas: \"100%\"`";
    let visible = "at most 63 visible characters";
    for (spec, expected) in [
        ("{}".to_owned(), "4:3: the plan has neither `stages` nor a `ramp` | write at least `stages: [{replicas: \"100%\"}]`".to_owned()),
        ("stages: []".into(), "4:11: there are no stages | write at least one: `- replicas: \"100%\"`".into()),
        ("stages: 3".into(), "4:11: `stages` is a list, not `3` | ".into()),
        ("stages: [3]".into(), "4:12: a stage is a mapping, not `3` | its keys: `name`, `replicas`, `partition`, `setWeight`, `minReadySeconds`, `pause`".into()),
        ("stages: [{}]".into(), "4:12: the stage does not say how far it reaches | write `replicas: 1`, `replicas: \"25%\"` or `partition: 3`".into()),
        (
            stages(&"- replicas: 1\n".repeat(65)),
            "4:3: there are 65 stages, more than 64 | write a `ramp` instead".into(),
        ),
        (
            stages("- replicas: 100%\nramp: {linear: {step: 1}}"),
            "6:3: there are both `stages` and a `ramp` | a ramp makes the stages itself: keep one of the two".into(),
        ),
        (stages("- replicas: 3\n- replicas: 2\n- replicas: 100%"), format!("6:15: the stage reaches less far than one before it | {cumulative}")),
        (stages("- replicas: 30%\n- replicas: 5\n- replicas: 20%\n- replicas: 100%"), format!("7:15: the stage reaches less far than one before it | {cumulative}")),
        (stages("- partition: 3\n- partition: 4\n- partition: 0"), format!("6:16: the stage reaches less far than one before it | {cumulative}")),
        (stages("- replicas: 100%\n- replicas: 3"), format!("6:15: the stage reaches less far than one before it | {cumulative}")),
        (stages("- replicas: 50%\n- replicas: 99%"), format!("6:15: the last stage reaches 99% of the pods | {last}")),
        (stages("- replicas: 5"), format!("5:15: the last stage reaches 5 pods, and a set may have more | {last}")),
        (stages("- partition: 2"), format!("5:16: the last stage leaves the 2 lowest pods out | {last}")),
        (stages("- replicas: 1\n  partition: 3\n- replicas: 100%"), "6:5: there are both `replicas` and `partition` | each says how far the stage reaches: keep one".into()),
        (stages("- name: a\n  replicas: 1\n- name: a\n  replicas: 100%"), "7:11: there are two stages `a` | `promote` and `status` name stages: give each a name of its own".into()),
        (stages(&format!("- name: {long}\n  replicas: 100%")), format!("5:11: the stage's name `{}..` is too long | {visible}", "x".repeat(60))),
        (stages("- name: \"\\e[31mred\"\n  replicas: 100%"), format!("5:11: the stage's name `\\u{{1b}}[31mred` holds characters that cannot be seen | {visible}")),
        (stages("- name: ''\n  replicas: 100%"), format!("5:11: the stage's name `` is empty, or begins or ends with a blank | {visible}")),
        (stages("- name: 3\n  replicas: 100%"), "5:11: a stage's name is text, not `3` | quote it".into()),
        (stages("- replicas: 100%\n  minReadySeconds: 600"), "6:22: `minReadySeconds` 600 is not less than `progressDeadlineSeconds` 600 | every stage would fail before its pods were Ready for long enough".into()),
        (stages("- replicas: 100%\n  pause:"), "6:5: `pause` has no value | write `pause: {}` to wait until promoted".into()),
        (stages("- replicas: 100%\n  pause: forever"), "6:12: `pause` cannot be the text `forever` | write `pause: {}` to wait until promoted, or `pause: {duration: 10m}`".into()),
        (stages("- replicas: 100%\n  pause: {seconds: 3}"), "6:13: unknown key `seconds` of pause | the keys are `duration`".into()),
        (stages("- parttion: 0"), "5:5: unknown key `parttion` of a stage | did you mean `partition`?".into()),
        (stages("- replicas: 100%\n  gate: {}"), "6:5: `gate` is no key of a stage | it is not built yet: leave it out".into()),
        (stages("- replicas: 100%\n  maxUnavailable: 200%"), "6:5: `maxUnavailable` is no key of a stage | it belongs to `spec.updateStrategy.rollingUpdate` of the StatefulSet".into()),
        ("ramp: {}".into(), "4:9: the ramp has no rule | write one of `linear: {step: 1}`, `geometric: {factor: 2}`, `exponential: {base: 2}`".into()),
        ("ramp: {linear: {step: 1}, geometric: {factor: 2}}".into(), "4:9: the ramp has more than one rule | write one of `linear: {step: 1}`, `geometric: {factor: 2}`, `exponential: {base: 2}`".into()),
        ("ramp: {linear: {step: 0}}".into(), "4:25: `step` cannot be `0` | a whole number from 1 to 2147483647".into()),
        ("ramp: {geometric: {factor: 0}}".into(), "4:30: `factor` cannot be `0` | a whole number from 1 to 2147483647".into()),
        ("ramp: {exponential: {base: 1}}".into(), "4:30: `base` cannot be `1` | a whole number from 2 to 2147483647".into()),
        ("ramp: {exponential: {}}".into(), "4:23: `exponential` has no `base` | write `exponential: {base: 2}`".into()),
        ("ramp: {linear: {steps: 2}}".into(), "4:19: unknown key `steps` of ramp.linear | did you mean `step`?".into()),
    ] {
        assert_eq!(first_error(&with_spec(&spec)), expected, "{spec}");
    }
}

#[test]
fn keys_of_the_spec_are_refused_by_name_or_told_from_their_neighbours() {
    for (line, message, hint) in [
        ("onFailure: Revert", "4:14: `onFailure: Revert` is not built yet", "write `Halt`, and undo with"),
        ("onFailure: halted", "4:14: `onFailure` cannot be the text `halted`", "did you mean `Halt`?"),
        ("failureThreshold: 1", "4:21: `failureThreshold` `1` is not built yet", "leave it out"),
        ("failureThreshold: 10%", "4:21: `failureThreshold` the text `10%` is not built yet", "leave it out"),
        ("repairPolicy: Evict", "4:17: `repairPolicy: Evict` is not built yet", "write `Delete`, or `None`"),
        ("onNewRevision: Wait", "4:18: `onNewRevision` cannot be the text `Wait`", "one of `Continue`, `Restart`"),
        ("progressDeadlineSeconds: 0", "4:28: `progressDeadlineSeconds` cannot be `0`", "a whole number from 1"),
        (
            "progressDeadlineSeconds: '600'",
            "4:28: `progressDeadlineSeconds` cannot be the text `600`",
            "without quotes",
        ),
        ("rollbackWindow: {revisions: 11}", "4:31: `revisions` cannot be `11`", "a whole number from 0 to 10"),
        ("rollbackWindow: 3", "4:19: rollbackWindow is a mapping, not `3`", "its keys: `revisions`"),
        ("maxRestarts: -1", "4:16: `maxRestarts` cannot be `-1`", "a whole number from 0"),
        ("analysis: {}", "4:3: `analysis` is no key of spec", "not built yet"),
        ("gates: []", "4:3: `gates` is no key of spec", "not built yet"),
        ("webhooks: []", "4:3: `webhooks` is no key of spec", "not built yet"),
        ("syncWindows: []", "4:3: `syncWindows` is no key of spec", "not built yet"),
        ("windows: []", "4:3: `windows` is no key of spec", "not built yet"),
        ("dependsOn: []", "4:3: `dependsOn` is no key of spec", "not built yet"),
        ("rolloutGroup: a", "4:3: `rolloutGroup` is no key of spec", "not built yet"),
        ("autoRollback: true", "4:3: `autoRollback` is no key of spec", "not built yet"),
        ("strategy: {canary: {steps: []}}", "4:3: `strategy` is no key of spec", "write `spec.stages`"),
        ("paused: true", "4:3: `paused` is no key of spec", "phaseline pause"),
        ("stage: []", "4:3: unknown key `stage` of spec", "did you mean `stages`?"),
        ("workloadRef: {name: Web}", "4:23: the text `Web` is no name of a StatefulSet", ""),
        ("workloadRef: {}", "4:16: `workloadRef` names no set", "every StatefulSet of its folder"),
        (
            "workloadRef: {kind: Deployment, name: a}",
            "4:23: `workloadRef.kind` cannot be the text `Deployment`",
            "only `StatefulSet`",
        ),
        (
            "workloadRef: {name: a, namespace: b}",
            "4:26: `namespace` is no key of workloadRef",
            "write `metadata.namespace`",
        ),
    ] {
        let reading = with_spec(&format!("{line}\nstages: [{{replicas: 100%}}]"));
        let error = first_error(&reading);
        let (said, way_out) = error.split_once(" | ").unwrap();
        assert_eq!(said, message, "{line}");
        assert!(way_out.contains(hint), "{line}: {way_out}");
    }
}

#[test]
fn the_top_of_a_plan_is_checked_too() {
    for (text, expected) in [
        (
            "apiVersion: phaseline.dev/v1\nkind: RolloutPlan\nspec: {}\n",
            "1:13: this version reads phaseline.dev/v1alpha1, not `phaseline.dev/v1` | write `apiVersion: phaseline.dev/v1alpha1`",
        ),
        (
            "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\n",
            "1:0: the plan has no `spec` | write at least `spec: {stages: [{replicas: \"100%\"}]}`",
        ),
        (
            "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nspec: []\n",
            "3:7: spec is a mapping, not a list | its keys: `workloadRef`, `progressDeadlineSeconds`, `onFailure`, `onNewRevision`, `rollbackWindow`, `repairPolicy`, `maxRestarts`, `failureThreshold`, `stages`, `ramp`",
        ),
        (
            "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nmetadata: {nam: a}\nspec: {stages: [{replicas: 100%}]}\n",
            "3:12: unknown key `nam` of metadata | did you mean `name`?",
        ),
        (
            "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nspecs: {}\nspec: {stages: [{replicas: 100%}]}\n",
            "3:1: unknown key `specs` | did you mean `spec`?",
        ),
        (
            "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nmetadata: {name: A B}\nspec: {stages: [{replicas: 100%}]}\n",
            "3:18: `metadata.name` cannot be the text `A B` | at most 63 of a-z, 0-9 and `-`, and neither begins nor ends with `-`",
        ),
    ] {
        assert_eq!(first_error(&of_text(text)), expected, "{text}");
    }
}

#[test]
fn all_findings_come_at_once_and_in_the_order_of_the_text() {
    let reading = with_spec("onFailure: Revert\nfoo: 1\nstages:\n- parttion: 0\n  pause: soon\n- replicas: 0");
    let lines: Vec<u32> = reading.diagnostics.iter().map(|finding| finding.line).collect();
    assert_eq!(lines, [4, 5, 7, 8, 9]);
}

#[test]
fn stages_that_reach_no_further_are_a_warning() {
    let reading = with_spec("stages: [{replicas: 1}, {replicas: 1}, {replicas: '100%'}, {partition: 0}]");
    let seen: Vec<_> =
        reading.diagnostics.iter().map(|finding| (finding.severity, finding.line, finding.column)).collect();
    assert_eq!(seen, [(Severity::Warning, 4, 38), (Severity::Warning, 4, 74)]);
    assert!(reading.plan.is_some());
}

#[test]
fn a_plan_that_does_not_fit_into_the_record_is_refused() {
    let list: String = (1..40).map(|n| format!("- {{name: a-rather-long-name-{n}, replicas: {n}}}\n")).collect();
    let error = first_error(&with_spec(&format!("stages:\n{list}- replicas: 100%")));
    assert!(error.starts_with("4:3: the plan takes "), "{error}");
    assert!(error.ends_with("at most 900 | shorten the stages' names, or write a `ramp` instead of stages"), "{error}");
}

#[test]
fn no_mutation_of_a_plan_makes_the_reader_panic() {
    let scraps = [
        "-",
        " ",
        "\n",
        ":",
        "%",
        "{",
        "}",
        "[",
        "]",
        "'",
        "\"",
        "&a",
        "*a",
        "<<",
        "\u{1b}",
        "½",
        "99999999999",
        "null",
        "\t",
        "!!x",
    ];
    let started = Instant::now();
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..100 {
            let mut letters: Vec<char> = EXAMPLE.chars().collect();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(0..letters.len());
                match random.u8(0..3) {
                    0 => drop(letters.remove(at)),
                    1 => letters.splice(at..at, scraps[random.usize(0..scraps.len())].chars()).for_each(drop),
                    _ => letters.splice(at..letters.len().min(at + random.usize(0..40)), []).for_each(drop),
                }
            }
            let text: String = letters.into_iter().collect();
            let (documents, _) = parse("rollout-plan.yaml", text.as_bytes());
            for document in &documents {
                let reading = read(document);
                let errors = reading.diagnostics.iter().any(Diagnostic::is_error);
                assert_eq!(reading.plan.is_none(), errors || document.unreadable, "seed {seed}: {text}");
                if let Some(plan) = reading.plan {
                    assert!(plan.plan.frozen().len() <= Plan::MAX_FROZEN_BYTES);
                    assert!(!plan.plan.stages(7).is_empty());
                }
            }
        }
    }
    assert!(started.elapsed() < Duration::from_secs(30));
}
