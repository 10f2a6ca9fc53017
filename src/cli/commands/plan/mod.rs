//! `plan`: what a commit would change, and how it would be rolled out. Writes nothing.

use std::collections::BTreeSet;

use clap::Args;

use crate::cli::args::{self, Format, SetName};
use crate::cli::commands::hash::KubernetesVersion;
use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::known;
use crate::cli::output::plan::{Commit, PlanItem, PlanObject};
use crate::cli::output::ways::Ways;
use crate::cli::output::{self, plan_markdown, plan_push, plan_text};
use crate::cli::session::Session;
use crate::cli::{local, repository};
use crate::cluster::{RequestError, read};
use crate::daemon::{Source, View, Wish};
use crate::model::{Observed, Plan, Record, RecordState, Schedule, WorkloadId};
use item::Terms;
use question::{Question, State};

mod assumed;
mod existing;
mod immutable;
mod item;
mod notes;
mod predict;
mod question;
mod refusal;
mod server;

/// What `-o json` holds; a test validates real plans by it.
const SCHEMA: &str = include_str!("../../output/plan.schema.json");

/// More namespaces than that are read in one list of all.
const MOST_NAMESPACES: usize = 3;

/// Shows what a commit would change, and every stage of its rollout
///
/// Reads the cluster, and asks the server for a dry run of each apply; nothing is written anywhere. REV is a branch, a
/// tag, an id or HEAD~1; without it the tip is meant. Without --repo the repository around the current folder is read,
/// as it is, also where PHASELINE_REPO names what it is a clone of; with --repo that one is fetched.
///
/// A..B shows what B would change if A were in force, and --offline what a commit would change if its first parent
/// were: both need nothing but the repository, and may be run in a hook.
///
/// Exit code: 0 nothing would change, 1 something would, 2 something is wrong.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The commit [default: the tip], or a range
    #[arg(value_name = "REV|A..B")]
    rev: Option<String>,
    /// The files of the work tree as they are, in place of a commit
    #[arg(long, conflicts_with = "rev")]
    worktree: bool,
    /// Asks no cluster: the commit's first parent is taken to be in force
    #[arg(long)]
    offline: bool,
    /// The Kubernetes whose defaults and names are meant, where no server says its own
    #[arg(long, value_enum, default_value_t, value_name = "VERSION")]
    kubernetes: KubernetesVersion,
    /// Offline: the replicas of sets whose manifests state none
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    replicas: Option<u32>,
    /// Only this set, NAME or NAMESPACE/NAME; may be repeated
    #[arg(long, value_name = "NAME", value_parser = args::set_name)]
    workload: Vec<SetName>,
    /// Prints Markdown for a pull request, in place of a table
    #[arg(long, conflicts_with = "output")]
    comment: bool,
    /// Prints it for somebody who pushes: a line for each set, then the details that fit; looks only at the newest commits
    #[arg(long, hide = true, conflicts_with_all = ["output", "comment"])]
    push: bool,
    /// Prints the JSON Schema of -o json, and plans nothing
    #[arg(long)]
    schema: bool,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    #[arg(value_parser = Format::among(&["table", "json", "yaml", "name"]))]
    output: Format,
}

impl PlanArgs {
    /// Whether a workload is asked about.
    fn wants(&self, workload: &WorkloadId, only: Option<&str>) -> bool {
        only.is_none_or(|only| workload.namespace == only)
            && (self.workload.is_empty() || self.workload.iter().any(|name| name.is(workload)))
    }
}

pub(super) fn run(args: &PlanArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if args.schema {
        write!(context.out, "{SCHEMA}")?;
        return Ok(Exit::OK);
    }
    local::prefer_clone(&mut context.global);
    let mut question = question::ask(args, context)?;
    let only = context.global.namespace.as_deref();
    for name in &args.workload {
        if !question.view.wishes.keys().any(|workload| name.is(workload) && args.wants(workload, only)) {
            let place = if question.work_tree { "the work tree".to_owned() } else { commit_words(&question.view) };
            let namespace = name.namespace.as_deref().or(only).unwrap_or(question.source.default_namespace());
            let hint = known::did_you_mean(
                &WorkloadId::new(namespace, &name.name),
                question.view.wishes.keys().cloned().collect(),
            );
            return Err(CliError::new(Kind::NotFound, format!("{place} has no {name}")).hint(hint));
        }
    }
    let mut plan = match question.state {
        State::Cluster(_) => against_cluster(args, context, &mut question)?,
        State::Commit(_) => against_commit(args, context, &mut question)?,
    };
    let default = match &question.state {
        State::Cluster(session) => session.cluster.default_namespace.as_str(),
        State::Commit(_) => question::NAMESPACE,
    };
    for item in &mut plan.items {
        let workload = WorkloadId::new(&*item.namespace, &*item.name);
        item.message = Ways::to(&workload, &context.global, default).complete(&item.message);
    }
    if question.work_tree {
        not_committed(&mut plan.items, &question.view);
    }
    plan.assumptions = question.assumptions;
    plan.diagnostics = question.view.diagnostics;
    plan.other_objects = question.view.others;
    print(args, context, &plan)?;
    Ok(Exit::of(plan.exit_code()))
}

/// Takes the id of the commit out that exists in memory only: nobody could find it.
fn not_committed(items: &mut [PlanItem], view: &View) {
    for item in items {
        if let Some(target) = item.target.as_mut().filter(|target| target.commit == view.commit.id.0) {
            target.commit = plan_text::NOT_COMMITTED.to_owned();
            item.commit = Some(Commit::work_tree());
        }
    }
}

fn commit_words(view: &View) -> String {
    format!("commit {}", view.commit.id.short())
}

/// The head of the plan.
fn head(question: &Question, kubernetes: KubernetesVersion) -> PlanObject {
    let commit = if question.work_tree { Commit::work_tree() } else { Commit::of(&question.view.commit) };
    PlanObject::of(commit, kubernetes.number())
}

/// The plan against what the cluster shows.
fn against_cluster(args: &PlanArgs, context: &Context<'_>, question: &mut Question) -> Result<PlanObject, CliError> {
    let only = context.global.namespace.as_deref();
    let mut plan = head(question, args.kubernetes);
    let Question { source, view, state: State::Cluster(session), .. } = question else { return Ok(plan) };
    let version = match session.wait(read::server_version(&session.cluster)) {
        Ok(version) => KubernetesVersion::of(&version),
        // It is only what our own prediction is made with.
        Err(RequestError::Forbidden { .. }) => args.kubernetes,
        Err(error) => return Err(error.into()),
    };
    let terms = Terms { level: version.level(), now: context.now() };
    plan.kubernetes = version.number();
    let observed = observe(session, view, only)?;
    let namespace = source.default_namespace().to_owned();
    let beside = beside(source, view, &namespace)?;
    for (workload, wish) in view.wishes.iter().filter(|(workload, _)| args.wants(workload, only)) {
        let observed = observed.iter().find(|observed| observed.workload == *workload).cloned();
        let observed = observed.unwrap_or_else(|| repository::absent(workload));
        let mut item = item::plan(session, source, &view.commit.id, wish, &observed, terms)?;
        if record(&observed).is_some_and(|record| is_staged(&record.plan)) {
            notes::plan_removed(&mut item, "when it was last rolled out");
        }
        if let Some(desired) = &wish.desired {
            notes::add(&mut item, &desired.tip, &beside, Some(session));
        }
        plan.items.push(item);
    }
    for observed in observed.iter().filter(|observed| args.wants(&observed.workload, only)) {
        let managed = observed.set.as_ref().is_some_and(|set| set.record != RecordState::Absent);
        if managed && !view.wishes.contains_key(&observed.workload) {
            plan.items.push(item::orphan(observed, terms.now));
        }
    }
    numbers(&mut plan.items, source, view)?;
    Ok(plan)
}

/// The plan against a commit that is taken to be in force.
fn against_commit(args: &PlanArgs, context: &Context<'_>, question: &mut Question) -> Result<PlanObject, CliError> {
    let only = context.global.namespace.as_deref();
    let terms = Terms { level: args.kubernetes.level(), now: context.now() };
    let mut plan = head(question, args.kubernetes);
    let Question { source, view, state: State::Commit(base), .. } = question else { return Ok(plan) };
    let beside = beside(source, view, only.unwrap_or(question::NAMESPACE))?;
    plan.state = PlanObject::COMMIT;
    plan.base = base.as_ref().map(|base| Commit::of(&base.commit));
    let history = match base {
        Some(base) => source.revisions(&base.commit.id)?,
        None => Default::default(),
    };
    let replicas = args.replicas.unwrap_or(1);
    let nothing = View::default();
    let before = base.as_deref().unwrap_or(&nothing);
    for (workload, wish) in view.wishes.iter().filter(|(workload, _)| args.wants(workload, only)) {
        let earlier = before.wishes.get(workload);
        let numbered = history.get(workload).map(Vec::as_slice).unwrap_or_default();
        let observed = match earlier {
            Some(earlier) => assumed::observed(workload, earlier, numbered, replicas, terms.level, terms.now),
            None => repository::absent(workload),
        };
        // Only where something beside the template changes may that be a field that is fixed.
        let rest = |wish: &Wish| wish.desired.as_ref().map(|desired| desired.tip.rest.clone());
        let document = match earlier.filter(|earlier| rest(earlier) != rest(wish)) {
            Some(_) => source.document(&view.commit.id, workload)?,
            None => None,
        };
        let since = before.commit.id.short();
        let mut item = item::offline(wish, earlier.map(|wish| (wish, since)), document.as_ref(), &observed, terms);
        if earlier.and_then(|earlier| earlier.desired.as_ref()).is_some_and(|earlier| is_staged(&earlier.plan)) {
            notes::plan_removed(&mut item, &format!("in commit {since}"));
        }
        if let Some(desired) = &wish.desired {
            if desired.tip.replicas.is_none() && item.changes {
                item.assumptions.push(format!(
                    "the manifest states no replicas, an autoscaler may: {} assumed (--replicas)",
                    item.replicas
                ));
            }
            notes::add(&mut item, &desired.tip, &beside, None);
        }
        plan.items.push(item);
    }
    // Without a tip nothing is orphaned: the branch is gone, not the manifests.
    let gone = before.wishes.iter().filter(|(workload, _)| !view.wishes.contains_key(*workload));
    for (workload, wish) in gone.filter(|(workload, _)| args.wants(workload, only)) {
        let observed = assumed::observed(workload, wish, &[], replicas, terms.level, terms.now);
        plan.items.push(item::orphan(&observed, terms.now));
    }
    plan.items.sort_by(|left, right| (&left.namespace, &left.name).cmp(&(&right.namespace, &right.name)));
    // A number is counted from the beginning of history, which takes its time.
    if !args.push {
        numbers(&mut plan.items, source, view)?;
    }
    Ok(plan)
}

/// The record of the last rollout.
fn record(observed: &Observed) -> Option<&Record> {
    match &observed.set.as_ref()?.record {
        RecordState::Is(record, _) => Some(record),
        RecordState::Absent | RecordState::Unreadable(_) => None,
    }
}

/// Whether a plan has more than one stage.
fn is_staged(plan: &Plan) -> bool {
    match &plan.schedule {
        Schedule::Stages(stages) => stages.len() > 1,
        Schedule::Ramp { .. } => true,
        Schedule::ByHand(_) => false,
    }
}

/// Numbers the revisions of what changes, where history was read to its beginning.
fn numbers(items: &mut [PlanItem], source: &mut Source, view: &View) -> Result<(), CliError> {
    let changes = |item: &PlanItem| item.template_changes && item.target.is_some();
    if source.mirror().is_shallow() || !items.iter().any(changes) {
        return Ok(());
    }
    let history = source.revisions(&view.commit.id)?;
    for item in items.iter_mut().filter(|item| changes(item)) {
        let newest = history.get(&WorkloadId::new(&*item.namespace, &*item.name)).and_then(|entries| entries.last());
        let newest = newest.filter(|newest| item.target.as_ref().is_some_and(|target| target.hash == newest.hash.0));
        (item.number, item.repeats) = (newest.map(|entry| entry.number), newest.and_then(|entry| entry.repeats));
    }
    Ok(())
}

/// Objects of the commit that its sets lean on.
fn beside(source: &mut Source, view: &View, namespace: &str) -> Result<notes::Beside, CliError> {
    if view.wishes.is_empty() {
        return Ok(notes::Beside::default());
    }
    Ok(notes::Beside::of(&source.documents(&view.commit.id)?, namespace))
}

fn print(args: &PlanArgs, context: &mut Context<'_>, plan: &PlanObject) -> Result<(), CliError> {
    match args.output {
        _ if args.push => {
            let range = args.rev.as_deref().map(short_range).unwrap_or_default();
            Ok(plan_push::print(context.out, plan, &range)?)
        }
        _ if args.comment => Ok(context.out.write_all(plan_markdown::comment(plan).as_bytes())?),
        Format::Json | Format::Yaml => output::structured(context.out, args.output, plan),
        Format::Name => {
            for item in plan.items.iter().filter(|item| item.changes) {
                writeln!(context.out, "statefulset.apps/{}", item.name)?;
            }
            Ok(())
        }
        Format::Table | Format::Wide => Ok(plan_text::print(context.out, plan, context.color)?),
    }
}

/// A range with short ids, as it is typed.
fn short_range(range: &str) -> String {
    const SHORT: usize = 10;
    let short = |end: &str| match end.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => end.chars().take(SHORT).collect::<String>(),
        false => end.to_owned(),
    };
    match range.split_once("..") {
        Some((from, to)) => format!("{}..{}", short(from), short(to)),
        None => short(range),
    }
}

/// The cluster's side of a commit: a list of sets and one of pods.
fn observe(session: &Session, view: &View, only: Option<&str>) -> Result<Vec<Observed>, CliError> {
    let namespaces: BTreeSet<&str> = match only {
        Some(only) => [only].into(),
        None => view.wishes.keys().map(|workload| workload.namespace.as_str()).collect(),
    };
    if namespaces.len() > MOST_NAMESPACES {
        return session.list(None);
    }
    let mut all = Vec::new();
    for namespace in namespaces {
        all.extend(session.list(Some(namespace))?);
    }
    Ok(all)
}
