//! Binds plans to sets over all files of a repository, and keeps what is broken apart from what is not.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::limit;
use super::foreign;
use super::level::Checks;
use super::parse::Document;
use super::plan::{self, PlanDocument, PlanReading, plan_digest};
use super::stateful_set::{self, Manifest, SetReading};
use crate::model::{Diagnostic, Plan, Problem, Schedule, WorkloadId};

/// The most reasons of a broken file that are repeated at each workload it stops; all of them stand with the file.
const MAX_REASONS: usize = 5;

/// The repository as a whole: what it says of every workload, and what is wrong elsewhere.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bound {
    /// Every set that a file names, good or not.
    pub workloads: BTreeMap<WorkloadId, Result<BoundWorkload, Problem>>,
    /// How many objects there are of other kinds.
    pub others: usize,
    /// Findings that belong to no workload.
    pub diagnostics: Vec<Diagnostic>,
    /// Files of which a part could not be read, with why. They may have held any workload: what came from them before
    /// (sets and plans) is kept as it was last read. The sets that could be read in them are problems above.
    pub broken_files: BTreeMap<String, Vec<Diagnostic>>,
}

/// One good set with its plan.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundWorkload {
    /// The set.
    pub manifest: Manifest,
    /// Its plan; none where no plan is bound to it.
    pub plan: Option<PlanDocument>,
    /// Warnings about the two.
    pub diagnostics: Vec<Diagnostic>,
}

impl BoundWorkload {
    /// The plan in force with its digest: the bound one; without one the default, or by hand where the manifest states
    /// a partition.
    pub fn effective_plan(&self) -> (Plan, String) {
        if let Some(document) = &self.plan {
            return (document.plan.clone(), document.digest.clone());
        }
        let plan = match self.manifest.partition {
            Some(partition) => Plan { schedule: Schedule::ByHand(partition), ..Plan::default() },
            None => Plan::default(),
        };
        let digest = plan_digest(&plan);
        (plan, digest)
    }
}

/// Binds what [`super::parse`] made of every file: path, documents, findings. Files in any order give the same result.
///
/// A set without a namespace is in `default_namespace`, and a plan's `workloadRef` likewise.
pub fn bind<'a, I>(files: I, default_namespace: &str) -> Bound
where
    I: IntoIterator<Item = (&'a str, &'a [Document], &'a [Diagnostic])>,
{
    bind_for(files, default_namespace, Checks::Rollout)
}

/// The same with the checks of somebody else than a rollout.
pub fn bind_for<'a, I>(files: I, default_namespace: &str, checks: Checks) -> Bound
where
    I: IntoIterator<Item = (&'a str, &'a [Document], &'a [Diagnostic])>,
{
    let mut binder = Binder::new(default_namespace, checks);
    for (file, documents, findings) in files {
        binder.file(file, documents, findings);
    }
    binder.finish()
}

/// A plan on its way to its sets.
struct OpenPlan {
    line: u32,
    file: String,
    reading: PlanReading,
    bound: bool,
}

struct Binder<'a> {
    default_namespace: &'a str,
    checks: Checks,
    bound: Bound,
    /// Every document for a workload, with its line and file.
    sets: BTreeMap<WorkloadId, Vec<(String, u32, SetReading)>>,
    plans: Vec<OpenPlan>,
    /// Plans that name a set, as indices into `plans`.
    by_name: BTreeMap<WorkloadId, Vec<usize>>,
    /// Plans for the sets of a folder, likewise.
    by_folder: BTreeMap<String, Vec<usize>>,
}

impl<'a> Binder<'a> {
    fn new(default_namespace: &'a str, checks: Checks) -> Self {
        Self {
            default_namespace,
            checks,
            bound: Bound::default(),
            sets: BTreeMap::new(),
            plans: Vec::new(),
            by_name: BTreeMap::new(),
            by_folder: BTreeMap::new(),
        }
    }

    fn file(&mut self, file: &str, documents: &[Document], findings: &[Diagnostic]) {
        for document in documents {
            if plan::is_plan(document) {
                let reading = plan::read(document);
                self.plans.push(OpenPlan { line: document.line, file: file.to_owned(), reading, bound: false });
            } else if stateful_set::is_stateful_set(document) {
                self.set(file, document);
            } else {
                self.other(file, document);
            }
        }
        let (errors, warnings): (Vec<_>, Vec<_>) = findings.iter().cloned().partition(Diagnostic::is_error);
        self.bound.diagnostics.extend(warnings);
        self.broken(file, errors);
    }

    /// An object of another kind is left to others; who asks for everything is told what is made of some of them.
    fn other(&mut self, file: &str, document: &Document) {
        self.bound.others += 1;
        if let (Some(_), Some(known)) = (self.checks.level(), foreign::object(document.api_version(), document.kind()))
        {
            let message = format!("this is {}", known.what);
            let finding = Diagnostic::warning(file, document.line, message).hint(known.hint);
            self.bound.diagnostics.push(finding.code("left-to-others"));
        }
    }

    fn set(&mut self, file: &str, document: &Document) {
        let mut reading = stateful_set::read_for(document, self.default_namespace, self.checks);
        if stateful_set::is_kruise(document) {
            self.bound.others += 1;
            let message = "a StatefulSet of Kruise's is left alone";
            let hint = "it is Kruise's, not driven by Phaseline";
            self.bound.diagnostics.push(Diagnostic::warning(file, document.line, message).hint(hint));
            return;
        }
        match reading.workload.take() {
            Some(workload) => {
                self.sets.entry(workload).or_default().push((file.to_owned(), document.line, reading));
            }
            None => self.broken(file, reading.diagnostics),
        }
    }

    fn broken(&mut self, file: &str, errors: Vec<Diagnostic>) {
        if !errors.is_empty() {
            self.bound.broken_files.entry(file.to_owned()).or_default().extend(errors);
        }
    }

    fn finish(mut self) -> Bound {
        self.index_plans();
        for (workload, mut readings) in std::mem::take(&mut self.sets) {
            readings.sort_by(|left, right| (&left.0, left.1).cmp(&(&right.0, right.1)));
            let outcome = self.workload(&workload, readings);
            self.bound.workloads.insert(workload, outcome);
        }
        for plan in self.plans.iter().filter(|plan| !plan.bound) {
            self.bound.diagnostics.extend(plan.reading.diagnostics.iter().cloned());
            self.bound.diagnostics.push(unused(plan, self.default_namespace));
        }
        for findings in self.bound.broken_files.values_mut() {
            findings.sort();
            findings.dedup();
        }
        self.bound.diagnostics.sort();
        self.bound.diagnostics.dedup();
        self.bound
    }

    /// Sorts the plans by their place and notes what each is for.
    fn index_plans(&mut self) {
        self.plans.sort_by(|left, right| (&left.file, left.line).cmp(&(&right.file, right.line)));
        for (index, plan) in self.plans.iter().enumerate() {
            let indices = match &plan.reading.workload_ref {
                Some((namespace, name)) => {
                    let namespace = namespace.as_deref().unwrap_or(self.default_namespace);
                    self.by_name.entry(WorkloadId::new(namespace, name)).or_default()
                }
                None => self.by_folder.entry(plan.reading.folder.clone()).or_default(),
            };
            indices.push(index);
        }
    }

    /// One workload from the documents that name it.
    fn workload(
        &mut self,
        workload: &WorkloadId,
        readings: Vec<(String, u32, SetReading)>,
    ) -> Result<BoundWorkload, Problem> {
        let mut findings = Vec::new();
        let mut folders: Vec<String> = Vec::new();
        let places: Vec<String> = readings.iter().map(|(file, line, _)| format!("{file}:{line}")).collect();
        if readings.len() > 1 {
            for (file, line, _) in &readings {
                let message = format!("there are {} documents for {workload}: {}", readings.len(), listed(&places));
                findings.push(Diagnostic::error(file, *line, message).hint("keep one of them"));
            }
        }
        let mut manifest = None;
        for (file, _, reading) in readings {
            if let Some(reasons) = self.bound.broken_files.get(&file) {
                findings.extend(reasons.iter().take(MAX_REASONS).cloned());
            }
            folders.push(plan::folder_of(&file).to_owned());
            findings.extend(reading.diagnostics);
            manifest = reading.manifest;
        }
        let plan = self.plan_for(workload, &folders, &mut findings);
        if let (Some(manifest), Some(plan)) = (&manifest, &plan)
            && manifest.partition.is_some()
        {
            let message = format!("`partition` stands in the manifest, and {}:{} is its plan", plan.file, plan.line);
            let finding = Diagnostic::warning(&manifest.file, manifest.line, message);
            findings.push(finding.hint("the plan wins: leave `partition` out of the manifest"));
        }
        findings.sort();
        findings.dedup();
        limit(&mut findings);
        match manifest {
            Some(manifest) if !findings.iter().any(Diagnostic::is_error) => {
                Ok(BoundWorkload { manifest, plan, diagnostics: findings })
            }
            _ => Err(Problem { diagnostics: findings }),
        }
    }

    /// The plan of a workload: none, one, or a finding why none can be told.
    fn plan_for(
        &mut self,
        workload: &WorkloadId,
        folders: &[String],
        findings: &mut Vec<Diagnostic>,
    ) -> Option<PlanDocument> {
        let named = self.by_name.get(workload).into_iter();
        let of_folders = folders.iter().filter_map(|folder| self.by_folder.get(folder));
        let indices: BTreeSet<usize> = named.chain(of_folders).flatten().copied().collect();
        for index in &indices {
            if let Some(plan) = self.plans.get_mut(*index) {
                plan.bound = true;
            }
        }
        let found: Vec<&OpenPlan> = indices.iter().filter_map(|index| self.plans.get(*index)).collect();
        if found.len() > 1 {
            let places: Vec<String> = found.iter().map(|plan| format!("{}:{}", plan.file, plan.line)).collect();
            for plan in &found {
                let message = format!("there are {} plans for {workload}: {}", found.len(), listed(&places));
                let hint = "keep one of them, or tell them apart by `workloadRef`";
                findings.push(Diagnostic::error(&plan.file, plan.line, message).hint(hint));
            }
        }
        for plan in &found {
            findings.extend(plan.reading.diagnostics.iter().cloned());
            if plan.reading.plan.is_none() {
                // An unreadable plan has its findings with its file.
                findings
                    .extend(self.bound.broken_files.get(&plan.file).into_iter().flatten().take(MAX_REASONS).cloned());
                let message = format!("the plan of {workload} cannot be used");
                let hint = "nothing is rolled without it; the last good version stays in force";
                findings.push(Diagnostic::error(&plan.file, plan.line, message).hint(hint));
            }
        }
        found.first().and_then(|plan| plan.reading.plan.clone())
    }
}

/// What to say of a plan that is bound to nothing.
fn unused(plan: &OpenPlan, default_namespace: &str) -> Diagnostic {
    let message = match &plan.reading.workload_ref {
        Some((namespace, name)) => {
            let namespace = namespace.as_deref().unwrap_or(default_namespace);
            format!(
                "the plan is for {}, and no file names such a StatefulSet",
                super::words::show(&format!("{namespace}/{name}"))
            )
        }
        None => "the plan is for the StatefulSets of its folder, and there is none".into(),
    };
    Diagnostic::warning(&plan.file, plan.line, message).hint("name one with `workloadRef`, or remove the plan")
}

/// Places in one line; a message stays short however many there are.
fn listed(places: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = places.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if places.len() > SHOWN {
        text.push_str(", ..");
    }
    text
}

#[cfg(test)]
mod tests;
