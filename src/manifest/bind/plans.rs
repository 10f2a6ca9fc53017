//! Finds the sets of every plan, and the sets that a plan which found none may have been meant for.
//!
//! A set without a plan rolls out in one stage. So a plan must not get lost by a slip: one that cannot be read stops
//! the sets it was for, and one that finds no set is an error where a set without a plan stands beside it. It stops
//! that set where it can be told which one was meant. Only where no set can have lost it, a plan for nothing is a
//! warning: it was committed before its set, or left behind.

use std::collections::{BTreeMap, BTreeSet};

use super::super::parse::Document;
use super::super::plan::{PlanReading, folder_of};
use super::super::words::{nearest, show};
use super::{ONE_STAGE, listed};
use crate::model::{Diagnostic, WorkloadId};

/// A plan on its way to its sets.
pub(super) struct OpenPlan<'a> {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) reading: PlanReading,
    /// Its document, to find places in it; none where the file holds no plan.
    pub(super) document: Option<&'a Document>,
}

impl OpenPlan<'_> {
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// An error or a warning about what the plan is for, at the place where it says so.
    fn finding(&self, message: String) -> Diagnostic {
        let place = self.document.and_then(|document| {
            document.locate("/spec/workloadRef/name").or_else(|| document.locate("/spec/workloadRef"))
        });
        let (line, column) = place.unwrap_or((self.line, 0));
        Diagnostic::error(&self.file, line, message).at_column(column).code("plan-unbound")
    }
}

/// The sets by the folders that name them, with a place for each.
pub(super) struct Sets<'a> {
    default_namespace: &'a str,
    places: BTreeMap<WorkloadId, String>,
    folders: BTreeMap<String, BTreeSet<WorkloadId>>,
    /// Files that may hold further sets.
    dark: Vec<String>,
}

/// What has become of the plans.
#[derive(Default)]
pub(super) struct Binding {
    /// The plans of each set, as indices.
    pub(super) of: BTreeMap<WorkloadId, BTreeSet<usize>>,
    /// Sets that have no plan, and why one may have been meant for them.
    pub(super) lost: BTreeMap<WorkloadId, Vec<Diagnostic>>,
    /// What is said of plans that are bound to nothing.
    pub(super) findings: Vec<Diagnostic>,
}

impl<'a> Sets<'a> {
    /// Sorts the sets by folder; `broken` are files of which a part could not be read.
    pub(super) fn new<'b>(
        default_namespace: &'a str,
        sets: impl Iterator<Item = (&'b WorkloadId, &'b str, u32)>,
        broken: impl Iterator<Item = &'b str>,
    ) -> Self {
        let mut places = BTreeMap::new();
        let mut folders: BTreeMap<String, BTreeSet<WorkloadId>> = BTreeMap::new();
        for (workload, file, line) in sets {
            places.entry(workload.clone()).or_insert_with(|| format!("{file}:{line}"));
            folders.entry(folder_of(file).to_owned()).or_default().insert(workload.clone());
        }
        Self { default_namespace, places, folders, dark: broken.map(str::to_owned).collect() }
    }

    /// Binds every plan.
    pub(super) fn bind(&self, plans: &[OpenPlan<'_>]) -> Binding {
        let mut binding = Binding::default();
        let mut unbound = Vec::new();
        for (index, plan) in plans.iter().enumerate() {
            let sets = self.of(&plan.reading);
            if sets.is_empty() {
                unbound.push(plan);
            }
            for workload in sets {
                binding.of.entry(workload).or_default().insert(index);
            }
        }
        for plan in unbound {
            self.unbound(plan, &mut binding);
        }
        binding
    }

    /// The sets that a plan is for.
    fn of(&self, plan: &PlanReading) -> Vec<WorkloadId> {
        let Some((namespace, name)) = &plan.workload_ref else {
            return self.folders.get(&plan.folder).into_iter().flatten().cloned().collect();
        };
        let known = |namespace: &str| {
            Some(WorkloadId::new(namespace, name)).filter(|workload| self.places.contains_key(workload))
        };
        match namespace {
            Some(namespace) => known(namespace).into_iter().collect(),
            None => match self.beside(plan, name).as_slice() {
                [] => known(self.default_namespace).into_iter().collect(),
                [one] => vec![one.clone()],
                _ => Vec::new(),
            },
        }
    }

    /// The sets of this name in the folder of a plan.
    fn beside(&self, plan: &PlanReading, name: &str) -> Vec<WorkloadId> {
        let folder = self.folders.get(&plan.folder).into_iter().flatten();
        folder.filter(|workload| workload.name == name).cloned().collect()
    }

    /// Says of a plan without a set what is wrong, and which sets may lack it.
    fn unbound(&self, plan: &OpenPlan<'_>, binding: &mut Binding) {
        let (message, hint, lost) = match &plan.reading.workload_ref {
            Some((namespace, name)) => self.named(plan, namespace.as_deref(), name, &binding.of),
            None => self.of_folder(plan, &binding.of),
        };
        let finding = plan.finding(message).hint(hint);
        match lost {
            Lost::Nothing => binding.findings.push(
                Diagnostic::warning(&plan.file, finding.line, &finding.message)
                    .at_column(finding.column)
                    .hint(&finding.hint)
                    .code(&finding.code),
            ),
            Lost::Among(sets) => {
                for workload in sets {
                    let message = format!("no plan is bound to {workload}: {ONE_STAGE}");
                    let warning = Diagnostic::warning(&plan.file, finding.line, message).code("plan-unbound");
                    binding.lost.entry(workload).or_default().push(warning);
                }
                binding.findings.push(finding);
            }
            Lost::Of(sets) => {
                for workload in sets {
                    let message = format!("no plan is bound to {workload}, and one seems to be meant for it");
                    let hint = "nothing is rolled without it; the last good version stays in force";
                    let error = Diagnostic::error(&plan.file, plan.line, message).hint(hint).code("plan-unbound");
                    binding.lost.entry(workload).or_default().extend([finding.clone(), error]);
                }
                binding.findings.push(finding);
            }
        }
    }

    /// Of a plan that names a set which no file does.
    fn named(
        &self,
        plan: &OpenPlan<'_>,
        namespace: Option<&str>,
        name: &str,
        planned: &Planned,
    ) -> (String, String, Lost) {
        let beside = self.beside(&plan.reading, name);
        if namespace.is_none() && beside.len() > 1 {
            let (count, shown) = (beside.len(), listed(&ids(&beside)));
            let message =
                format!("the plan states no namespace, and its folder has {count} StatefulSets `{name}`: {shown}");
            let hint = format!("write {}: one plan for each", namespaces(&beside));
            let lost = beside.into_iter().filter(|set| !planned.contains_key(set)).collect();
            return (message, hint, Lost::Of(lost));
        }
        let wanted = WorkloadId::new(namespace.unwrap_or(self.default_namespace), name);
        let message = format!("the plan is for {}, and no file names such a StatefulSet", show(&wanted.to_string()));
        let free = |workload: &&WorkloadId| !planned.contains_key(*workload);
        let here: Vec<&WorkloadId> = self.folders.get(&plan.reading.folder).into_iter().flatten().collect();
        // The namespace is what is wrong.
        let same: Vec<WorkloadId> = match namespace {
            Some(_) => beside,
            None => self.places.keys().filter(|workload| workload.name == name).cloned().collect(),
        };
        if !same.is_empty() {
            let hint = format!("write {} for {}", namespaces(&same), self.shown(&same));
            return (message, hint, Lost::of(same.into_iter().filter(|workload| free(&workload))));
        }
        // The name is.
        let namespaces: BTreeSet<&str> = here.iter().map(|workload| workload.namespace.as_str()).collect();
        let near = |workload: &&WorkloadId| {
            let there = match namespace {
                Some(_) => workload.namespace == wanted.namespace,
                None => workload.namespace == wanted.namespace || namespaces.contains(workload.namespace.as_str()),
            };
            there && is_slip(name, &workload.name)
        };
        let near: Vec<WorkloadId> = self.places.keys().filter(near).filter(free).cloned().collect();
        if let Some(first) = near.first() {
            let hint = format!("did you mean `workloadRef: {{name: {}}}`? {}", first.name, self.shown(&near));
            return (message, hint, Lost::of(near.into_iter()));
        }
        // It is the plan of the set beside it, unless that cannot be told.
        let open: Vec<WorkloadId> = here.iter().copied().filter(free).cloned().collect();
        match open.as_slice() {
            [] => (message, NOBODY.into(), Lost::Nothing),
            [one] if here.len() == 1 && !self.is_dark_beside(plan) => {
                let hint = format!(
                    "write `workloadRef: {{name: {}}}` if it is for {}; else remove the plan, or keep it in a folder of its own",
                    one.name,
                    self.shown(&open)
                );
                (message, hint, Lost::Of(open))
            }
            _ => {
                let hint = format!(
                    "name the set it is for with `workloadRef` (beside it there is no plan for {}), or remove the plan",
                    self.shown(&open)
                );
                (message, hint, Lost::Among(open))
            }
        }
    }

    /// Whether the folder of a plan may have further sets.
    fn is_dark_beside(&self, plan: &OpenPlan<'_>) -> bool {
        self.dark.iter().any(|file| *file != plan.file && folder_of(file) == plan.reading.folder)
    }

    /// Of a plan for the sets of its folder, which has none.
    fn of_folder(&self, plan: &OpenPlan<'_>, planned: &Planned) -> (String, String, Lost) {
        let message = "the plan is for the StatefulSets of its folder, and there is none".to_owned();
        let folder = &plan.reading.folder;
        let below =
            |place: &str| folder.is_empty() || place.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let name = plan.document.and_then(|document| document.value.pointer("/metadata/name")?.as_str());
        let is_meant = |(place, sets): (&String, &BTreeSet<WorkloadId>)| -> Vec<WorkloadId> {
            let meant = |set: &&WorkloadId| below(place) || name == Some(set.name.as_str());
            sets.iter().filter(meant).filter(|set| !planned.contains_key(*set)).cloned().collect()
        };
        let meant: BTreeSet<WorkloadId> = self.folders.iter().flat_map(is_meant).collect();
        let meant: Vec<WorkloadId> = meant.into_iter().collect();
        let Some(first) = meant.first() else { return (message, NOBODY.into(), Lost::Nothing) };
        let hint = format!(
            "move it beside its set, or name one: `workloadRef: {{name: {}}}` for {}",
            first.name,
            self.shown(&meant)
        );
        (message, hint, Lost::Of(meant))
    }

    /// Sets with the places of their documents.
    fn shown(&self, sets: &[WorkloadId]) -> String {
        let place = |set: &WorkloadId| self.places.get(set).map(|place| format!(" ({place})")).unwrap_or_default();
        listed(&sets.iter().map(|set| format!("{set}{}", place(set))).collect::<Vec<_>>())
    }
}

type Planned = BTreeMap<WorkloadId, BTreeSet<usize>>;

/// Who may lack a plan that is bound to nothing.
enum Lost {
    /// No set.
    Nothing,
    /// One of these; it cannot be told which.
    Among(Vec<WorkloadId>),
    /// These.
    Of(Vec<WorkloadId>),
}

impl Lost {
    fn of(sets: impl Iterator<Item = WorkloadId>) -> Self {
        let sets: Vec<_> = sets.collect();
        if sets.is_empty() { Self::Nothing } else { Self::Of(sets) }
    }
}

/// The way out where no set can have lost the plan.
const NOBODY: &str = "commit the StatefulSet it is for, name another one with `workloadRef`, or remove the plan";

/// Whether a name is most likely a slip of the pen for another: `web-1` and `web-2` are two names.
fn is_slip(written: &str, name: &str) -> bool {
    let letters = |name: &str| name.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    nearest(written, &[name]).is_some() && (letters(written) != letters(name) || digits(written) == digits(name))
}

fn ids(sets: &[WorkloadId]) -> Vec<String> {
    sets.iter().map(ToString::to_string).collect()
}

/// What to write for the namespace of one of these.
fn namespaces(sets: &[WorkloadId]) -> String {
    let lines: Vec<String> = sets.iter().map(|set| format!("`metadata: {{namespace: {}}}`", set.namespace)).collect();
    let most = lines.len().min(3);
    lines.get(..most).unwrap_or_default().join(" or ")
}
