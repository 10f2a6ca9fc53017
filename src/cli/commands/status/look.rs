//! One look at the workloads: the cluster, the repository where one is named, and what the rules say.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::awaited::{self, Ask, Awaited, Stand};
use super::goes_on;
use crate::cli::args::GlobalArgs;
use crate::cli::error::{CliError, Kind, chain};
use crate::cli::heard::Daemons;
use crate::cli::known;
use crate::cli::output::status::{SourceState, Status};
use crate::cli::session::Session;
use crate::cli::{placing, repository};
use crate::cluster::{Outcome, read};
use crate::daemon::{Scope, Source, Tip, View};
use crate::manifest::apply_body;
use crate::model::{Action, Decision, FieldOwner, Observed, Progress, Reason, RecordState, Wanted, WorkloadId};
use crate::rollout::decide;

/// How often the repository is asked while somebody watches.
const FETCH: Duration = Duration::from_secs(15);

/// What one look shows.
pub(super) struct Look {
    /// The workloads, by namespace and name.
    pub(super) items: Vec<Status>,
    /// Of each, whether it will go on by itself.
    pub(super) waiting: Vec<bool>,
    /// The repository, where one is named.
    pub(super) source: Option<SourceState>,
    /// The namespace that was looked at; none: all.
    pub(super) place: Option<String>,
    /// Why it is not known what the daemon says.
    pub(super) unread: Option<String>,
}

/// Looks, and remembers between two looks what the deadline is counted from.
pub(super) struct Looker<'a> {
    session: &'a Session,
    name: Option<WorkloadId>,
    place: Option<String>,
    global: GlobalArgs,
    source: Option<Source>,
    /// Whether the source is the repository that was named, and no clone that one stands in.
    is_named: bool,
    /// Whether it is known where manifests belong that state no namespace.
    is_settled: bool,
    awaited: Option<Awaited>,
    /// A commit by a name that only the named repository knows.
    unresolved: Option<String>,
    fetched: Option<Instant>,
    trouble: String,
    progress: BTreeMap<WorkloadId, Progress>,
}

impl<'a> Looker<'a> {
    /// A looker, and what there is to say about what it looks at.
    pub(super) fn new(
        session: &'a Session,
        global: &GlobalArgs,
        name: Option<&str>,
        ask: &Ask,
    ) -> Result<(Self, Option<String>), CliError> {
        let named = match &global.repo {
            Some(repo) if !repo.is_empty() => Some(repository::config(global)?),
            Some(_) | None => None,
        };
        let here = awaited::here(ask, global, named.as_ref())?;
        let mut note = here.as_ref().and_then(|here| here.note.clone());
        let commit = here.as_ref().map(|here| here.commit.clone());
        let mut looker = Self {
            session,
            name: name.map(|name| session.workload(name)),
            place: (!global.all_namespaces).then(|| session.namespace.clone()),
            global: global.clone(),
            source: None,
            is_named: named.is_some(),
            is_settled: false,
            awaited: commit.clone().map(Awaited::new),
            unresolved: ask.commit.clone().filter(|_| named.is_some() && commit.is_none()),
            fetched: None,
            trouble: String::new(),
            progress: BTreeMap::new(),
        };
        if named.is_some() {
            looker.source = Some(repository::open(global, &session.namespace)?);
        } else if let (Some(here), Some(commit)) = (here, commit) {
            let scope = Scope { default_namespace: session.namespace.clone(), only: Vec::new() };
            looker.source = Some(Source::on(here.mirror, scope).at(Tip::new(commit)));
            if ask.commit.is_none() && !looker.is_about_this() {
                // Somebody stands in a repository of something else.
                (looker.source, looker.awaited, note) = (None, None, None);
            }
        }
        Ok((looker, note))
    }

    /// Whether the clone that one stands in names what is looked at.
    fn is_about_this(&mut self) -> bool {
        let view = self.read_repository();
        view.is_some_and(|view| match &self.name {
            Some(workload) => view.wishes.contains_key(workload),
            None => !view.wishes.is_empty(),
        })
    }

    /// Looks once.
    pub(super) fn look(&mut self, now: Timestamp) -> Result<Look, CliError> {
        let view = self.read_repository();
        self.read_awaited()?;
        let daemons = Daemons::read(self.session, now);
        let observed = self.observe(view.as_deref(), &daemons)?;
        let source = self.source.as_ref().filter(|_| self.is_named).map(|source| SourceState {
            url: source.url().to_owned(),
            commit: view.as_ref().map(|view| view.commit.id.0.clone()).unwrap_or_default(),
            trouble: self.trouble.clone(),
        });
        let (mut items, mut waiting) = (Vec::new(), Vec::new());
        for mut observed in observed {
            observed.progress = self.progress.remove(&observed.workload).unwrap_or_default();
            let stand = self.awaited.as_ref().zip(self.source.as_ref());
            let stand = stand.map(|(awaited, source)| awaited.stand(source, view.as_deref(), &observed));
            // A clone that is behind does not know what is in force: the set itself does.
            let known = view.as_deref().filter(|_| self.is_named || !matches!(stand, Some(Stand::Passed(_))));
            let mut decision = self.decide(known, &repository::without_request(&observed), now);
            let by = view.as_deref().map(|view| view.commit.id.0.as_str());
            daemons.correct(&mut decision, &observed.workload, observed.set.is_some(), by);
            let ways = self.session.ways(&observed.workload, &self.global);
            let mut item = Status::of(&observed, &decision, &ways, now);
            let comes = stand.zip(self.awaited.as_ref()).is_some_and(|(stand, awaited)| stand.put(awaited, &mut item));
            daemons.put(&observed.workload, &mut item);
            waiting.push(comes || goes_on(decision.phase, decision.waiting_on.as_ref()));
            items.push(item);
            self.progress.insert(observed.workload, decision.progress);
        }
        let unread = daemons.unread.as_ref().map(|error| chain(error));
        Ok(Look { items, waiting, source, place: self.place.clone(), unread })
    }

    /// Finds the commit that is asked about, and what it says.
    fn read_awaited(&mut self) -> Result<(), CliError> {
        let Some(source) = &mut self.source else { return Ok(()) };
        if let Some(rev) = &self.unresolved {
            match source.mirror().resolve(rev) {
                Ok(commit) => (self.awaited, self.unresolved) = (Some(Awaited::new(commit)), None),
                // It could not be fetched: what it is may be known with the next look.
                Err(_) if !self.trouble.is_empty() => {
                    return Err(CliError::new(Kind::Git, format!("commit {rev} is not known: {}", self.trouble)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        match &mut self.awaited {
            Some(awaited) => awaited.read(source),
            None => Ok(()),
        }
    }

    /// What Git says; where it cannot be asked, what it last said.
    fn read_repository(&mut self) -> Option<std::sync::Arc<View>> {
        let source = self.source.as_mut()?;
        if self.fetched.is_none_or(|fetched| fetched.elapsed() >= FETCH) {
            self.trouble = source.refresh().err().map(|error| chain(&error)).unwrap_or_default();
            self.fetched = Some(Instant::now());
        }
        if !self.is_settled && source.mirror().resolve("HEAD").is_ok() {
            self.settle();
        }
        let source = self.source.as_mut()?;
        match source.view() {
            Ok(view) => Some(view),
            Err(error) => {
                if self.trouble.is_empty() {
                    self.trouble = chain(&error);
                }
                None
            }
        }
    }

    /// Puts manifests that state no namespace where the daemon puts them.
    fn settle(&mut self) {
        let Some(mut source) = self.source.take() else { return };
        let Ok(commit) = source.view().map(|view| view.commit.id.clone()) else {
            self.source = Some(source);
            return;
        };
        match placing::settle(self.session, &mut source, &commit) {
            Ok(namespace) => {
                self.is_settled = true;
                self.source =
                    Some(if namespace == source.default_namespace() { source } else { source.placed_in(&namespace) });
            }
            Err(error) => {
                self.trouble = error.message;
                self.source = Some(source);
            }
        }
    }

    /// The workloads asked for, in order.
    fn observe(&self, view: Option<&View>, daemons: &Daemons) -> Result<Vec<Observed>, CliError> {
        // Where Git is not asked, the daemon may know of one that could not be made.
        let told: BTreeSet<WorkloadId> = if view.is_none() { daemons.workloads().collect() } else { BTreeSet::new() };
        let is_named = |workload: &WorkloadId| match view {
            Some(view) => view.wishes.contains_key(workload),
            None => told.contains(workload),
        };
        if let Some(workload) = &self.name {
            let observed = self.session.observe(workload)?;
            if observed.set.is_none() && !is_named(workload) {
                let more = if view.is_some() { ", and the repository names none" } else { "" };
                return Err(known::no_such_set(self.session, workload, more));
            }
            return Ok(vec![observed]);
        }
        let mut all: BTreeMap<WorkloadId, Observed> = self
            .session
            .list(self.place.as_deref())?
            .into_iter()
            .filter(|observed| is_named(&observed.workload) || is_managed(observed))
            .map(|observed| (observed.workload.clone(), observed))
            .collect();
        for workload in view.into_iter().flat_map(|view| view.wishes.keys()).chain(&told) {
            if self.place.as_ref().is_none_or(|place| *place == workload.namespace) {
                all.entry(workload.clone()).or_insert_with(|| repository::absent(workload));
            }
        }
        Ok(all.into_values().collect())
    }

    fn decide(&mut self, view: Option<&View>, observed: &Observed, now: Timestamp) -> Decision {
        let Some((view, source)) = view.zip(self.source.as_mut()) else {
            return decide(&Wanted::Unknown, observed, now);
        };
        let record = observed.set.as_ref().and_then(|set| match &set.record {
            RecordState::Is(record, _) => Some(&**record),
            RecordState::Absent | RecordState::Unreadable(_) => None,
        });
        // What cannot be read any more is not gone: what the set was rolled to stays in force.
        let wish = match source.wish(view, &observed.workload, record) {
            Ok(wish) => wish,
            Err(error) => {
                self.trouble = chain(&error);
                view.wishes.get(&observed.workload).cloned()
            }
        };
        let Some(wish) = &wish else { return decide(&Wanted::Absent, observed, now) };
        let Some(desired) = repository::complete(source, wish, observed) else {
            return decide(&wish.wanted(), observed, now);
        };
        let wanted = Wanted::Is(&desired, wish.problem.as_ref());
        let decision = decide(&wanted, observed, now);
        match self.refusal(observed, &decision) {
            // The daemon has met it, and waits for somebody; nothing on the set tells of it.
            Some(refusal) => decide(&wanted, &Observed { refused: Some(refusal), ..observed.clone() }, now),
            None => decision,
        }
    }

    /// Why the server would refuse what the daemon is to apply: a dry run. None where it would not, or does not say.
    fn refusal(&self, observed: &Observed, decision: &Decision) -> Option<(Reason, String)> {
        let Some(Action::Apply { manifest, partition, base: Some(_), .. }) = decision.actions.first() else {
            return None;
        };
        let mut body = (**manifest).clone();
        apply_body::set_partition(&mut body, partition.0);
        let cluster = &self.session.cluster;
        let ask = |force| self.session.wait(read::dry_run_apply(cluster, &observed.workload, &body, force)).err();
        let refused = ask(false)?;
        let ours = matches!(&refused, Outcome::Conflict { managers, .. }
            if managers.iter().all(|manager| FieldOwner::is_our_manager(manager)));
        if ours { ask(true)?.refusal() } else { refused.refusal() }
    }
}

/// Whether it is any business of ours.
fn is_managed(observed: &Observed) -> bool {
    observed.set.as_ref().is_some_and(|set| set.record != RecordState::Absent)
}
