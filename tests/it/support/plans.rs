//! Plans by chance: what the worlds of the whole product are played with.

use phaseline::model::{OnNewRevision, Pause, Plan, Ramp, RepairPolicy, Schedule, Size, Stage};

/// A plan with stages, by count, share and partition, or a ramp.
pub(crate) fn any(rng: &mut fastrand::Rng) -> Plan {
    let schedule = match rng.u32(0..9) {
        0 => Plan::default().schedule,
        1 => {
            let ramp = match rng.u32(0..3) {
                0 => Ramp::Linear(rng.u32(1..3)),
                1 => Ramp::Geometric(rng.u32(1..3)),
                _ => Ramp::Exponential(2),
            };
            Schedule::Ramp { ramp, min_ready_seconds: soak(rng), pause: pause(rng) }
        }
        _ => Schedule::Stages(stages(rng)),
    };
    Plan {
        schedule,
        progress_deadline_seconds: rng.u32(20..60),
        on_new_revision: match rng.u32(0..6) {
            0 => OnNewRevision::Restart,
            1 => OnNewRevision::Queue,
            2 => OnNewRevision::Block,
            _ => OnNewRevision::Continue,
        },
        rollback_window: rng.u32(0..4),
        repair_policy: if rng.u32(0..8) == 0 { RepairPolicy::None } else { RepairPolicy::Delete },
        ..Plan::default()
    }
}

/// Stages of every kind beside each other; each reaches further than the ones of its own kind before it.
fn stages(rng: &mut fastrand::Rng) -> Vec<Stage> {
    let stage = |size, rng: &mut fastrand::Rng| {
        let (min_ready_seconds, pause) = (soak(rng), pause(rng));
        Stage { name: String::new(), size, min_ready_seconds, pause }
    };
    let (mut pods, mut percent, mut partition) = (0, 0, 5);
    let mut stages = Vec::new();
    for _ in 0..rng.u32(1..4) {
        let size = match rng.u32(0..4) {
            0 | 1 => {
                pods += rng.u32(1..3);
                Size::Pods(pods)
            }
            2 => {
                percent += rng.u32(1..30);
                Size::Percent(percent)
            }
            _ => {
                partition -= 1;
                Size::Partition(partition)
            }
        };
        stages.push(stage(size, rng));
    }
    stages.push(stage(Size::Percent(100), rng));
    stages
}

fn pause(rng: &mut fastrand::Rng) -> Pause {
    match rng.u32(0..5) {
        0 => Pause::UntilPromoted,
        1 => Pause::Seconds(rng.u32(1..20)),
        _ => Pause::None,
    }
}

fn soak(rng: &mut fastrand::Rng) -> u32 {
    if rng.u32(0..3) == 0 { rng.u32(1..8) } else { 0 }
}
