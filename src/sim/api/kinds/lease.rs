//! Leases.

use serde_json::Value;

use crate::sim::status::Cause;

/// Mirrors `ValidateLeaseSpec`.
pub(super) fn check(lease: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (name, least, words) in [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ] {
        if let Some(number) = lease["spec"][name].as_i64().filter(|number| *number < least) {
            causes.push(Cause::invalid(&format!("spec.{name}"), &number.into(), words));
        }
    }
    causes
}
