//! Notices what somebody else moved, and names them.

use super::restart::is_earlier;
use crate::model::{FieldOwner, LiveSet, PARKED, Record};
use crate::revision::digest::restart_mark;

/// What was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The rollout record was edited.
    Record,
    /// The strategy is no longer RollingUpdate.
    Strategy,
    /// The pod template.
    Template,
    /// The partition.
    Partition,
    /// The replicas, which the manifest states.
    Replicas,
}

/// A drift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// What was moved.
    pub what: What,
    /// The field manager that did it, as far as the server tells.
    pub manager: String,
}

impl Drift {
    /// A sentence with the ways out.
    pub fn words(&self, name: &str) -> String {
        let what = match self.what {
            What::Record => "the rollout record",
            What::Strategy => "the update strategy",
            What::Template => "the pod template",
            What::Partition => "the partition",
            What::Replicas => "replicas",
        };
        format!(
            "{what} was changed by {}; put Git's state back with `phaseline resume {name} --overwrite`, \
             go on from what is there with `phaseline resume {name} --accept`, or give the set back with \
             `phaseline release {name}`",
            self.manager
        )
    }
}

/// Compares the live set with what was written last.
///
/// `stated` is the number of replicas that the manifest last applied states; none where it leaves it to others, or
/// where a newer manifest waits to be applied. A `restartedAt` on the template is no drift but a wish, see
/// [`restart_wished`].
pub fn find(set: &LiveSet, record: &Record, stated: Option<u32>) -> Option<Drift> {
    let drift = |what, owns: fn(&FieldOwner) -> bool| Some(Drift { what, manager: manager(&set.owners, owns) });
    if set.owners.iter().any(|owner| owner.record && !owner.is_ours()) {
        return drift(What::Record, |owner| owner.record);
    }
    if set.generation == record.generation {
        // The spec is as we left it.
        return None;
    }
    if set.strategy != "RollingUpdate" {
        return drift(What::Strategy, |owner| owner.strategy);
    }
    // A restart that is taken back is a changed template; one that is asked for is a wish.
    let live = restart_mark(&set.restarted_at);
    let restart_gone = live != record.target.restart && (live.is_empty() || is_earlier(&live, &record.stated));
    if set.template != record.live || restart_gone {
        return drift(What::Template, |owner| owner.template);
    }
    if set.partition != Some(record.partition) && !is_held_back(set, record) {
        return drift(What::Partition, |owner| owner.strategy);
    }
    if stated.is_some_and(|stated| stated != set.replicas) {
        return drift(What::Replicas, |owner| owner.replicas);
    }
    None
}

/// Whether the partition stands higher than recorded because added pods were held back, and not by another hand.
fn is_held_back(set: &LiveSet, record: &Record) -> bool {
    set.partition.is_some_and(|partition| partition > record.partition)
        && !set.owners.iter().any(|owner| owner.strategy && !owner.is_ours())
}

/// The restart that somebody wished for since our last write: the live `restartedAt`. The manifest's own is no wish, nor
/// is one that is earlier.
pub fn restart_wished<'a>(set: &'a LiveSet, record: &Record) -> Option<&'a str> {
    let live = restart_mark(&set.restarted_at);
    let moved = set.generation != record.generation && live != record.target.restart;
    (moved && !live.is_empty() && !is_earlier(&live, &record.stated)).then_some(set.restarted_at.as_str())
}

/// Whether the set stands parked, as far as our last write goes.
pub fn rests(record: &Record) -> bool {
    record.done && record.partition == PARKED
}

/// The foreign manager that wrote last among those that own the field.
fn manager(owners: &[FieldOwner], owns: fn(&FieldOwner) -> bool) -> String {
    owners
        .iter()
        .filter(|owner| owns(owner) && !owner.is_ours())
        .max_by_key(|owner| owner.time)
        .map(|owner| match owner.subresource.as_str() {
            "" => owner.manager.clone(),
            subresource => format!("{} ({subresource})", owner.manager),
        })
        .unwrap_or_else(|| "somebody whom the server does not name".into())
}
