//! Plans that are good, and every way in which one is not.

/// The plan of the documentation.
pub(in crate::manifest) const EXAMPLE: &str = r#"apiVersion: phaseline.dev/v1alpha1
kind: RolloutPlan
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps/v1, kind: StatefulSet, name: web}
  progressDeadlineSeconds: 600      # per stage; stops while paused or outside a window
  onFailure: Halt
  onNewRevision: Continue           # Continue | Restart | Queue | Block: a new commit while a rollout runs
  rollbackWindow: {revisions: 3}    # a revert to one of the last 3 proven revisions skips pauses and gates
  repairPolicy: Delete              # the default; None | Evict | Delete: what to do with a pod that a newer decision left broken (kubernetes#67250)
  failureThreshold: 0               # Parallel only: pods that may be unready without failing a stage, number or percent
  stages:
    - name: canary
      replicas: 1                   # cumulative: number or "25%" (rounded up), or partition: N for experts
      pause: {}                     # until promoted; {duration: 10m}, or a number of seconds
    - name: third
      replicas: "34%"
      minReadySeconds: 60           # how long every updated pod must have been Ready before the stage is done
      pause: {duration: 10m}
    - name: rest
      replicas: "100%"
"#;
