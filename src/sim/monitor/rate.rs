//! The rate: whatever happens, a daemon asks no more than so often.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

/// How far back requests count.
const WINDOW: SignedDuration = SignedDuration::from_secs(30);
/// How many there may be within it: ten a second.
const MOST: usize = 300;

/// When requests came, by who sent them.
#[derive(Debug, Default)]
pub(super) struct Rate(BTreeMap<String, VecDeque<Timestamp>>);

impl Rate {
    /// Takes in a request. Whether there are too many; said once in a window.
    pub(super) fn asked(&mut self, by: &str, now: Timestamp) -> Option<String> {
        let times = match self.0.get_mut(by) {
            Some(times) => times,
            None => self.0.entry(by.to_owned()).or_default(),
        };
        while times.front().is_some_and(|at| now.duration_since(*at) > WINDOW) {
            times.pop_front();
        }
        times.push_back(now);
        (times.len() > MOST).then(|| {
            times.clear();
            format!("{by} sent more than {MOST} requests within {} s", WINDOW.as_secs())
        })
    }
}
