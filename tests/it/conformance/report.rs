//! Writes `tests/conformance/REPORT.md`: every case with its verdict at each level.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    compare::Verdict,
    level::Level,
    normal::MAY_DIFFER,
    record::Recording,
    script::{self, Case},
};

/// What came of the cases of each level.
pub(super) type Played = BTreeMap<Level, BTreeMap<String, (Recording, Verdict)>>;

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        it if !it.differences.is_empty() => "**differs**",
        it if !it.known.is_empty() => "known",
        it if !it.unclaimed.is_empty() => "501",
        it if !it.loose.is_empty() => "within",
        _ => "same",
    }
}

/// The report.
pub(super) fn report(played: &Played) -> String {
    let cases = script::all();
    let mut text = String::from(HEAD);
    counts(&mut text, &cases, played);
    text.push_str("\n## Cases\n\n| case | is about |");
    Level::ALL.iter().for_each(|level| push(&mut text, &format!(" {} |", level.name())));
    text.push_str("\n|---|---|---|---|---|\n");
    for case in &cases {
        push(&mut text, &format!("| {} | {} |", case.name, case.title.replace('|', "\\|")));
        for level in Level::ALL {
            let verdict = played.get(&level).and_then(|it| it.get(&case.name));
            let word = match (verdict, &case.embedded_only) {
                (Some((_, verdict)), _) => word(verdict),
                (None, Some(_)) => "embedded only",
                (None, None) => "",
            };
            push(&mut text, &format!(" {word} |"));
        }
        text.push('\n');
    }
    lists(&mut text, &cases, played);
    text
}

const HEAD: &str = "# Conformance of the embedded cluster

Written by `tests/conformance/run`. Each case is a script that was played three times or more on a real control plane of
each level, and on the embedded cluster at that level; `README.md` says how they are compared. `1.36-max` is 1.36 with the
gate `MaxUnavailableStatefulSet`. The level 1.37 of the embedded cluster follows its source and is compared with nothing.

| verdict | means |
|---|---|
| same | every answer, every state of every object, the order and the events are those of a real run |
| within | like no single real run, but within what several real runs differ in |
| 501 | the embedded cluster says that it does not have something that the case asks for; the rest is the same |
| known | a step of it differs, for a reason given below; the rest is the same |
| **differs** | it differs |
";

fn push(text: &mut String, more: &str) {
    text.push_str(more);
}

fn counts(text: &mut String, cases: &[Case], played: &Played) {
    text.push_str("\n## Counts\n\n| kind | level | cases | same | within | 501 | known | differ |\n|---|---|---|---|---|---|---|---|\n");
    let mut kinds: Vec<&str> = cases.iter().filter_map(|it| it.name.split('/').next()).collect();
    kinds.dedup();
    for kind in kinds {
        for level in Level::ALL {
            let mut count: BTreeMap<&str, usize> = BTreeMap::new();
            let of_kind = cases.iter().filter(|it| it.name.split('/').next() == Some(kind));
            for case in of_kind {
                if let Some((_, verdict)) = played.get(&level).and_then(|it| it.get(&case.name)) {
                    *count.entry(word(verdict)).or_default() += 1;
                }
            }
            let all: usize = count.values().sum();
            if all > 0 {
                let of = |word: &str| count.get(word).copied().unwrap_or(0);
                let counts = ["same", "within", "501", "known", "**differs**"].map(|it| of(it).to_string()).join(" | ");
                push(text, &format!("| {kind} | {} | {all} | {counts} |\n", level.name()));
            }
        }
    }
}

fn lists(text: &mut String, cases: &[Case], played: &Played) {
    let each = || {
        let levels = played.iter().flat_map(|(level, of)| of.iter().map(move |(name, it)| (level.name(), name, it)));
        levels.collect::<Vec<_>>()
    };
    text.push_str("\n## What may differ, and why\n\n| what | why |\n|---|---|\n");
    MAY_DIFFER.iter().for_each(|(what, why)| push(text, &format!("| {what} | {why} |\n")));
    let known: Vec<_> = cases.iter().flat_map(|it| it.known.iter().map(move |mark| (&it.name, mark))).collect();
    if !known.is_empty() {
        text.push_str("\n## What is known to differ\n\n");
        for (name, mark) in known {
            let levels: Vec<&str> = mark.levels.iter().map(|it| it.name()).collect();
            push(text, &format!("- {} {name}, `{}`: {}\n", levels.join(" and "), mark.step, mark.why));
        }
    }
    let only: Vec<_> = cases.iter().filter_map(|it| Some((&it.name, it.embedded_only.as_ref()?))).collect();
    if !only.is_empty() {
        text.push_str("\n## What only the embedded cluster can play\n\n");
        only.iter().for_each(|(name, why)| push(text, &format!("- {name}: {why}\n")));
    }
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            push(text, &format!("\n## {title}\n\n"));
            lines.iter().for_each(|it| push(text, &format!("- {it}\n")));
        }
    };
    let told = |pick: fn(&(Recording, Verdict)) -> Vec<String>| {
        each()
            .into_iter()
            .flat_map(|(level, name, it)| pick(it).into_iter().map(move |line| format!("{level} {name}: {line}")))
            .collect()
    };
    section("What differs", told(|it| it.1.differences.clone()));
    section("What is known to differ, in full", told(|it| it.1.known.clone()));
    section("What is answered 501", told(|it| it.1.unclaimed.clone()));
    let mut unstable: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (level, name, (real, _)) in each() {
        let found = real.unstable();
        if !found.is_empty() {
            let mut line = String::new();
            // Writing to a text cannot fail.
            let _ = write!(line, "{level} ({} runs): {}", real.runs, found.join("; "));
            unstable.entry(name.clone()).or_default().push(line);
        }
    }
    let lines = unstable.into_iter().map(|(name, lines)| format!("{name}: {}", lines.join(" · "))).collect();
    section("What real runs do not agree in", lines);
}
