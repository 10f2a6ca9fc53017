//! The cluster as it would be if a commit were in force: Healthy, at rest, every pod Ready.

use jiff::Timestamp;
use serde_json::Value;

use super::predict;
use crate::cli::repository::absent;
use crate::daemon::Wish;
use crate::manifest::default::Level;
use crate::model::{
    Desired, FieldOwner, LiveSet, Mode, Observed, Ordinal, PARKED, Pod, PodPhase, Record, RecordState, Seen,
    TemplateHash, Version, WorkloadId,
};
use crate::revision::history::Numbered;

/// More pods than that are not made up one by one.
const MOST_PODS: u32 = 10_000;
/// Stands for the set's uid.
const UID: &str = "assumed";

/// The cluster's side of a wish that is taken as fulfilled; `replicas` where the manifest states none.
pub(super) fn observed(
    workload: &WorkloadId,
    wish: &Wish,
    history: &[Numbered],
    replicas: u32,
    level: Level,
    now: Timestamp,
) -> Observed {
    let mut observed = absent(workload);
    let Some(desired) = &wish.desired else { return observed };
    let name = predict::revision(&workload.name, &predict::created(&desired.tip, level));
    let replicas = desired.tip.replicas.unwrap_or(replicas);
    let record = record(desired, history, &name, now);
    observed.set = Some(live(&desired.tip, record, replicas, name.clone()));
    let start = desired.tip.start;
    let ordinals = start..start.saturating_add(replicas.min(MOST_PODS));
    observed.pods = ordinals.map(|ordinal| (Ordinal(ordinal), pod(ordinal, &name, now))).collect();
    observed
}

fn record(desired: &Desired, history: &[Numbered], name: &str, now: Timestamp) -> Record {
    let tip = &desired.tip;
    let target = Seen {
        commit: tip.commit.id.clone(),
        hash: tip.hash.clone(),
        restart: tip.restart.clone().unwrap_or_default(),
    };
    Record {
        v: Record::VERSION,
        epoch: 1,
        rollout: format!("{}-1", tip.hash.short()),
        src: None,
        mark: Default::default(),
        stable: Some(target.clone()),
        back: name.to_owned(),
        target,
        mode: Mode::Staged,
        plan: desired.plan.clone(),
        digest: desired.plan_digest.clone(),
        stage: None,
        exposed: None,
        done: true,
        partition: PARKED,
        generation: 1,
        live: tip.hash.clone(),
        rest: tip.rest.clone(),
        began: now.as_second(),
        at: now.as_second(),
        promoted: false,
        hashes: crate::revision::digest::HASH_VERSION,
        stated: String::new(),
        hold: None,
        accepted: false,
        was: None,
        failed: Vec::new(),
        proven: proven(history, tip),
        req: None,
        replicas: None,
    }
}

/// The revisions that are taken as proven: the last ones before the one in force, and itself, oldest first.
fn proven(history: &[Numbered], tip: &Version) -> Vec<TemplateHash> {
    /// As many as a record keeps.
    const MOST: usize = 10;
    let until = history.iter().rposition(|entry| entry.hash == tip.hash).unwrap_or_default();
    let mut newest: Vec<TemplateHash> = vec![tip.hash.clone()];
    for entry in history.iter().take(until).rev() {
        if newest.len() >= MOST {
            break;
        }
        if !newest.contains(&entry.hash) {
            newest.push(entry.hash.clone());
        }
    }
    newest.reverse();
    newest
}

fn live(tip: &Version, record: Record, replicas: u32, name: String) -> LiveSet {
    let value = &tip.manifest;
    let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let claims = value.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
    let claim_name = |claim: &Value| claim.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
    LiveSet {
        uid: UID.to_owned(),
        resource_version: "1".to_owned(),
        generation: 1,
        terminating: false,
        replicas,
        start: tip.start,
        min_ready_seconds: number("/spec/minReadySeconds").unwrap_or_default(),
        parallel: value.pointer("/spec/podManagementPolicy").is_some_and(|policy| policy == "Parallel"),
        strategy: "RollingUpdate".to_owned(),
        partition: Some(PARKED),
        max_unavailable: None,
        deletes_claims_when_scaled: tip.deletes_claims_when_scaled,
        claim_templates: claims.into_iter().flatten().filter_map(claim_name).collect(),
        template: tip.hash.clone(),
        restarted_at: tip.restart.clone().unwrap_or_default(),
        ready_replicas: 0,
        observed_generation: 1,
        current_revision: name.clone(),
        update_revision: name,
        record: {
            let text = record.encode();
            RecordState::Is(Box::new(record), text)
        },
        request: None,
        request_text: String::new(),
        owners: vec![FieldOwner {
            manager: FieldOwner::DAEMON.to_owned(),
            apply: true,
            subresource: String::new(),
            time: None,
            template: true,
            strategy: true,
            replicas: tip.replicas.is_some(),
            record: true,
        }],
    }
}

fn pod(ordinal: u32, revision: &str, now: Timestamp) -> Pod {
    Pod {
        ordinal: Ordinal(ordinal),
        uid: format!("{UID}-{ordinal}"),
        resource_version: "1".to_owned(),
        owner: UID.to_owned(),
        revision: revision.to_owned(),
        created: now,
        scheduled: Some(now),
        started: Some(now),
        ready: true,
        ready_since: Some(now),
        terminating: false,
        phase: PodPhase::Running,
        restarts: 0,
        faults: Vec::new(),
        node_lost: false,
        node: String::new(),
        gone_by: None,
        finalizers: Vec::new(),
        longest_run: None,
    }
}
