//! Which ControllerRevision of those that are there a template will run as.

use crate::cluster::read::ControllerRevision;
use crate::manifest::default::Level;
use crate::revision::digest::TemplateDigest;

/// What the cluster has of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Existing {
    /// A revision of the very same bytes, or the newest one, which means the same: its name stays in use.
    Same(String),
    /// Only a revision that means the same and was written by an older Kubernetes: a new one is made beside it.
    OlderForm(String),
    /// Nothing.
    None,
}

/// Looks for a template among a set's revisions, oldest first; `new` is the name that a new revision of it would get.
///
/// Mirrors `getStatefulSetRevisions`: equal bytes (and so an equal name) win, whatever their age; else, since 1.34, the
/// newest revision stays where it means the same. An older one that only means the same is not looked at.
pub(super) fn find(revisions: &[ControllerRevision], template: &TemplateDigest, new: &str, level: Level) -> Existing {
    let restart = template.restarted_at.as_deref().unwrap_or_default();
    let same = |revision: &&ControllerRevision| revision.hash == template.hash && revision.restarted_at == restart;
    if let Some(exact) = revisions.iter().find(|revision| revision.name == new) {
        return Existing::Same(exact.name.clone());
    }
    if let Some(newest) = revisions.last().filter(same).filter(|_| level == Level::V1_36) {
        return Existing::Same(newest.name.clone());
    }
    revisions.iter().rev().find(same).map_or(Existing::None, |older| Existing::OlderForm(older.name.clone()))
}

/// What a revision in an older form comes to.
pub(super) fn once_more(older: &str, new: &str) -> String {
    format!(
        "the cluster keeps this very template as {older}, in the form of an older Kubernetes: this one makes {new} of \
         it, and pods that run {older} are replaced once more when the partition reaches them"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TemplateHash;

    fn revision(name: &str, hash: &str) -> ControllerRevision {
        ControllerRevision {
            name: name.to_owned(),
            number: 1,
            hash: TemplateHash(hash.to_owned()),
            restarted_at: String::new(),
            change_cause: String::new(),
        }
    }

    #[test]
    fn the_name_in_use_is_the_one_that_kubernetes_would_find() {
        let template = |hash: &str| TemplateDigest { hash: TemplateHash(hash.to_owned()), restarted_at: None };
        let all = [revision("web-a33", "a"), revision("web-b", "b"), revision("web-c33", "c")];
        let find = |hash: &str, new: &str, level| find(&all, &template(hash), new, level);
        // A revert to bytes that are there.
        assert_eq!(find("b", "web-b", Level::V1_36), Existing::Same("web-b".into()));
        // After an upgrade from 1.33: the newest keeps its name, a revert to an older one makes another.
        assert_eq!(find("c", "web-c36", Level::V1_36), Existing::Same("web-c33".into()));
        assert_eq!(find("a", "web-a36", Level::V1_36), Existing::OlderForm("web-a33".into()));
        // A server of 1.33 compares bytes alone.
        assert_eq!(find("c", "web-c36", Level::V1_33), Existing::OlderForm("web-c33".into()));
        assert_eq!(find("d", "web-d", Level::V1_36), Existing::None);
        let restarted = TemplateDigest { restarted_at: Some("now".into()), ..template("c") };
        assert_eq!(super::find(&all, &restarted, "web-r", Level::V1_36), Existing::None, "a restart is another one");
    }
}
