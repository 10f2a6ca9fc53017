//! Gives a pod template, or a whole StatefulSet spec, the form in which the API server would return it.
//!
//! Fields the server does not know are dropped, zero values are dropped or written as its Go types say, defaults are
//! filled in, quantities are printed canonically, and what stands behind a closed feature gate goes. The description of
//! the API is a table ([`schema`]) over plain JSON: typed round trips lose what they do not know, and know nothing of
//! pointers. A value of the wrong kind stays as it is: refusing it is the business of validation.
//!
//! Mirrors `pkg/apis/{core,apps}/v1/{defaults,conversion,zz_generated.defaults}.go`, `pkg/api/pod/util.go`
//! (`DropDisabledTemplateFields`) and `pkg/registry/apps/statefulset/strategy.go` of Kubernetes, for a new set and with
//! the feature gates at their defaults. Not mirrored: admission webhooks, and the rewriting of RFC 3339 times to UTC.

use serde_json::Value;

mod claim;
mod container;
mod image;
mod legacy_volume;
mod meta;
mod pod;
mod probe;
mod read;
mod scheduling;
mod schema;
mod security;
mod volume;
mod workload;

/// The form of the API a control plane speaks: what it knows, which gates are open, and how it writes empty structs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// As Kubernetes 1.33 writes it: `creationTimestamp: null` in every template.
    V1_33,
    /// As Kubernetes 1.36 writes it.
    V1_36,
}

/// The pod template (`.spec.template`) as a server of that level returns it. Idempotent.
pub fn template(template: &Value, level: Level) -> Value {
    read::object(&pod::POD_TEMPLATE_SPEC, template, level)
}

/// The whole `.spec` of a StatefulSet, claim templates included, as a server of that level returns it. Idempotent.
pub fn stateful_set(spec: &Value, level: Level) -> Value {
    read::object(&workload::STATEFUL_SET_SPEC, spec, level)
}
