//! How commits stand to each other in a mirror.

use phaseline::model::Lineage;

use super::{id, mirror};
use crate::support::repo::Repo;

#[test]
fn a_commit_is_onward_behind_aside_or_not_known() {
    let repo = Repo::new();
    let first = repo.commit_file("a.yaml", "1");
    let second = repo.commit_file("a.yaml", "2");
    repo.git(&["checkout", "-q", "-b", "side", &first]);
    let side = repo.commit_file("b.yaml", "1");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let merge = repo.head();
    repo.git(&["push", "-q", "origin", "main"]);
    let local_only = repo.commit_file("a.yaml", "3");
    let mut mirror = mirror(&repo);
    mirror.fetch().unwrap();
    let cases = [
        (&second, &second, Lineage::Onward),
        (&second, &first, Lineage::Onward),
        (&first, &second, Lineage::Behind),
        (&second, &side, Lineage::Aside),
        // Also by a second parent.
        (&merge, &side, Lineage::Onward),
        (&side, &merge, Lineage::Behind),
        (&merge, &local_only, Lineage::Unknown),
    ];
    for (commit, earlier, expected) in cases {
        assert_eq!(mirror.lineage(&id(commit), &id(earlier)), expected, "{commit} {earlier}");
    }
    assert_eq!(mirror.lineage(&id(&merge), &id("no commit")), Lineage::Unknown);
}

#[test]
fn what_was_fetched_before_a_force_push_is_still_known() {
    let repo = Repo::new();
    let first = repo.commit_file("a.yaml", "1");
    let second = repo.commit_file("a.yaml", "2");
    repo.push();
    let mut mirror = mirror(&repo);
    mirror.fetch().unwrap();
    repo.force_push(&first);
    assert_eq!(mirror.fetch().unwrap().tip, id(&first));
    assert_eq!(mirror.lineage(&id(&first), &id(&second)), Lineage::Behind);
}
