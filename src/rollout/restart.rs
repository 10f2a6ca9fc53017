//! Says which wish for a restart is in force: the manifest's, or a later one on the live template.
//!
//! `kubectl rollout restart` writes the time into the template. Where the manifest states a time itself the later of the
//! two counts, until the manifest states another one: then a person has decided in Git.

use jiff::Timestamp;

use crate::model::{Record, Seen, Version};
use crate::revision::digest::restart_mark;

/// The restart that counts, as records keep it.
///
/// `stated` is the manifest's, `live` that of the live template (empty without one).
pub(super) fn in_force(stated: Option<&str>, live: &str, record: Option<&Record>) -> String {
    let live = restart_mark(live);
    let Some(stated) = stated.map(restart_mark) else { return live };
    if record.is_some_and(|record| has_changed(&stated, record)) || live.is_empty() || is_earlier(&live, &stated) {
        return stated;
    }
    live
}

/// Whether the manifest states another restart than when it was last applied. Records of an earlier phaseline do not
/// say what it stated; what is in force is no change.
fn has_changed(stated: &str, record: &Record) -> bool {
    stated != record.stated && !(record.stated.is_empty() && stated == record.target.restart)
}

/// Whether a restart is known to be earlier than another. What is no time cannot be compared, and is not.
pub(super) fn is_earlier(restart: &str, than: &str) -> bool {
    match (restart.parse::<Timestamp>(), than.parse::<Timestamp>()) {
        (Ok(restart), Ok(than)) => restart < than,
        _ => false,
    }
}

/// What the manifest states, as the record keeps it.
pub(super) fn statement(version: &Version) -> String {
    version.restart.as_deref().map(restart_mark).unwrap_or_default()
}

/// A revision's restart as it is to be written: the record may only have its digest.
pub(super) fn spelled(of: &Seen, live: &str, template: &Version) -> String {
    let is_it = |value: &&str| restart_mark(value) == of.restart;
    [Some(live), template.restart.as_deref()].into_iter().flatten().find(is_it).unwrap_or(&of.restart).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{in_force, is_earlier};

    const MAY: &str = "2026-05-01T10:00:00Z";
    const JUNE: &str = "2026-06-01T12:00:00+02:00";

    #[test]
    fn the_later_one_counts() {
        assert_eq!(in_force(None, "", None), "");
        assert_eq!(in_force(None, JUNE, None), JUNE);
        assert_eq!(in_force(Some(MAY), "", None), MAY);
        assert_eq!(in_force(Some(MAY), JUNE, None), JUNE);
        assert_eq!(in_force(Some(JUNE), MAY, None), JUNE);
        assert_eq!(in_force(Some("monday"), JUNE, None), JUNE, "what is no time is no later one");
        assert_eq!(in_force(Some(JUNE), "monday", None), "monday");
    }

    #[test]
    fn times_are_compared_and_not_their_spelling() {
        assert!(!is_earlier("2026-06-01T10:00:00Z", JUNE));
        assert!(is_earlier("2026-06-01T09:59:59Z", JUNE));
        assert!(!is_earlier("", JUNE));
    }
}
