//! How a commit takes over, from hand-made facts.

use super::*;
use crate::cli::fixtures::{at_rest, desired, hash, in_canary, nothing, now, observed};
use crate::model::{Hold, OnNewRevision};

fn look(desired: &Desired, observed: &Observed) -> Foreseen {
    foresee(desired, None, observed, now())
}

fn entry(desired: &Desired, observed: &Observed) -> Entry {
    look(desired, observed).entry
}

#[test]
fn every_way_in_has_its_name() {
    assert_eq!(entry(&desired('a'), &nothing()), Entry::Install);
    assert_eq!(entry(&desired('a'), &observed(Some(at_rest('a')))), Entry::None);
    assert_eq!(entry(&desired('b'), &observed(Some(at_rest('a')))), Entry::Staged);
    assert_eq!(entry(&desired('b'), &observed(Some(in_canary('a', 'b')))), Entry::None);
    assert_eq!(entry(&desired('c'), &observed(Some(in_canary('a', 'b')))), Entry::RollForward);
    assert_eq!(entry(&desired('a'), &observed(Some(in_canary('a', 'b')))), Entry::Revert);
    let proven = Record { proven: vec![hash('b'), hash('a')], ..at_rest('a') };
    assert_eq!(entry(&desired('b'), &observed(Some(proven))), Entry::Rollback);
    let never_ready = Record { stable: None, ..in_canary('a', 'b') };
    assert_eq!(entry(&desired('c'), &observed(Some(never_ready))), Entry::InstallAgain);
    let mut restart = in_canary('a', 'b');
    (restart.plan.on_new_revision, restart.stage, restart.partition) = (OnNewRevision::Restart, Some(1), Partition(3));
    assert_eq!(entry(&desired('c'), &observed(Some(restart))), Entry::Restart);
    let held = Record { hold: Some(Hold { by: "ann".into() }), ..in_canary('a', 'b') };
    assert_eq!(entry(&desired('c'), &observed(Some(held))), Entry::Waits);
    let mut labelled = desired('a');
    labelled.tip.rest = "other".into();
    assert_eq!(entry(&labelled, &observed(Some(at_rest('a')))), Entry::Sync);
}

#[test]
fn an_adoption_is_looked_through() {
    let same = look(&desired('a'), &observed(None));
    assert!(same.adopts);
    assert_eq!((same.decision.reason, same.entry), (Reason::AdoptionRequired, Entry::Sync));
    let other = look(&desired('b'), &observed(None));
    assert_eq!(other.entry, Entry::Staged);
    assert_eq!(other.apply.unwrap().partition, Partition(5));
}

#[test]
fn a_handover_is_looked_through() {
    let mut wish = desired('b');
    (wish.tip.replicas, wish.tip.manifest) =
        (None, Arc::new(serde_json::json!({"metadata": {}, "spec": {"template": {}}})));
    let mut observed = observed(Some(at_rest('a')));
    observed.set.as_mut().unwrap().owners.push(FieldOwner {
        manager: FieldOwner::DAEMON.into(),
        apply: true,
        subresource: String::new(),
        time: None,
        template: true,
        strategy: true,
        replicas: true,
        record: true,
    });
    let foreseen = look(&wish, &observed);
    assert_eq!((foreseen.hands_over, foreseen.entry), (Some(6), Entry::Staged));
}

#[test]
fn a_set_that_cannot_be_adopted_says_why() {
    let mut strange = observed(None);
    strange.set.as_mut().unwrap().strategy = "OnDelete".into();
    let foreseen = look(&desired('b'), &strange);
    assert!(foreseen.obstacle.unwrap().contains("OnDelete"));
    assert_eq!(foreseen.entry, Entry::Waits);
    assert!(obstacle(&strange, now()).is_some());
    assert_eq!(obstacle(&observed(None), now()), None);
}
