//! The words the whole program speaks: plain data, no clock, no I/O.
//!
//! Floor 0: nothing here may reach for a runtime, a client, the file system or the time of day;
//! a tidy test reads the sources and holds that.

mod decision;
pub mod desired;
pub mod diagnostic;
pub mod observed;
pub mod plan;
pub mod pods;
pub mod printable;
pub mod record;
pub mod sight;
pub mod workload;

pub use decision::{Action, ApplyKind, Decision, Phase, Reason, StageView, WaitingOn};
pub use desired::{CommitInfo, Desired, Problem, Version, Wanted};
pub use diagnostic::{Diagnostic, Severity};
pub use observed::{
    ContainerFault, FieldOwner, LiveSet, Milestone, Observed, Pace, Pod, PodPhase, Progress, RecordState, Request,
    SeenReady, Verb,
};
pub use plan::{OnNewRevision, Pause, Plan, Ramp, RepairPolicy, Schedule, Size, Stage};
pub use pods::Pods;
pub use record::{Failed, Hold, Mode, Record, Seen};
pub use sight::{Lineage, Origin, Sight};
pub use workload::{CommitId, Ordinal, PARKED, Partition, TemplateHash, WorkloadId};
