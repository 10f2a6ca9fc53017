//! Creates, replaces and removes pods, in order or all at once.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::errors::Errors;
use super::pod::{Phase, Pod, Replica};
use super::status::SetStatus;
use super::{Found, Set, Strategy, Sync, build};

/// The most requests that are started at once where the order does not matter.
const MOST_AT_ONCE: usize = 500;

/// A step over one pod: whether an ordered walk ends here.
type Step = Result<ControlFlow<()>, Errors>;

const ON: Step = Ok(ControlFlow::Continue(()));
const END: Step = Ok(ControlFlow::Break(()));

/// The pods of a set by their places.
pub(super) struct Places {
    /// One for each replica, ascending.
    pub(super) replicas: Vec<Replica>,
    /// The others, descending.
    pub(super) condemned: Vec<Arc<Pod>>,
    /// The first that is unavailable, where that is a condemned one.
    first_unavailable: Option<usize>,
}

impl Sync<'_> {
    /// Brings the pods nearer to what the set states; with the status, which is to be written even where it failed.
    ///
    /// Mirrors `updateStatefulSet`.
    ///
    /// # Errors
    /// What keeps it from even counting.
    pub(super) fn main_pass(
        &mut self,
        pods: &[Arc<Pod>],
        found: &Found,
    ) -> Result<(SetStatus, Result<(), Errors>), Errors> {
        for revision in [&found.current, &found.update] {
            if !revision.replaces() {
                let message = format!("the data of ControllerRevision {} replaces no template", revision.name);
                return Err(Errors::of(message));
            }
        }
        if self.set.strategy == Strategy::Recreate && self.is_recreate_unknown() {
            return Err(self.refuse_recreate());
        }
        let mut status = SetStatus::begin(self.set, found, self.compat);
        self.count(&mut status, pods.iter());
        let places = self.places(pods);
        if self.set.terminating {
            return Ok((status, Ok(())));
        }
        let recreates = self.recreate && self.set.strategy == Strategy::Recreate;
        let mut done = if recreates { self.recreate(&places, found, &mut status) } else { ON };
        if matches!(done, Ok(ControlFlow::Continue(()))) {
            done = self.scale(&places, found);
        }
        let live = places.replicas.iter().filter_map(|replica| match replica {
            Replica::Pod(pod) => Some(pod),
            Replica::Missing { .. } => None,
        });
        self.count(&mut status, live.chain(&places.condemned));
        let done = match done {
            Err(error) => Err(error),
            Ok(ControlFlow::Break(())) => Ok(()),
            Ok(ControlFlow::Continue(())) if recreates || self.set.strategy == Strategy::OnDelete => Ok(()),
            Ok(ControlFlow::Continue(())) => self.update_loop(&places.replicas, found, &mut status),
        };
        Ok((status, done))
    }

    /// Sorts the pods: replicas, and those that are one too many.
    fn places(&self, pods: &[Arc<Pod>]) -> Places {
        let set = self.set;
        let count = usize::try_from(set.replicas).unwrap_or(0);
        let mut places: Vec<Option<Arc<Pod>>> = vec![None; count];
        let mut condemned: Vec<Arc<Pod>> = Vec::new();
        for pod in pods {
            // A pod without an ordinal is counted, and otherwise left alone.
            let place = usize::try_from(pod.ordinal.saturating_sub(set.start)).ok().and_then(|at| places.get_mut(at));
            match place {
                Some(place) if pod.ordinal >= 0 => *place = Some(pod.clone()),
                _ if pod.ordinal >= 0 => condemned.push(pod.clone()),
                _ => {}
            }
        }
        condemned.sort_by_key(|pod| std::cmp::Reverse(pod.ordinal));
        let missing = |ordinal: i64| Replica::Missing { ordinal, update: build::is_of_update(set, ordinal) };
        let replicas: Vec<Replica> = places
            .into_iter()
            .zip(set.start..)
            .map(|(pod, at)| pod.map_or_else(|| missing(at), Replica::Pod))
            .collect();
        let first_unavailable = if replicas.iter().any(|it| self.is_unavailable(it)) {
            None
        } else {
            condemned.iter().rposition(|pod| pod.is_unavailable(set.min_ready, self.now, self.compat))
        };
        Places { replicas, condemned, first_unavailable }
    }

    /// Whether a place has no pod that is available.
    pub(super) fn is_unavailable(&self, replica: &Replica) -> bool {
        match replica {
            Replica::Pod(pod) => pod.is_unavailable(self.set.min_ready, self.now, self.compat),
            Replica::Missing { .. } => true,
        }
    }

    /// Replicas first, then those that are one too many.
    fn scale(&mut self, places: &Places, found: &Found) -> Step {
        let end = self.for_all(&places.replicas, |sync, _, replica| sync.process_replica(replica, found))?;
        if end.is_break() {
            return END;
        }
        let end = self.for_all(&places.condemned, |sync, _, pod| {
            if !sync.claims_have_owners(pod) {
                sync.update_claim_owners(pod)?;
            }
            ON
        })?;
        if end.is_break() {
            return END;
        }
        self.for_all(&places.condemned, |sync, at, pod| {
            sync.process_condemned(pod, places.first_unavailable == Some(at))
        })
    }

    /// In order up to the first that ends the walk; or all, in batches that double, up to the first batch with an error.
    ///
    /// Mirrors `runForAll` and `slowStartBatch`.
    pub(super) fn for_all<T>(&mut self, all: &[T], mut step: impl FnMut(&mut Self, usize, &T) -> Step) -> Step {
        let mut all = all.iter().enumerate();
        if !self.set.parallel {
            for (at, it) in all {
                if step(self, at, it)?.is_break() {
                    return END;
                }
            }
            return ON;
        }
        let mut batch = 1;
        loop {
            let mut failed = Vec::new();
            let mut started = 0;
            for (at, it) in all.by_ref().take(batch) {
                started += 1;
                failed.extend(step(self, at, it).err());
            }
            Errors::all(failed)?;
            if started < batch {
                return ON;
            }
            batch = (2 * batch).min(MOST_AT_ONCE);
        }
    }

    /// Mirrors `processReplica`. An ordered walk ends at the first pod that is not available: what lies behind it waits,
    /// and so does the update, even where that pod's own revision is what is wrong with it (kubernetes#67250).
    fn process_replica(&mut self, replica: &Replica, found: &Found) -> Step {
        let ordered = !self.set.parallel;
        let pod = match replica {
            Replica::Pod(pod) => pod.clone(),
            Replica::Missing { ordinal, update } => {
                let revision = if *update { &found.update } else { &found.current };
                let name = format!("{}-{ordinal}", self.set.name);
                if self.has_stale_claim(&name, "", *ordinal) {
                    return END;
                }
                let object = build::pod(self.set, found.template(*update), *ordinal, &revision.name);
                let pod = Arc::new(Pod::read(Arc::new(object), self.set));
                self.create_pod(&pod)?;
                if ordered {
                    return END;
                }
                pod
            }
        };
        if matches!(pod.phase, Phase::Failed | Phase::Succeeded) {
            if !pod.terminating {
                self.delete_pod(&pod)?;
            }
            return END;
        }
        if pod.phase == Phase::Pending {
            self.create_missing_claims(&pod)?;
        }
        let (min_ready, now, compat) = (self.set.min_ready, self.now, self.compat);
        if ordered && (pod.terminating || !pod.is_ready() || !pod.is_available(min_ready, now, compat)) {
            return END;
        }
        if !pod.identity || !pod.storage || !self.claims_have_owners(&pod) {
            self.update_pod(&pod)?;
        }
        ON
    }

    /// Mirrors `processCondemned`: in order, the highest goes when it is available, or is the one that is not.
    fn process_condemned(&mut self, pod: &Pod, first_unavailable: bool) -> Step {
        let ordered = !self.set.parallel;
        if pod.terminating {
            return if ordered { END } else { ON };
        }
        let fit = pod.is_ready() && pod.is_available(self.set.min_ready, self.now, self.compat);
        if ordered && !fit && !first_unavailable {
            return END;
        }
        self.delete_pod(pod)?;
        END
    }

    /// Counts pods into the status.
    ///
    /// Mirrors `updateStatus` and `computeReplicaStatus`.
    fn count<'p>(&self, status: &mut SetStatus, pods: impl Iterator<Item = &'p Arc<Pod>>) {
        let set: &Set = self.set;
        status.clear_counts();
        for pod in pods {
            status.replicas += i64::from(pod.is_created());
            if pod.is_ready() {
                status.ready += 1;
                status.available += i64::from(pod.is_available(set.min_ready, self.now, self.compat));
            }
            if pod.is_created() && !pod.terminating {
                status.current += i64::from(pod.revision == status.current_revision);
                status.updated += i64::from(pod.revision == status.update_revision);
            }
        }
    }
}
