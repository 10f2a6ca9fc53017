//! Finds changes of fields that are fixed when a set is created, before anything is sent.

use serde_json::Value;

use crate::cli::foresee::Entry;
use crate::cli::output::plan::PlanItem;
use crate::manifest::default::Level;
use crate::manifest::update::forbidden_changes;
use crate::manifest::{Document, Manifest};
use crate::model::{Desired, Diagnostic, Phase, Reason};

/// What the server would refuse of a wish, where `before` is the set as it is; `since` says where that was seen.
pub(super) fn changes(
    before: &Value,
    desired: &Desired,
    document: &Document,
    level: Level,
    since: &str,
) -> Vec<Diagnostic> {
    let manifest = |value: &Value| Manifest {
        file: document.file.clone(),
        line: document.line,
        workload: desired.workload.clone(),
        namespace_given: true,
        value: value.clone(),
        replicas: None,
        partition: None,
        adopt: false,
        allow_claim_deletion: false,
    };
    forbidden_changes(&manifest(before), &manifest(&desired.tip.manifest), document, level, since)
}

/// The plan of a commit that is refused: nothing of it is rolled out.
pub(super) fn refuse(item: &mut PlanItem, found: Vec<Diagnostic>) {
    if found.is_empty() {
        return;
    }
    item.entry = Entry::Waits;
    item.changes = true;
    (item.phase, item.reason) = (Phase::Blocked, Reason::ImmutableField);
    item.stages.clear();
    (item.earliest_seconds, item.needs_promotion) = (0, false);
    item.message = "the commit changes a field that is fixed when a set is created: nothing of it is applied, what is \
                    in force stays"
        .to_owned();
    item.problems.extend(found);
}
