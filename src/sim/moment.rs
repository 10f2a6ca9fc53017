//! How objects state a moment.

use jiff::Timestamp;

/// In whole seconds, as most fields have it (`metav1.Time`).
pub(crate) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// To the microsecond, as events and audit logs have it (`metav1.MicroTime`).
pub(crate) fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
