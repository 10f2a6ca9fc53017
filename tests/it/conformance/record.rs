//! Several runs on a real plane, as one: what they agree in, and what they do not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::trace::{Trace, changes};

/// What real runs of a case showed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Recording {
    /// How many runs.
    pub(super) runs: usize,
    /// Per step the different answers.
    pub(super) steps: Vec<Vec<Value>>,
    /// Per object the different sequences of states; an empty one where a run did not have it.
    pub(super) objects: BTreeMap<String, Vec<Vec<Value>>>,
    /// The different orders.
    pub(super) stories: Vec<Vec<String>>,
    /// Events, with the number of runs that had them.
    pub(super) events: BTreeMap<String, usize>,
}

impl Recording {
    /// Adds a run.
    pub(super) fn add(&mut self, trace: &Trace) {
        for (index, answer) in trace.steps.iter().enumerate() {
            if self.steps.len() == index {
                self.steps.push(Vec::new());
            }
            add(&mut self.steps[index], answer);
        }
        for (key, states) in &trace.objects {
            let fresh = if self.runs == 0 { Vec::new() } else { vec![Vec::new()] };
            add(self.objects.entry(key.clone()).or_insert(fresh), states);
        }
        for (key, seen) in &mut self.objects {
            if !trace.objects.contains_key(key) {
                add(seen, &Vec::new());
            }
        }
        add(&mut self.stories, &trace.story);
        for event in &trace.events {
            *self.events.entry(event.clone()).or_default() += 1;
        }
        self.runs += 1;
    }

    /// Adds what other runs showed.
    pub(super) fn merge(&mut self, other: &Self) {
        for (index, seen) in other.steps.iter().enumerate() {
            if self.steps.len() == index {
                self.steps.push(Vec::new());
            }
            seen.iter().for_each(|it| add(&mut self.steps[index], it));
        }
        for (key, seen) in &other.objects {
            let known = self.objects.entry(key.clone()).or_insert_with(|| vec![Vec::new()]);
            seen.iter().for_each(|it| add(known, it));
        }
        for (key, seen) in &mut self.objects {
            if !other.objects.contains_key(key) {
                add(seen, &Vec::new());
            }
        }
        other.stories.iter().for_each(|it| add(&mut self.stories, it));
        for (event, times) in &other.events {
            *self.events.entry(event.clone()).or_default() += times;
        }
        self.runs += other.runs;
    }

    /// What the runs do not agree in, in words.
    pub(super) fn unstable(&self) -> Vec<String> {
        let steps = self.steps.iter().filter(|it| it.len() > 1);
        let told = |seen: &Vec<Value>| {
            let places: BTreeSet<String> = seen.iter().flat_map(|it| changes(&seen[0], it).into_keys()).collect();
            format!("answer of `{}` in {places:?}", seen[0]["step"].as_str().unwrap_or_default())
        };
        let mut found: Vec<String> = steps.map(told).collect();
        let objects = self.objects.iter().filter(|it| it.1.len() > 1);
        found.extend(objects.map(|(key, seen)| format!("states of {key} ({} ways)", seen.len())));
        if self.stories.len() > 1 {
            found.push(format!("order ({} ways)", self.stories.len()));
        }
        let events = self.events.iter().filter(|it| *it.1 < self.runs);
        found.extend(events.map(|(event, times)| format!("event in {times} of {} runs: {event}", self.runs)));
        found
    }
}

fn add<T: PartialEq + Clone>(seen: &mut Vec<T>, new: &T) {
    if !seen.contains(new) {
        seen.push(new.clone());
    }
}
