//! One case on a bench: facts that a test bends, and the decision in one line.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use phaseline::model::{
    Action, CommitId, CommitInfo, ContainerFault, Decision, Desired, Failed, FieldOwner, LiveSet, Mode, Observed,
    Ordinal, PARKED, Pace, Partition, Pause, Plan, Pod, PodPhase, Pods, Progress, Record, RecordState, Request,
    Schedule, Seen, Size, Stage, TemplateHash, Verb, Version, WaitingOn, Wanted, WorkloadId,
};
use phaseline::rollout::decide;
use serde_json::json;

/// The moment every case starts at; rollouts under way began 1000 s before.
pub(crate) const T0: i64 = 1_800_000_000;

/// A moment, in seconds after the start.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(T0 + seconds).unwrap()
}

/// A template's digest.
pub(crate) fn hash(template: &str) -> TemplateHash {
    TemplateHash(template.into())
}

/// The ControllerRevision of a template.
pub(crate) fn revision(template: &str) -> String {
    format!("web-{template}")
}

/// A revision as records name it.
pub(crate) fn seen(commit: &str, template: &str) -> Seen {
    Seen { commit: CommitId(commit.into()), hash: hash(template), restart: String::new() }
}

/// A manifest at a commit.
pub(crate) fn version(commit: &str, template: &str, replicas: Option<u32>) -> Version {
    let mut manifest = json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"template": {"id": template, "metadata": {}}},
    });
    if let Some(replicas) = replicas {
        manifest["spec"]["replicas"] = replicas.into();
    }
    Version {
        commit: CommitInfo { id: CommitId(commit.into()), ..CommitInfo::default() },
        manifest: Arc::new(manifest),
        hash: hash(template),
        rest: format!("rest-{replicas:?}"),
        rest_as_written: String::new(),
        replicas,
        restart: None,
        start: 0,
        deletes_claims_when_scaled: false,
        allow_claim_deletion: false,
        adopt: false,
    }
}

/// A stage of a plan.
pub(crate) fn stage(name: &str, size: Size, soak: u32, pause: Pause) -> Stage {
    Stage { name: name.into(), size, min_ready_seconds: soak, pause }
}

/// A plan of written stages.
pub(crate) fn plan(stages: Vec<Stage>) -> Plan {
    Plan { schedule: Schedule::Stages(stages), ..Plan::default() }
}

/// One pod, then 3, then all; no waits.
pub(crate) fn three() -> Plan {
    plan(vec![
        stage("canary", Size::Pods(1), 0, Pause::None),
        stage("some", Size::Pods(3), 0, Pause::None),
        stage("all", Size::Percent(100), 0, Pause::None),
    ])
}

/// An owner of fields by server-side apply.
pub(crate) fn owner(manager: &str) -> FieldOwner {
    FieldOwner {
        manager: manager.into(),
        apply: manager == FieldOwner::DAEMON,
        subresource: String::new(),
        time: None,
        template: false,
        strategy: false,
        replicas: false,
        record: false,
    }
}

/// The facts of one case.
#[derive(Debug, Clone)]
pub(crate) struct Bench {
    pub(crate) desired: Desired,
    pub(crate) observed: Observed,
    pub(crate) record: Record,
    pub(crate) now: Timestamp,
}

impl Bench {
    /// Five pods at rest at template A of commit c1, plan [`three`].
    pub(crate) fn resting() -> Self {
        Self::resting_with(5, three())
    }

    /// That many pods at rest at template A of commit c1.
    pub(crate) fn resting_with(replicas: u32, plan: Plan) -> Self {
        let tip = version("c1", "A", Some(replicas));
        let record = Record {
            v: Record::VERSION,
            epoch: 7,
            rollout: "A-1".into(),
            target: seen("c1", "A"),
            src: None,
            mark: Default::default(),
            stable: Some(seen("c1", "A")),
            back: revision("A"),
            mode: Mode::Staged,
            plan: plan.clone(),
            digest: "plan-1".into(),
            stage: None,
            exposed: None,
            done: true,
            partition: PARKED,
            generation: 3,
            live: hash("A"),
            rest: tip.rest.clone(),
            began: T0 - 5000,
            at: T0 - 5000,
            promoted: false,
            hashes: 1,
            stated: String::new(),
            hold: None,
            accepted: false,
            was: None,
            failed: Vec::new(),
            proven: vec![hash("A")],
            req: None,
            replicas: Some(replicas),
        };
        let workload = WorkloadId::new("default", "web");
        let set = LiveSet {
            uid: "set-1".into(),
            resource_version: "100".into(),
            generation: 3,
            terminating: false,
            replicas,
            start: 0,
            min_ready_seconds: 0,
            parallel: false,
            strategy: "RollingUpdate".into(),
            partition: Some(PARKED),
            max_unavailable: None,
            deletes_claims_when_scaled: false,
            claim_templates: vec!["data".into()],
            template: hash("A"),
            restarted_at: String::new(),
            ready_replicas: 0,
            observed_generation: 3,
            current_revision: revision("A"),
            update_revision: revision("A"),
            record: RecordState::Absent,
            request: None,
            request_text: String::new(),
            owners: vec![FieldOwner {
                template: true,
                strategy: true,
                replicas: true,
                record: true,
                ..owner(FieldOwner::DAEMON)
            }],
        };
        let mut bench = Self {
            desired: Desired {
                workload: workload.clone(),
                tip,
                target: None,
                stable: None,
                plan,
                plan_digest: "plan-1".into(),
            },
            observed: Observed {
                workload,
                set: Some(set),
                pods: Pods::default(),
                stale_seconds: None,
                forbidden: None,
                pods_behind: false,
                sight: Default::default(),
                refused: None,
                progress: Progress::default(),
                pace: Pace::default(),
            },
            record,
            now: at(0),
        };
        for ordinal in 0..replicas {
            bench.pod(ordinal, "A");
        }
        bench
    }

    /// Template B of commit c2 under way over A with that many pods exposed, updated and Ready for 100 s.
    pub(crate) fn running(exposed: u32) -> Self {
        Self::running_with(5, three(), exposed)
    }

    /// The same with other replicas or another plan.
    pub(crate) fn running_with(replicas: u32, plan: Plan, exposed: u32) -> Self {
        let mut bench = Self::resting_with(replicas, plan);
        bench.desired.target = None;
        bench.tip("c2", "B");
        let partition = Partition(replicas - exposed);
        let groups = phaseline::rollout::stage::resolve(&bench.record.plan, replicas);
        bench.record.stage = groups.iter().find(|group| group.count == exposed).map(|group| group.first);
        bench.record.target = seen("c2", "B");
        bench.record.rollout = "B-6".into();
        bench.record.done = false;
        bench.record.partition = partition;
        bench.record.live = hash("B");
        (bench.record.began, bench.record.at) = (T0 - 1000, T0 - 200);
        let set = bench.set();
        set.partition = Some(partition);
        set.template = hash("B");
        set.update_revision = revision("B");
        if exposed == replicas {
            set.current_revision = revision("B");
        }
        for ordinal in replicas - exposed..replicas {
            bench.pod(ordinal, "B");
        }
        bench
    }

    /// The set.
    pub(crate) fn set(&mut self) -> &mut LiveSet {
        self.observed.set.as_mut().unwrap()
    }

    /// Puts a pod there that is Ready since 100 s ago (since long where it runs A).
    pub(crate) fn pod(&mut self, ordinal: u32, template: &str) -> &mut Pod {
        let since = at(if template == "A" { -9000 } else { -100 });
        let pod = Pod {
            ordinal: Ordinal(ordinal),
            uid: format!("pod-{ordinal}-{template}"),
            resource_version: format!("5{ordinal}"),
            owner: "set-1".into(),
            revision: revision(template),
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
        };
        self.observed.pods.insert(Ordinal(ordinal), pod);
        self.observed.pods.get_mut(&Ordinal(ordinal)).unwrap()
    }

    /// Puts a pod there that never became Ready, with a fault.
    pub(crate) fn broken(&mut self, ordinal: u32, template: &str, fault: &str) -> &mut Pod {
        let pod = self.pod(ordinal, template);
        pod.ready = false;
        pod.ready_since = Some(pod.created);
        if !fault.is_empty() {
            let fault = ContainerFault { container: "c".into(), reason: fault.into(), message: String::new() };
            pod.faults = vec![fault];
        }
        pod
    }

    /// Another template at the tip; the commit in force stays known.
    pub(crate) fn tip(&mut self, commit: &str, template: &str) -> &mut Version {
        let new = version(commit, template, self.desired.tip.replicas);
        let before = std::mem::replace(&mut self.desired.tip, new);
        self.desired.tip.rest.clone_from(&before.rest);
        self.desired.target = Some(before);
        &mut self.desired.tip
    }

    /// Other replicas at the tip.
    pub(crate) fn scale_commit(&mut self, replicas: Option<u32>) -> &mut Self {
        let tip = &self.desired.tip;
        self.desired.tip.manifest = version(&tip.commit.id.0, &tip.hash.0, replicas).manifest;
        self.desired.tip.replicas = replicas;
        self.desired.tip.rest = format!("rest-{replicas:?}");
        self
    }

    /// Somebody scales the live set; the manifest leaves replicas out.
    pub(crate) fn autoscale(&mut self, replicas: u32) -> &mut Self {
        self.scale_commit(None);
        self.record.rest.clone_from(&self.desired.tip.rest);
        let set = self.set();
        set.replicas = replicas;
        set.generation += 1;
        set.observed_generation += 1;
        set.owners[0].replicas = false;
        self
    }

    /// The target has failed, and it is recorded.
    pub(crate) fn failed(&mut self) -> &mut Self {
        self.record.failed.push(Failed {
            commit: self.record.target.commit.clone(),
            hash: self.record.target.hash.clone(),
            reason: "ProgressDeadlineExceeded".into(),
            culprit: "web-4: ImagePullBackOff".into(),
        });
        self
    }

    /// A person's request.
    pub(crate) fn ask(&mut self, verb: Verb) -> &mut Self {
        let request = Request { id: "r1".into(), verb, by: "ann".into(), rollout: String::new(), stage: None };
        self.set().request_text = serde_json::to_string(&request).unwrap();
        self.set().request = Some(Ok(request));
        self
    }

    /// Decides.
    pub(crate) fn decide(&mut self) -> Decision {
        let (record, now) = (self.record.clone(), self.now);
        self.put_record();
        let decision = decide(&Wanted::Is(&self.desired, None), &self.observed, now);
        check(&decision);
        let written = decision.actions.iter().find_map(|action| match action {
            Action::Patch { record, .. } | Action::Apply { record, base: Some(_), .. } => Some(record.epoch),
            _ => None,
        });
        let expected = record.epoch.saturating_add(1);
        assert!(written.is_none_or(|epoch| epoch == expected), "epoch {written:?}, not {expected}: {decision:?}");
        decision
    }

    /// Decides about a set whose manifest is gone from Git.
    pub(crate) fn decide_orphaned(&mut self) -> Decision {
        self.put_record();
        let decision = decide(&Wanted::Absent, &self.observed, self.now);
        check(&decision);
        decision
    }

    /// Writes the record on the set, where there is none.
    fn put_record(&mut self) {
        if let Some(set) = &mut self.observed.set
            && set.record == RecordState::Absent
        {
            set.record = RecordState::Is(Box::new(self.record.clone()), self.record.encode());
        }
    }

    /// Somebody scales the live set, and new pods are not there yet.
    pub(crate) fn scaled(&mut self, replicas: u32) -> &mut Self {
        let set = self.set();
        set.replicas = replicas;
        set.generation += 1;
        set.observed_generation += 1;
        self
    }

    /// Decides about a set without a record.
    pub(crate) fn decide_without_record(&self) -> Decision {
        let decision = decide(&Wanted::Is(&self.desired, None), &self.observed, self.now);
        check(&decision);
        decision
    }

    /// The decision in one line.
    pub(crate) fn line(&mut self) -> String {
        line(&self.decide())
    }
}

/// What holds for every decision.
pub(crate) fn check(decision: &Decision) {
    let writes = decision.actions.iter().filter(|action| !matches!(action, Action::DeletePod { .. })).count();
    assert!(writes <= 1, "more than one write: {decision:?}");
    assert!(decision.actions.len() <= 1, "more than one action: {decision:?}");
    if decision.actions.is_empty() {
        let rests = decision.phase == phaseline::model::Phase::Healthy;
        assert!(rests || decision.waiting_on.is_some(), "waits for nothing: {decision:?}");
        assert!(!rests || decision.waiting_on.is_none(), "healthy and waits: {decision:?}");
    }
}

/// A partition, short.
fn short(partition: Partition) -> String {
    if partition == PARKED { "parked".into() } else { partition.to_string() }
}

/// An action in a few words.
pub(crate) fn action_words(action: &Action) -> String {
    let mut words = String::new();
    let tail = |words: &mut String, record: &Record| {
        if let Some(stage) = record.stage {
            write!(words, " stage={stage}").unwrap();
        }
        if let Some(exposed) = record.exposed {
            write!(words, " exposed={exposed}").unwrap();
        }
        if record.mode != Mode::Staged {
            write!(words, " {:?}", record.mode).unwrap();
        }
        if record.done {
            words.push_str(" done");
        }
        if record.promoted {
            words.push_str(" promoted");
        }
        if let Some(hold) = &record.hold {
            write!(words, " held by {}", hold.by).unwrap();
        }
        if let Some(answer) = &record.req {
            words.push_str(if answer.refused.is_empty() { " answered" } else { " refused" });
        }
    };
    match action {
        Action::Apply { kind, manifest, partition, record, .. } => {
            let template = manifest.pointer("/spec/template/id").and_then(|id| id.as_str()).unwrap_or("?");
            let partition = short(*partition);
            write!(words, "{kind:?} {template} of {} p={partition}", record.target.hash.0).unwrap();
            if let Some(replicas) = manifest.pointer("/spec/replicas") {
                write!(words, " replicas={replicas}").unwrap();
            }
            tail(&mut words, record);
        }
        Action::HandOverReplicas { replicas, .. } => write!(words, "HandOver {replicas}").unwrap(),
        Action::Patch { partition: Some(partition), record, .. } => {
            write!(words, "Patch p={}", short(*partition)).unwrap();
            tail(&mut words, record);
        }
        Action::Patch { partition: None, record, .. } => {
            words.push_str("Note");
            tail(&mut words, record);
        }
        Action::HoldBack { partition, .. } => write!(words, "HoldBack p={}", short(*partition)).unwrap(),
        Action::DeletePod { ordinal, .. } => write!(words, "DeletePod {ordinal}").unwrap(),
        Action::Adopt { record, .. } => write!(words, "Adopt {}", record.target.hash.0).unwrap(),
        Action::Release { partition, .. } => write!(words, "Release p={:?}", partition.map(short)).unwrap(),
        Action::DropRequest { .. } => words.push_str("DropRequest"),
    }
    words
}

/// What is waited for, in a few words.
pub(crate) fn waiting_words(waiting: Option<&WaitingOn>) -> String {
    match waiting {
        None => "-".into(),
        Some(WaitingOn::ObservedGeneration { generation }) => format!("ObservedGeneration {generation}"),
        Some(WaitingOn::PodCreated { ordinal }) => format!("PodCreated {ordinal}"),
        Some(WaitingOn::PodUpdated { ordinal, revision }) => format!("PodUpdated {ordinal} {revision}"),
        Some(WaitingOn::PodGone { ordinal }) => format!("PodGone {ordinal}"),
        Some(WaitingOn::PodReady { ordinal, why }) => format!("PodReady {ordinal} {why}").trim_end().into(),
        Some(WaitingOn::PodAvailable { ordinal, at }) => {
            format!("PodAvailable {ordinal} at {:+}", at.as_second() - T0)
        }
        Some(WaitingOn::PodCount { have, need }) => format!("PodCount {have}/{need}"),
        Some(WaitingOn::Pause { until }) => format!("Pause {:+}", until.as_second() - T0),
        Some(other) => format!("{other:?}"),
    }
}

/// A decision in one line: actions | phase reason | waiting.
pub(crate) fn line(decision: &Decision) -> String {
    let actions = match decision.actions.as_slice() {
        [] => "-".into(),
        actions => actions.iter().map(action_words).collect::<Vec<_>>().join(" + "),
    };
    let waiting = waiting_words(decision.waiting_on.as_ref());
    format!("{actions} | {} {} | {waiting}", decision.phase, decision.reason)
}

/// One row of a table: a name, how the facts are bent, and the line expected.
pub(crate) type Row = (&'static str, fn() -> Bench, &'static str);

/// Runs a table and shows every row that differs.
pub(crate) fn run(rows: &[Row]) {
    let mut wrong = String::new();
    for (name, make, expected) in rows {
        let got = make().line();
        if got != *expected {
            write!(wrong, "\n{name}\n  expected {expected}\n  got      {got}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A bench bent by a closure.
pub(crate) fn bent(mut bench: Bench, bend: impl FnOnce(&mut Bench)) -> Bench {
    bend(&mut bench);
    bench
}

impl Bench {
    /// A pod that is there.
    pub(crate) fn pod_mut(&mut self, ordinal: u32) -> &mut Pod {
        self.observed.pods.get_mut(&Ordinal(ordinal)).unwrap()
    }
}
