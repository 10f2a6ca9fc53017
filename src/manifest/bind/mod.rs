//! Binds plans to sets over all files of a repository, and keeps what is broken apart from what is not.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::limit;
use super::foreign;
use super::level::Checks;
use super::parse::Document;
use super::parse::{PLAN_BEGINS, is_plan_file};
use super::plan::{self, PlanDocument, PlanReading, plan_digest};
use super::stateful_set::{self, Manifest, SetReading};
use super::words::show;
use crate::model::{Diagnostic, Plan, Problem, Schedule, Severity, WorkloadId};

/// The most reasons of a broken file that are repeated at each workload it stops; all of them stand with the file.
const MAX_REASONS: usize = 5;

/// What becomes of a set without a plan.
pub const ONE_STAGE: &str = "all pods in one stage";

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
    /// Whether nothing stages it, neither a plan nor a partition in its manifest: a change reaches all pods in one stage.
    pub fn is_unstaged(&self) -> bool {
        self.plan.is_none() && self.manifest.partition.is_none()
    }

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

struct Binder<'a> {
    default_namespace: &'a str,
    checks: Checks,
    bound: Bound,
    /// Every document for a workload, with its line and file.
    sets: BTreeMap<WorkloadId, Vec<(String, u32, SetReading)>>,
    plans: Vec<OpenPlan<'a>>,
    /// Which plan is whose.
    binding: Binding,
}

impl<'a> Binder<'a> {
    fn new(default_namespace: &'a str, checks: Checks) -> Self {
        Self {
            default_namespace,
            checks,
            bound: Bound::default(),
            sets: BTreeMap::new(),
            plans: Vec::new(),
            binding: Binding::default(),
        }
    }

    fn file(&mut self, file: &str, documents: &'a [Document], findings: &[Diagnostic]) {
        for document in documents {
            if plan::is_plan(document) {
                let (line, reading) = (document.line, plan::read(document));
                self.plans.push(OpenPlan { file: file.to_owned(), line, reading, document: Some(document) });
            } else if stateful_set::is_meant(document) {
                self.set(file, document);
            } else {
                self.other(file, document);
            }
        }
        let (mut errors, warnings): (Vec<_>, Vec<_>) = findings.iter().cloned().partition(Diagnostic::is_error);
        self.bound.diagnostics.extend(warnings);
        if is_plan_file(file) && !documents.iter().any(plan::is_plan) {
            let found = findings.iter().max_by_key(|finding| finding.is_error());
            errors.extend(self.no_plan_in(file, documents, found));
        }
        self.broken(file, errors);
    }

    /// A file that is a plan by its name and holds none: it counts as a plan that cannot be read.
    fn no_plan_in(&mut self, file: &str, documents: &[Document], found: Option<&Diagnostic>) -> Option<Diagnostic> {
        let line = documents.first().map_or(0, |document| document.line);
        let folder = plan::folder_of(file).to_owned();
        let reading = PlanReading { workload_ref: None, folder, plan: None, diagnostics: Vec::new() };
        self.plans.push(OpenPlan { file: file.to_owned(), line, reading, document: None });
        let message = match (documents.first(), found) {
            (Some(document), _) => format!("the file is a plan by its name, and holds {}", show(document.kind())),
            (None, None) => "the file is a plan by its name, and holds none".to_owned(),
            (None, Some(found)) if found.is_error() => return None,
            (None, Some(found)) => return Some(Diagnostic { severity: Severity::Error, ..found.clone() }),
        };
        let hint = format!("{PLAN_BEGINS}; where there is to be none, remove the file, or name it otherwise");
        Some(Diagnostic::error(file, line, message).hint(hint).code("no-plan"))
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
        self.plans.sort_by(|left, right| (&left.file, left.line).cmp(&(&right.file, right.line)));
        let places = self.sets.iter().flat_map(|(workload, readings)| {
            readings.iter().map(move |(file, line, _)| (workload, file.as_str(), *line))
        });
        let broken = self.bound.broken_files.keys().map(String::as_str);
        self.binding = Sets::new(self.default_namespace, places, broken).bind(&self.plans);
        for (workload, mut readings) in std::mem::take(&mut self.sets) {
            readings.sort_by(|left, right| (&left.0, left.1).cmp(&(&right.0, right.1)));
            let outcome = self.workload(&workload, readings);
            self.bound.workloads.insert(workload, outcome);
        }
        let used: BTreeSet<usize> = self.binding.of.values().flatten().copied().collect();
        for (index, plan) in self.plans.iter().enumerate() {
            if !used.contains(&index) {
                self.bound.diagnostics.extend(plan.reading.diagnostics.iter().cloned());
            }
        }
        self.bound.diagnostics.append(&mut self.binding.findings);
        for findings in self.bound.broken_files.values_mut() {
            findings.sort();
            findings.dedup();
        }
        self.bound.diagnostics.sort();
        self.bound.diagnostics.dedup();
        self.bound
    }

    /// One workload from the documents that name it.
    fn workload(
        &mut self,
        workload: &WorkloadId,
        readings: Vec<(String, u32, SetReading)>,
    ) -> Result<BoundWorkload, Problem> {
        let mut findings = Vec::new();
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
            findings.extend(reading.diagnostics);
            manifest = reading.manifest;
        }
        // Of what was in force it does not matter now that its plan could not be used.
        let plan = match self.checks {
            Checks::Past => self.plan_for(workload, &mut Vec::new()),
            Checks::Rollout | Checks::Server(_) => self.plan_for(workload, &mut findings),
        };
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
    fn plan_for(&self, workload: &WorkloadId, findings: &mut Vec<Diagnostic>) -> Option<PlanDocument> {
        let indices = self.binding.of.get(workload).into_iter().flatten();
        let found: Vec<&OpenPlan<'_>> = indices.filter_map(|index| self.plans.get(*index)).collect();
        findings.extend(self.binding.lost.get(workload).into_iter().flatten().cloned());
        if found.len() > 1 {
            let places: Vec<String> = found.iter().map(|plan| plan.place()).collect();
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

/// Places in one line; a message stays short however many there are.
fn listed(places: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = places.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if places.len() > SHOWN {
        text.push_str(", ..");
    }
    text
}

mod plans;

use plans::{Binding, OpenPlan, Sets};

#[cfg(test)]
mod tests;
