//! Hand-made sets, pods, records and wishes, for tests of what commands print.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use crate::model::{
    CommitId, CommitInfo, Desired, LiveSet, Mode, Observed, Ordinal, PARKED, Pace, Partition, Pause, Plan, Pod,
    PodPhase, Pods, Progress, Record, RecordState, Schedule, Seen, Sight, Size, Stage, TemplateHash, Version,
    WorkloadId,
};

/// When everything happens.
pub(crate) fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// canary (1, until promoted), third (34 %, 60 s, then 10 min), rest.
pub(crate) fn plan() -> Plan {
    let stage =
        |name: &str, size, min_ready_seconds, pause| Stage { name: name.into(), size, min_ready_seconds, pause };
    Plan {
        schedule: Schedule::Stages(vec![
            stage("canary", Size::Pods(1), 0, Pause::UntilPromoted),
            stage("third", Size::Percent(34), 60, Pause::Seconds(600)),
            stage("rest", Size::Percent(100), 0, Pause::None),
        ]),
        ..Plan::default()
    }
}

/// A commit of one letter.
pub(crate) fn commit(letter: char) -> CommitInfo {
    CommitInfo {
        id: CommitId(letter.to_string().repeat(40)),
        author: "Ann".into(),
        email: "ann@example.org".into(),
        time: 1_772_000_000,
        zone: 0,
        subject: format!("web: {letter}"),
        message: format!("web: {letter}\n"),
    }
}

/// The hash of that commit's template.
pub(crate) fn hash(letter: char) -> TemplateHash {
    TemplateHash(letter.to_string().repeat(20))
}

fn seen(letter: char) -> Seen {
    Seen { commit: commit(letter).id, hash: hash(letter), restart: String::new() }
}

/// Git's wish for `prod/web` at a commit, six replicas.
pub(crate) fn desired(letter: char) -> Desired {
    Desired {
        workload: WorkloadId::new("prod", "web"),
        tip: Version {
            commit: commit(letter),
            manifest: Arc::new(json!({
                "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web", "namespace": "prod"},
                "spec": {"replicas": 6, "template": {"spec": {"containers": [{"name": "web", "image": letter.to_string()}]}}},
            })),
            hash: hash(letter),
            rest: "rest".into(),
            rest_as_written: String::new(),
            replicas: Some(6),
            restart: None,
            start: 0,
            deletes_claims_when_scaled: false,
            allow_claim_deletion: false,
            adopt: false,
        },
        target: None,
        stable: None,
        plan: plan(),
        plan_digest: "plan".into(),
    }
}

/// A record at rest: that commit is stable.
pub(crate) fn at_rest(letter: char) -> Record {
    Record {
        v: Record::VERSION,
        epoch: 4,
        rollout: format!("{}-1", hash(letter).short()),
        target: seen(letter),
        src: None,
        mark: Default::default(),
        stable: Some(seen(letter)),
        mode: Mode::Staged,
        plan: plan(),
        digest: "plan".into(),
        stage: Some(2),
        exposed: None,
        done: true,
        partition: PARKED,
        generation: 3,
        live: hash(letter),
        rest: "rest".into(),
        began: now().as_second() - 3600,
        back: String::new(),
        at: now().as_second() - 3600,
        promoted: false,
        hashes: 1,
        stated: String::new(),
        hold: None,
        accepted: false,
        was: None,
        failed: Vec::new(),
        proven: vec![hash(letter)],
        req: None,
        replicas: None,
    }
}

/// A record in the canary stage: from one commit to another.
pub(crate) fn in_canary(from: char, to: char) -> Record {
    Record {
        rollout: format!("{}-5", hash(to).short()),
        target: seen(to),
        stage: Some(0),
        done: false,
        partition: Partition(5),
        live: hash(to),
        ..at_rest(from)
    }
}

/// `prod/web` with that record and six Ready pods; those at or above the record's partition run the target.
pub(crate) fn observed(record: Option<Record>) -> Observed {
    let partition = record.as_ref().map_or(Partition(0), |record| record.partition);
    let live = record.as_ref().map_or(hash('a'), |record| record.live.clone());
    let rolls = record.as_ref().is_some_and(|record| !record.done);
    let (current, update) = if rolls { ("web-old", "web-new") } else { ("web-old", "web-old") };
    let pods = (0..6).map(|ordinal| {
        let revision = if rolls && ordinal >= partition.0 { update } else { current };
        (Ordinal(ordinal), pod(ordinal, revision))
    });
    Observed {
        workload: WorkloadId::new("prod", "web"),
        pods: pods.collect(),
        set: Some(LiveSet {
            uid: "uid".into(),
            resource_version: "10".into(),
            generation: 3,
            terminating: false,
            replicas: 6,
            start: 0,
            min_ready_seconds: 0,
            parallel: false,
            strategy: "RollingUpdate".into(),
            partition: Some(partition),
            max_unavailable: None,
            deletes_claims_when_scaled: false,
            claim_templates: Vec::new(),
            template: live,
            restarted_at: String::new(),
            ready_replicas: 0,
            observed_generation: 3,
            current_revision: current.into(),
            update_revision: update.into(),
            record: record.map_or(RecordState::Absent, |record| {
                let text = record.encode();
                RecordState::Is(Box::new(record), text)
            }),
            request: None,
            request_text: String::new(),
            owners: Vec::new(),
        }),
        stale_seconds: None,
        forbidden: None,
        pods_behind: false,
        sight: Sight::default(),
        refused: None,
        progress: Progress::default(),
        pace: Pace::default(),
    }
}

/// Nothing in the cluster.
pub(crate) fn nothing() -> Observed {
    Observed { set: None, pods: Pods::default(), ..observed(None) }
}

fn pod(ordinal: u32, revision: &str) -> Pod {
    let since = Timestamp::from_second(now().as_second() - 120).unwrap();
    Pod {
        ordinal: Ordinal(ordinal),
        uid: format!("pod-{ordinal}"),
        resource_version: "9".into(),
        owner: "uid".into(),
        revision: revision.into(),
        created: since,
        scheduled: Some(since),
        started: Some(since),
        ready: true,
        ready_since: Some(since),
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
