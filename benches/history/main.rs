//! History: how long it takes to index a deploy repository and to answer from the index, beside `git log` on the same one.
//!
//! Every measurement is the wall time of a process of its own, `git`'s as well as ours (this program starts itself), on the
//! same bare mirror. They take turns; medians are printed, with the smallest and the largest.
//!
//! Nothing is asserted about time. The run fails where an answer is wrong: a number of commits, or of revisions, that `git log`
//! contradicts.
//!
//! `cargo bench --bench history -- [--quick] [--commits 20000] [--sets 500] [--rounds 7] [--json FILE]`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use phaseline::daemon::{Scope, Source};
use phaseline::git::{Goal, Index, MAX_COMMITS, Mirror, Reader, SourceConfig};
use phaseline::model::WorkloadId;
use phaseline::revision::reading::Reading;
use serde_json::{Value, json};
use tower::BoxError;

use repository::{Repository, git, name};

mod repository;

/// The set whose history is asked for: one that changes as often as most.
const ASKED: usize = 1;

struct Options {
    commits: usize,
    sets: usize,
    rounds: usize,
    json: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("--answer") => answer(&arguments[1..]),
        _ => Options::read(arguments.into_iter()).and_then(|options| report(&options)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nobody to tell that nobody can be told.
            let _closed = writeln!(std::io::stderr(), "history: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self, BoxError> {
        let mut options = Self { commits: 20_000, sets: 500, rounds: 7, json: None };
        let mut arguments = arguments.peekable();
        // `cargo test --benches` gives none: then it is enough that it works.
        let mut quick = arguments.peek().is_none();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--quick" => quick = true,
                "--commits" => options.commits = value()?.parse()?,
                "--sets" => options.sets = value()?.parse()?,
                "--rounds" => options.rounds = value()?.parse()?,
                "--json" => options.json = Some(value()?),
                "--bench" => {}
                other => return Err(format!("unknown option {other}").into()),
            }
        }
        if quick {
            (options.commits, options.sets, options.rounds) = (2_000, 50, 3);
        }
        if options.commits < 100 || options.sets <= ASKED || options.rounds == 0 {
            return Err("at least 100 commits, 2 sets and a round".into());
        }
        Ok(options)
    }
}

/// One question, in a process of its own: prints what came of it and the most memory it took.
fn answer(arguments: &[String]) -> Result<(), BoxError> {
    let [question, origin, state] = arguments else { return Err("--answer QUESTION ORIGIN STATE".into()) };
    let config = SourceConfig { url: origin.clone(), state_dir: state.into(), ..SourceConfig::default() };
    let asked = WorkloadId::new(format!("team-{}", ASKED % 20 / 2), name(ASKED));
    let open = || Source::open(&config, Scope { default_namespace: "default".into(), only: Vec::new() });
    let count = match question.as_str() {
        "fetch" => {
            open()?.refresh()?;
            0
        }
        "one" => open()?.history(&asked)?.len(),
        "tip" => open()?.view()?.wishes.len(),
        "index" | "all" => {
            let mirror = Mirror::open(&config)?;
            let reader = Reader { version: "bench".into(), namespace: "default".into(), read: Reading::of };
            let mut index = Index::open(&mirror, reader);
            let tip = mirror.last_good().ok_or("nothing was fetched")?;
            let count = if question == "index" {
                index.changing(&mirror, &tip, MAX_COMMITS)?.len()
            } else {
                index
                    .histories(&mirror, &tip, Goal::Everything, None, MAX_COMMITS)?
                    .found
                    .entries
                    .values()
                    .map(Vec::len)
                    .sum()
            };
            index.save(&mirror)?;
            count
        }
        other => return Err(format!("no question {other}").into()),
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB").trim();
    writeln!(std::io::stdout(), "{count} {peak}")?;
    Ok(())
}

/// What was measured, by name: milliseconds, and kilobytes of memory where they are known.
#[derive(Default)]
struct Samples {
    times: BTreeMap<&'static str, Vec<f64>>,
    peaks: BTreeMap<&'static str, u64>,
}

struct Site<'a> {
    origin: &'a str,
    state: &'a str,
    mirror: &'a Path,
    samples: Samples,
}

impl Site<'_> {
    /// Asks one question; gives the number that came of it.
    fn ask(&mut self, what: &'static str, question: &str) -> Result<usize, BoxError> {
        let program = std::env::current_exe()?;
        let started = Instant::now();
        let output = Command::new(program)
            .args(["--answer", question, self.origin, self.state])
            .stderr(Stdio::inherit())
            .output()?;
        let time = started.elapsed().as_secs_f64() * 1e3;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.split_ascii_whitespace();
        let (Some(count), Some(peak)) = (words.next(), words.next()) else {
            return Err(format!("{what}: no answer").into());
        };
        self.samples.times.entry(what).or_default().push(time);
        let most = self.samples.peaks.entry(what).or_default();
        *most = peak.parse::<u64>()?.max(*most);
        Ok(count.parse()?)
    }

    fn log(&mut self, what: &'static str, options: &[&str]) -> Result<Vec<u8>, BoxError> {
        let folder = self.mirror.to_string_lossy();
        let mut args = vec!["--git-dir", &folder, "log", "--format=%H"];
        args.extend(options);
        args.push("refs/phaseline-tip");
        let path = repository::path(ASKED);
        if what.ends_with("its file") {
            args.extend(["--", &path]);
        }
        let started = Instant::now();
        let told = git(&args, &[])?;
        self.samples.times.entry(what).or_default().push(started.elapsed().as_secs_f64() * 1e3);
        Ok(told)
    }

    /// Without anything that was kept.
    fn forget(&self) -> Result<(), BoxError> {
        for name in ["phaseline-history", "phaseline-readings"] {
            match fs::remove_file(self.mirror.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn report(options: &Options) -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let (origin, state) = (folder.path().join("deploy.git"), folder.path().join("state"));
    let mut repository = Repository::new(&origin, options.sets)?;
    repository.grow(options.commits)?;
    let (origin, state) = (origin.to_string_lossy().into_owned(), state.to_string_lossy().into_owned());
    let config = SourceConfig { url: origin.clone(), state_dir: state.clone().into(), ..SourceConfig::default() };
    let mirror = Mirror::open(&config)?.folder().to_owned();
    let mut site = Site { origin: &origin, state: &state, mirror: &mirror, samples: Samples::default() };
    site.ask("first fetch", "fetch")?;
    for round in 0..options.rounds {
        let whole = site.log("git log --name-only", &["--name-only"])?;
        site.forget()?;
        let changing = site.ask("index, cold", "index")?;
        let line = site.log("git log --first-parent --name-only", &["--first-parent", "--name-only"])?;
        site.forget()?;
        let one = site.ask("history of one, cold", "one")?;
        site.ask("history of one, kept", "one")?;
        let told = site.log("git log --first-parent -- its file", &["--first-parent"])?;
        site.forget()?;
        let tip = site.ask("what the tip wants, cold", "tip")?;
        site.forget()?;
        site.ask("history of all, cold", "all")?;
        site.ask("index, nothing new", "index")?;
        if ids(&whole) != options.commits + 101 * round || tip != options.sets {
            return Err(format!("{} commits and {tip} sets are not what was made", ids(&whole)).into());
        }
        if changing != ids(&line) {
            return Err(format!("{changing} commits change a manifest, git log says {}", ids(&line)).into());
        }
        if one != ids(&told) {
            return Err(format!("{one} revisions of one set, git log says {}", ids(&told)).into());
        }
        for (what, new) in [("index, 1 new commit", 1), ("index, 100 new commits", 100)] {
            repository.grow(new)?;
            site.ask("fetch of new commits", "fetch")?;
            site.ask(what, "index")?;
        }
    }
    print(options, &site.samples)
}

/// How many commits `git log` told of.
fn ids(told: &[u8]) -> usize {
    let is_id = |line: &&[u8]| line.len() == 40 && line.iter().all(u8::is_ascii_hexdigit);
    told.split(|byte| *byte == b'\n').filter(is_id).count()
}

fn print(options: &Options, samples: &Samples) -> Result<(), BoxError> {
    let mut out = std::io::stdout();
    let sorted = |what: &str| {
        let mut times = samples.times.get(what).cloned().unwrap_or_default();
        times.sort_by(f64::total_cmp);
        times
    };
    let median = |what: &str| sorted(what).get(sorted(what).len() / 2).copied().unwrap_or(f64::NAN);
    writeln!(
        out,
        "{} commits, {} sets, {} rounds; wall milliseconds of a process",
        options.commits, options.sets, options.rounds
    )?;
    writeln!(out, "{:36} {:>9} {:>9} {:>9} {:>9}", "", "median", "least", "most", "peak MB")?;
    let mut table = serde_json::Map::new();
    for what in samples.times.keys() {
        let times = sorted(what);
        let (least, most) = (times.first().copied().unwrap_or(f64::NAN), times.last().copied().unwrap_or(f64::NAN));
        let peak = samples.peaks.get(what).map(|peak| format!("{:.0}", *peak as f64 / 1024.0)).unwrap_or_default();
        writeln!(out, "{what:36} {:9.0} {least:9.0} {most:9.0} {peak:>9}", median(what))?;
        table.insert(
            (*what).to_owned(),
            json!({"milliseconds": samples.times[what], "peakKiB": samples.peaks.get(what)}),
        );
    }
    for (ours, theirs) in [
        ("index, cold", "git log --name-only"),
        ("index, cold", "git log --first-parent --name-only"),
        ("history of one, cold", "git log --name-only"),
        ("history of one, kept", "git log --first-parent -- its file"),
        ("history of all, cold", "git log --name-only"),
    ] {
        let pairs = samples.times[ours].iter().zip(&samples.times[theirs]).map(|(ours, theirs)| ours / theirs);
        let mut ratios: Vec<f64> = pairs.collect();
        ratios.sort_by(f64::total_cmp);
        let (least, most) = (ratios.first().copied().unwrap_or(f64::NAN), ratios.last().copied().unwrap_or(f64::NAN));
        writeln!(out, "ratio {ours} / {theirs}: {:.2} ({least:.2} to {most:.2})", median(ours) / median(theirs))?;
    }
    if let Some(file) = &options.json {
        let report: Value =
            json!({"commits": options.commits, "sets": options.sets, "rounds": options.rounds, "samples": table});
        fs::write(file, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(())
}
