//! Gate latency: from the watch event that tells of a Ready pod to the PATCH that lowers the partition.
//!
//! Both ends are taken on one monotonic clock inside an API server in this process; there is no cluster and no
//! socket. The daemon is the real one, on a real Git repository. Beside it, batch by batch in turn, runs a floor: a
//! bare loop over the same server and the same client that answers the same event with the same PATCH.
//!
//! Nothing is asserted about time. The run fails where behaviour is wrong: a missing, unguarded or surplus PATCH, a
//! read after the start, a write while nothing happens.
//!
//! `cargo bench --bench gate_latency -- [--quick] [--sizes 10,1000] [--replicas 10] [--pairs 9] [--gates 81]
//! [--threads 0] [--json FILE]`. With `--threads 0` everything runs on one thread.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tower::BoxError;

use drive::{Bench, DAEMON, FLOOR};

mod drive;
mod floor;
mod objects;
mod repository;
mod service;
mod world;

/// The pause between two events of pods that no gate waits for: a thousand a second.
const LOAD: Duration = Duration::from_millis(1);

struct Options {
    sizes: Vec<usize>,
    replicas: usize,
    pairs: usize,
    gates: usize,
    threads: usize,
    json: Option<String>,
}

fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1)).and_then(|options| report(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nobody to tell that nobody can be told.
            let _closed = writeln!(std::io::stderr(), "gate_latency: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self, BoxError> {
        let mut options = Self { sizes: vec![10, 1_000], replicas: 10, pairs: 9, gates: 81, threads: 0, json: None };
        let mut arguments = arguments.peekable();
        // `cargo test --benches` gives none: then it is enough that it works.
        let mut quick = arguments.peek().is_none();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => {}
                "--quick" => quick = true,
                "--sizes" => options.sizes = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
                "--replicas" => options.replicas = value()?.parse::<usize>()?.max(2),
                "--pairs" => options.pairs = value()?.parse::<usize>()?.max(1),
                "--gates" => options.gates = value()?.parse::<usize>()?.max(1),
                "--threads" => options.threads = value()?.parse()?,
                "--json" => options.json = Some(value()?),
                other => return Err(format!("unknown argument {other}").into()),
            }
        }
        if quick {
            (options.sizes, options.pairs, options.gates) = (vec![10, 200], 3, 27);
        }
        Ok(options)
    }

    fn runtime(&self) -> std::io::Result<tokio::runtime::Runtime> {
        match self.threads {
            0 => tokio::runtime::Builder::new_current_thread().enable_all().build(),
            threads => tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
        }
    }
}

/// One kind of measurement of one size: samples by pair, daemon and floor.
#[derive(Default)]
struct Samples(Vec<Pair>);

/// A batch of the daemon's and one of the floor's.
type Pair = (Vec<Duration>, Vec<Duration>);

impl Samples {
    fn all(&self, of: fn(&Pair) -> &Vec<Duration>) -> Vec<Duration> {
        let mut all: Vec<_> = self.0.iter().flat_map(of).copied().collect();
        all.sort();
        all
    }

    fn daemon(&self) -> Vec<Duration> {
        self.all(|pair| &pair.0)
    }

    fn floor(&self) -> Vec<Duration> {
        self.all(|pair| &pair.1)
    }

    /// The ratios of the pairs' medians, sorted.
    fn ratios(&self) -> Vec<f64> {
        let median = |samples: &[Duration]| {
            let mut samples = samples.to_vec();
            samples.sort();
            at(&samples, 0.5).as_secs_f64()
        };
        let mut ratios: Vec<f64> = self.0.iter().map(|(daemon, floor)| median(daemon) / median(floor)).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    fn json(&self) -> Value {
        let nanos = |samples: &[Duration]| samples.iter().map(Duration::as_nanos).map(|n| n as u64).collect::<Vec<_>>();
        self.0.iter().map(|(daemon, floor)| json!({"daemon_ns": nanos(daemon), "floor_ns": nanos(floor)})).collect()
    }
}

/// The sample at a share of the sorted ones.
fn at(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// What came of one size.
struct Sized {
    sets: usize,
    quiet: Samples,
    busy: Samples,
    burst: Samples,
    bytes: Value,
}

fn report(options: &Options) -> Result<(), BoxError> {
    // As the daemon runs: every line is put into words, and written nowhere.
    tracing_subscriber::fmt().with_writer(std::io::sink).with_max_level(tracing::Level::INFO).init();
    let mut results = Vec::new();
    for sets in &options.sizes {
        results.push(options.runtime()?.block_on(size(options, *sets))?);
    }
    let text = table(options, &results)?;
    std::io::stdout().write_all(text.as_bytes())?;
    if let Some(file) = &options.json {
        std::fs::write(file, raw(options, &results).to_string())?;
    }
    Ok(())
}

async fn size(options: &Options, sets: usize) -> Result<Sized, BoxError> {
    let folder = tempfile::tempdir()?;
    let mut bench = Bench::start(folder.path(), sets, options.replicas).await?;
    let (mut quiet, mut busy, mut burst) = <(Samples, Samples, Samples)>::default();
    for _ in 0..options.pairs {
        let daemon = bench.batch(DAEMON, options.gates).await?;
        quiet.0.push((daemon, bench.batch(FLOOR, options.gates).await?));
    }
    for _ in 0..options.pairs {
        let daemon = bench.batch_under_load(DAEMON, options.gates, LOAD).await?;
        busy.0.push((daemon, bench.batch_under_load(FLOOR, options.gates, LOAD).await?));
    }
    for _ in 0..options.pairs {
        let daemon = vec![bench.burst(DAEMON).await?];
        burst.0.push((daemon, vec![bench.burst(FLOOR).await?]));
    }
    let (pod, set) = bench.payload();
    let bytes =
        json!({"pod": pod, "set": set, "patch": bench.patch_bytes[DAEMON], "floor_patch": bench.patch_bytes[FLOOR]});
    bench.finish().await?;
    Ok(Sized { sets, quiet, busy, burst, bytes })
}

fn table(options: &Options, results: &[Sized]) -> Result<String, BoxError> {
    let mut text = String::new();
    let Options { replicas, pairs, gates, .. } = options;
    let runtime = if options.threads == 0 { "one thread".into() } else { format!("{} workers", options.threads) };
    writeln!(
        text,
        "gate latency: pod Ready event -> partition PATCH; µs, {runtime}, {replicas} replicas, {pairs} pairs of {gates} gates"
    )?;
    writeln!(
        text,
        "{:>6} {:>10} {:>17} {:>17} {:>24}",
        "sets", "load", "daemon p50/p99", "floor p50/p99", "ratio of medians"
    )?;
    for result in results {
        for (load, samples) in [("none", &result.quiet), ("1000/s", &result.busy), ("per event", &result.burst)] {
            let (daemon, floor, ratios) = (samples.daemon(), samples.floor(), samples.ratios());
            let of = |samples: &[Duration]| format!("{:.1}/{:.1}", micros(at(samples, 0.5)), micros(at(samples, 0.99)));
            let ends = (ratios.first().copied().unwrap_or_default(), ratios.last().copied().unwrap_or_default());
            let ratio = ratios.get(ratios.len() / 2).copied().unwrap_or_default();
            let ratio = format!("{ratio:.2} ({:.2}-{:.2})", ends.0, ends.1);
            writeln!(text, "{:>6} {load:>10} {:>17} {:>17} {ratio:>24}", result.sets, of(&daemon), of(&floor))?;
        }
    }
    if let [first, .., last] = results {
        let p50 = |samples: Vec<Duration>| at(&samples, 0.5).as_secs_f64();
        let growth = (last.sets as f64 / first.sets as f64).ln();
        let exponent = |of: fn(&Samples) -> Vec<Duration>| (p50(of(&last.quiet)) / p50(of(&first.quiet))).ln() / growth;
        let (daemon, floor) = (exponent(Samples::daemon), exponent(Samples::floor));
        writeln!(text, "exponent of p50 in sets: daemon {daemon:.3}, floor {floor:.3}")?;
    }
    if let Some(result) = results.first() {
        writeln!(text, "bytes: {}; versions: {}", result.bytes, versions())?;
    }
    Ok(text)
}

/// The versions that matter, from the lock file.
fn versions() -> Value {
    let packages = include_str!("../../Cargo.lock").split("[[package]]");
    let field = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim_matches('"').to_owned())
    };
    packages
        .filter_map(|package| Some((field(package, "name = ")?, field(package, "version = ")?)))
        .filter(|(name, _)| ["phaseline", "kube", "tokio", "serde_json", "jiff"].contains(&name.as_str()))
        .map(|(name, version)| (name, Value::from(version)))
        .collect()
}

fn raw(options: &Options, results: &[Sized]) -> Value {
    let results = results.iter().map(|result| {
        json!({
            "sets": result.sets, "bytes": result.bytes, "none": result.quiet.json(), "load": result.busy.json(), "per_event": result.burst.json(),
        })
    });
    json!({
        "benchmark": "gate_latency", "replicas": options.replicas, "threads": options.threads, "gates": options.gates,
        "versions": versions(), "sizes": results.collect::<Vec<_>>(),
    })
}
