//! Plays cases on the embedded cluster, in this process: in virtual time, or in real time where `kubectl` takes part.

use std::path::Path;

use jiff::Timestamp;
use phaseline::{
    clock::Clock,
    cluster::Cluster,
    sim::{Compat, Settings, Version, World, serve::Embedded},
};

use super::{
    kubectl::Kubectl,
    level::Level,
    memory::Memory,
    normal::normalized,
    play::{Stage, play},
    runner::needs_kubectl,
    script::Case,
    trace::Trace,
};

/// How it behaves.
fn compat(level: Level) -> Compat {
    match level {
        Level::V1_36 => Compat::of(Version::V1_36),
        Level::V1_33 => Compat::of(Version::V1_33),
        Level::V1_36Max => Compat { max_unavailable: true, ..Compat::of(Version::V1_36) },
    }
}

/// Plays a case on a new cluster of this level.
pub(super) fn once(case: &Case, level: Level, kubectl: Option<&Path>) -> Result<Trace, String> {
    let real = needs_kubectl(case);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(!real).build().map_err(|it| it.to_string())?;
    runtime.block_on(async {
        let start =
            if real { Timestamp::now() } else { Timestamp::from_second(1_800_000_000).map_err(|it| it.to_string())? };
        let world = World::new(&Settings { compat: compat(level), seed: 1, start, ..Settings::default() });
        let embedded = Embedded::start(world, if real { Clock::Real } else { Clock::starting(start) });
        let client = Cluster::from_service(embedded.service("admin")).client;
        let kubectl = kubectl.map(|it| Kubectl::new(it, client.clone()));
        let memory = Memory::Embedded(embedded);
        play(case, &Stage { client, kubectl, memory }, "conf-n00001").await.map(|raw| normalized(&raw))
    })
}
