//! `simulate` for people: what happened when, who was missing when, what came of each failure, how it ended.

use std::io::{self, Write};

use super::simulation::{Entry, FaultOutcome, Outcome, SimulatedItem, Simulation};
use super::status_text::painted;
use super::table::table;
use super::text;
use crate::model::Phase;

/// More events than that are not printed where they are what every pod goes through.
const MOST_ROWS: usize = 250;
/// More intervals than that are not printed.
const MOST_INTERVALS: usize = 12;

/// Writes it; `all` events, however many.
pub(crate) fn print(out: &mut dyn Write, simulation: &Simulation, all: bool, color: bool) -> io::Result<()> {
    let commit = &simulation.commit;
    let id: String = commit.id.chars().take(10).collect();
    let name = [id.as_str(), commit.subject.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    writeln!(out, "{}", text::line(&name.join(" ")))?;
    writeln!(out, "on the embedded cluster (Kubernetes {}, seed {})", simulation.kubernetes, simulation.seed)?;
    for assumption in &simulation.assumptions {
        writeln!(out, "{}", text::line(assumption))?;
    }
    writeln!(out)?;
    timeline(out, simulation, all)?;
    for item in &simulation.items {
        writeln!(out)?;
        end(out, item, color)?;
    }
    if !simulation.faults.is_empty() {
        writeln!(out)?;
        for fault in &simulation.faults {
            writeln!(out, "{}", text::line(&fault_words(fault)))?;
        }
    }
    writeln!(out)?;
    let eta = match (simulation.outcome, simulation.eta_seconds) {
        (_, Some(seconds)) => format!("ETA: everything is Healthy after {}", time(seconds)),
        (Outcome::TimedOut, None) => format!("ETA: none: still going after {}", time(simulation.ended_seconds)),
        (Outcome::Healthy | Outcome::NotHealthy, None) => "ETA: none: it does not end Healthy".to_owned(),
    };
    writeln!(out, "{eta}")
}

fn timeline(out: &mut dyn Write, simulation: &Simulation, all: bool) -> io::Result<()> {
    let many = !all && simulation.timeline.len() > MOST_ROWS;
    let shown: Vec<&Entry> = simulation.timeline.iter().filter(|entry| !(many && entry.ordinary)).collect();
    let left_out = simulation.timeline.len() - shown.len();
    let several = simulation.items.len() > 1;
    let rows = shown.iter().map(|entry| {
        let what = match (&*entry.pod, several, &*entry.workload) {
            ("", true, workload) if !workload.is_empty() => format!("{workload}: {}", entry.what),
            ("", ..) => entry.what.clone(),
            (pod, ..) => format!("{pod} {}", entry.what),
        };
        [time(entry.seconds), entry.who.word().to_owned(), what]
    });
    write!(out, "{}", table(["TIME", "WHO", "WHAT"], rows))?;
    if left_out > 0 {
        writeln!(out, "({left_out} ordinary events of pods are left out; -o wide has them)")?;
    }
    if simulation.left_out > 0 {
        writeln!(out, "({} later events were too many to be kept)", simulation.left_out)?;
    }
    Ok(())
}

fn end(out: &mut dyn Write, item: &SimulatedItem, color: bool) -> io::Result<()> {
    let phase = painted(item.phase, color);
    let since = match item.phase {
        Phase::Healthy => "after",
        Phase::Progressing | Phase::Paused | Phase::Degraded | Phase::Blocked => "since",
    };
    write!(out, "{}/{}: {phase} ({}) {since} {}", item.namespace, item.name, item.reason, time(item.since_seconds))?;
    if !item.stage.is_empty() {
        write!(out, ", stage {}", item.stage)?;
    }
    writeln!(out)?;
    for (what, words) in [("culprit", &item.culprit), ("", &item.message), ("waits", &item.waiting)] {
        if !words.is_empty() {
            let what = if what.is_empty() { String::new() } else { format!("{what}: ") };
            writeln!(out, "  {what}{}", text::line(words))?;
        }
    }
    writeln!(out, "  {} of {} pods Ready, {} at the new revision", item.ready, item.replicas, item.updated)?;
    let missing = &item.unavailable;
    if missing.most == 0 {
        return writeln!(out, "  no pod was unavailable at any time");
    }
    let least = time(missing.seconds);
    writeln!(
        out,
        "  unavailable: at most {} of {} pods at once; at least one for {least}",
        missing.most, item.replicas
    )?;
    let spans: Vec<String> = missing
        .intervals
        .iter()
        .take(MOST_INTERVALS)
        .map(|it| match it.to_seconds {
            Some(to) => format!("{}-{}: {}", time(it.from_seconds), time(to), it.pods),
            None => format!("from {} on: {}", time(it.from_seconds), it.pods),
        })
        .collect();
    let more = match missing.intervals.len().saturating_sub(MOST_INTERVALS) {
        0 => String::new(),
        more => format!(", and {more} more spans"),
    };
    writeln!(out, "    {}{more}", spans.join(", "))
}

fn fault_words(fault: &FaultOutcome) -> String {
    match fault.struck_seconds {
        Some(seconds) => format!("--fail {}: struck {} at {}; {}", fault.fault, fault.pod, time(seconds), fault.answer),
        None => format!("--fail {}: {}", fault.fault, fault.answer),
    }
}

/// A time as people read it: tenths of seconds below a minute, then whole seconds.
pub(crate) fn time(seconds: f64) -> String {
    let tenths = (seconds.max(0.0) * 10.0).round();
    let whole = (tenths / 10.0).floor();
    if whole < 60.0 {
        return if tenths % 10.0 == 0.0 { format!("{whole}s") } else { format!("{:.1}s", tenths / 10.0) };
    }
    let (hours, minutes, seconds) = ((whole / 3600.0).floor(), (whole / 60.0).floor() % 60.0, whole % 60.0);
    match hours > 0.0 {
        true => format!("{hours}h{minutes:02}m{seconds:02}s"),
        false => format!("{minutes}m{seconds:02}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_people_need_them() {
        for (seconds, words) in [
            (0.0, "0s"),
            (0.04, "0s"),
            (0.12, "0.1s"),
            (30.0, "30s"),
            (59.96, "1m00s"),
            (92.4, "1m32s"),
            (3_725.0, "1h02m05s"),
            (200_000.0, "55h33m20s"),
        ] {
            assert_eq!(time(seconds), words, "{seconds}");
        }
    }
}
