//! What is to be done, and when: each task once, in the order of its time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// Tasks by the time they are due. A task that is put down twice is done once, at the earlier time.
#[derive(Debug, Clone)]
pub(crate) struct Agenda<T> {
    due: BTreeSet<(Timestamp, u64, T)>,
    when: BTreeMap<T, (Timestamp, u64)>,
    count: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { due: BTreeSet::new(), when: BTreeMap::new(), count: 0 }
    }
}

impl<T: Ord + Clone> Agenda<T> {
    /// Puts a task down. Where it is there already, the earlier time counts.
    pub(crate) fn add(&mut self, at: Timestamp, task: T) {
        if let Some((when, count)) = self.when.get(&task).copied() {
            if when <= at {
                return;
            }
            self.due.remove(&(when, count, task.clone()));
        }
        self.count += 1;
        self.when.insert(task.clone(), (at, self.count));
        self.due.insert((at, self.count, task));
    }

    /// When the first one is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _, _)| *at)
    }

    /// Takes the first one that is due by then.
    pub(crate) fn take(&mut self, now: Timestamp) -> Option<(Timestamp, T)> {
        if self.next()? > now {
            return None;
        }
        let (at, _, task) = self.due.pop_first()?;
        self.when.remove(&task);
        Some((at, task))
    }

    /// Forgets a task.
    pub(crate) fn drop(&mut self, task: &T) {
        if let Some((at, count)) = self.when.remove(task) {
            self.due.remove(&(at, count, task.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::Agenda;

    #[test]
    fn each_task_is_done_once_at_its_earliest_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut agenda = Agenda::default();
        for (second, task) in [(5, "a"), (3, "b"), (7, "a"), (2, "b"), (2, "c")] {
            agenda.add(at(second), task);
        }
        agenda.add(at(9), "d");
        agenda.drop(&"d");
        assert_eq!(agenda.next(), Some(at(2)));
        assert_eq!(agenda.take(at(1)), None);
        let done: Vec<_> = std::iter::from_fn(|| agenda.take(at(10))).map(|(_, task)| task).collect();
        assert_eq!(done, ["b", "c", "a"]);
    }
}
