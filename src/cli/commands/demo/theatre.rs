//! Where the story plays: a temporary folder, a cluster, a daemon, and somebody who says what happens.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use jiff::{SignedDuration, Timestamp};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::DemoArgs;
use super::{git, pods};
use crate::cli::args::Cli;
use crate::cli::commands;
use crate::cli::commands::simulate::timeline::{Heard, Listening};
use crate::cli::context::Context;
use crate::cli::embedded::Served;
use crate::cli::error::{CliError, Kind};
use crate::cli::output::simulation_text::time;
use crate::cli::session::Inside;
use crate::cli::temporary::Temporary;
use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::daemon::{self, Listener, RunOptions, Scope, Source};
use crate::git::{SourceConfig, Waker, Wakes};
use crate::model::{Phase, WorkloadId};
use crate::sim::serve::Embedded;
use crate::sim::{Pace, Settings, World};

/// The namespace that it plays in.
pub(super) const NAMESPACE: &str = "default";
/// The set that it is about.
pub(super) const SET: &str = "web";
/// Whom the cluster takes the daemon for.
const DAEMON: &str = "system:serviceaccount:phaseline:phaseline";
/// How fast pods are: as fast as one likes to watch.
const PACE: Pace = Pace { start: SignedDuration::from_millis(1500), stop: SignedDuration::from_millis(500) };
/// When it plays where no real time passes: a Monday morning.
const MONDAY: &str = "2026-01-05T09:00:00Z";
/// How often it is looked whether something happened.
const LOOK: Duration = Duration::from_millis(100);
/// Longer than that nothing takes, or the demo is broken.
const LONGEST: Duration = Duration::from_secs(120);
/// How often the daemon asks the repository, which wakes it anyway.
const INTERVAL: Duration = Duration::from_secs(30);

/// The place, and everything that lives in it.
pub(super) struct Theatre<'a, 'b> {
    context: &'a mut Context<'b>,
    runtime: Arc<Runtime>,
    folder: Temporary,
    embedded: Embedded,
    clock: Clock,
    listening: Listening,
    inside: Inside,
    waker: Waker,
    stop: (Signal, Signal),
    daemon: Option<JoinHandle<daemon::Ended>>,
    config: SourceConfig,
    fast: bool,
    color: bool,
    wakes: Option<Wakes>,
    /// How much of what was heard was said.
    told: usize,
    /// Whether the last line was an empty one.
    spaced: bool,
}

impl<'a, 'b> Theatre<'a, 'b> {
    /// Makes the place, with nothing in it yet.
    ///
    /// The runtime's time is the demo's: it has to be entered.
    pub(super) fn open(
        args: &DemoArgs,
        runtime: &Arc<Runtime>,
        context: &'a mut Context<'b>,
    ) -> Result<Self, CliError> {
        let failed = |what: &str, error: std::io::Error| CliError::new(Kind::Io, format!("cannot {what}: {error}"));
        let folder = Temporary::new().map_err(|error| failed("make a temporary folder", error))?;
        fastrand::seed(args.seed);
        let clock = match args.fast {
            true => Clock::starting(MONDAY.parse().unwrap_or(Timestamp::UNIX_EPOCH)),
            false => Clock::Real,
        };
        let settings = Settings { seed: args.seed, start: clock.now(), pace: PACE, ..Settings::default() };
        let embedded = Embedded::start(World::new(&settings), clock);
        let listening = Listening::to(&embedded);
        let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        let stop = match signals {
            (Ok(interrupt), Ok(terminate)) => (interrupt, terminate),
            (Err(error), _) | (_, Err(error)) => return Err(failed("take signals", error)),
        };
        let config = SourceConfig {
            url: folder.path().join("deploy.git").to_string_lossy().into_owned(),
            state_dir: folder.path().join("state"),
            ..SourceConfig::default()
        };
        // Whoever pushes in virtual time wakes by hand: the machine's own way takes time that does not pass.
        let wakes = Wakes::by_hand();
        let cluster = Cluster::from_service(embedded.service("person"));
        let inside = Inside { runtime: runtime.clone(), cluster, clock };
        let color = context.color;
        Ok(Self {
            context,
            embedded,
            clock,
            listening,
            inside,
            waker: wakes.waker(),
            stop,
            daemon: None,
            config,
            fast: args.fast,
            color,
            wakes: Some(wakes),
            told: 0,
            spaced: false,
            folder,
            runtime: runtime.clone(),
        })
    }

    /// Ends everything and removes the folder.
    pub(super) fn close(mut self) -> Result<(), CliError> {
        if let Some(daemon) = self.daemon.take() {
            daemon.abort();
            // An abort is what was asked for.
            let _ = self.runtime.block_on(daemon);
        }
        let path = self.folder.path().to_owned();
        let removed = self.folder.remove();
        removed.map_err(|error| CliError::new(Kind::Io, format!("cannot remove {}: {error}", path.display())))
    }

    /// A folder in the place.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A heading.
    pub(super) fn heading(&mut self, text: &str) -> Result<(), CliError> {
        let line = if self.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() };
        let space = if self.spaced { "" } else { "\n" };
        writeln!(self.context.out, "{space}{line}\n")?;
        self.spaced = true;
        self.rest(2)
    }

    /// Words for the person.
    pub(super) fn say(&mut self, text: &str) -> Result<(), CliError> {
        writeln!(self.context.out, "{text}")?;
        self.spaced = text.ends_with('\n');
        self.rest(2)
    }

    /// What one would type.
    pub(super) fn typed(&mut self, line: &str) -> Result<(), CliError> {
        let line = if self.color { format!("\x1b[36m$ {line}\x1b[0m") } else { format!("$ {line}") };
        writeln!(self.context.out, "{line}")?;
        self.spaced = false;
        self.rest(1)
    }

    /// A file, as typed.
    pub(super) fn show(&mut self, typed: &str, text: &str) -> Result<(), CliError> {
        self.typed(typed)?;
        self.output(text)
    }

    /// What happens from now on is counted from now on.
    pub(super) fn begin(&mut self) {
        self.listening.begin(&[]);
        self.told = 0;
    }

    /// Leaves it all running, for kubectl too, until the person ends it.
    pub(super) fn keep(&mut self) -> Result<(), CliError> {
        let kubeconfig = self.path("kubeconfig");
        let (end, ends) = oneshot::channel::<()>();
        let until = async {
            // Whichever way the sender goes, it is the end.
            let _ = ends.await;
        };
        let served = Served::start(self.embedded.clone(), None, &kubeconfig, until);
        let served = self.runtime.block_on(served)?;
        let (deploy, origin) = (self.path("deploy"), self.path("deploy.git"));
        self.heading("It is all still there, until Ctrl-C")?;
        self.say(&format!(
            "export KUBECONFIG={} PHASELINE_REPO={}\ncd {}\nkubectl get pods -w",
            kubeconfig.display(),
            origin.display(),
            deploy.display()
        ))?;
        let ended = loop {
            match self.wait(KEPT) {
                Ok(()) => {}
                Err(interrupted) => break interrupted,
            }
        };
        drop(end);
        self.runtime
            .block_on(served.task)
            .map_err(|error| CliError::new(Kind::Io, format!("the server ended: {error}")))?;
        // Ctrl-C is how it is to end.
        if ended.kind == Kind::BrokenPipe { Ok(()) } else { Err(ended) }
    }

    /// Git in the work tree, as typed.
    pub(super) fn git(&mut self, typed: &str, arguments: &[&str]) -> Result<(), CliError> {
        self.typed(typed)?;
        let said = self.git_quietly("deploy", arguments)?;
        self.output(&said)
    }

    /// Git in a folder of the place.
    pub(super) fn git_quietly(&mut self, folder: &str, arguments: &[&str]) -> Result<String, CliError> {
        let folder = self.path(folder);
        git::git(&folder, arguments, self.clock.now())
    }

    /// `git push`, which wakes the daemon.
    pub(super) fn push(&mut self) -> Result<(), CliError> {
        self.begin();
        self.git("git push origin main", &["push", "origin", "main"])?;
        if self.fast {
            self.waker.wake();
        }
        Ok(())
    }

    /// A command of this program, as typed, against the cluster of the demo.
    pub(super) fn phaseline(&mut self, line: &str) -> Result<(), CliError> {
        self.typed(line)?;
        let repo = if line.contains(" plan") { self.path("deploy") } else { self.path("deploy.git") };
        let state = self.path(if line.contains(" plan") { "plan" } else { "read" });
        let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        if line.contains(" plan") || line.contains(" history") {
            words.extend(["--repo".into(), repo.into(), "--state-dir".into(), state.into()]);
        }
        let cli = Cli::try_parse_from(words)
            .map_err(|error| CliError::new(Kind::Usage, format!("{line}: {}", error.kind())))?;
        let mut out = Vec::new();
        let mut err = Vec::new();
        let mut global = cli.global;
        global.inside = Some(self.inside.clone());
        let mut context = Context { global, out: &mut out, err: &mut err, terminal: false, color: self.context.color };
        let result = commands::run(cli.command, &mut context);
        let said = String::from_utf8_lossy(&[out, err].concat()).into_owned();
        self.output(&said)?;
        // Exit codes say how things are; an error is one.
        result.map(|_| ())
    }

    /// The pods as kubectl shows them.
    pub(super) fn pods(&mut self) -> Result<(), CliError> {
        self.typed("kubectl get pods -L controller-revision-hash")?;
        let table = pods::table(&self.embedded, NAMESPACE)
            .ok_or_else(|| CliError::new(Kind::Cluster, "the embedded cluster makes no table of pods"))?;
        self.output(&table)
    }

    fn output(&mut self, text: &str) -> Result<(), CliError> {
        for line in text.lines() {
            writeln!(self.context.out, "{}", format!("  {line}").trim_end())?;
        }
        writeln!(self.context.out)?;
        self.spaced = true;
        self.rest(1)
    }

    /// Starts the daemon.
    pub(super) fn start_daemon(&mut self) -> Result<(), CliError> {
        let scope = Scope { default_namespace: NAMESPACE.to_owned(), only: Vec::new() };
        let source = Source::open(&self.config, scope)?;
        let by_hand = self.wakes.take().filter(|_| self.fast);
        let wakes = by_hand.unwrap_or_else(|| Wakes::new(source.local(), INTERVAL));
        let cluster = Cluster::from_service(self.embedded.service(DAEMON));
        let listening = self.listening.clone();
        let options = RunOptions {
            clock: self.clock,
            listener: Some(Listener::new(move |news| listening.hear(news))),
            ..RunOptions::default()
        };
        self.begin();
        let daemon = daemon::run(cluster, source, Some(wakes), options, std::future::pending());
        self.daemon = Some(self.runtime.spawn(daemon));
        Ok(())
    }

    /// Says what happens until the set is in that phase, for that reason.
    pub(super) fn watch_until(&mut self, phase: Phase, reason: &str) -> Result<(), CliError> {
        let end = Instant::now() + LONGEST;
        let set = WorkloadId::new(NAMESPACE, SET);
        loop {
            self.wait(LOOK)?;
            self.listening.take_in();
            let (lines, there) = {
                let heard = self.listening.heard();
                (lines(&heard, self.told), is(&heard, &set, phase, reason))
            };
            self.told += lines.len();
            for line in lines {
                writeln!(self.context.out, "  {line}")?;
            }
            self.context.out.flush()?;
            if there {
                writeln!(self.context.out)?;
                self.spaced = true;
                return self.rest(1);
            }
            if Instant::now() > end {
                let message = format!("the demo got stuck: {SET} did not get {phase} ({reason})");
                return Err(CliError::new(Kind::Cluster, message));
            }
        }
    }

    /// Time to read.
    fn rest(&mut self, beats: u32) -> Result<(), CliError> {
        self.context.out.flush()?;
        self.wait(READ * beats)
    }

    /// Lets time pass, unless the person wants to end it.
    fn wait(&mut self, length: Duration) -> Result<(), CliError> {
        let stop = &mut self.stop;
        let stopped = self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = stop.0.recv() => true,
                _ = stop.1.recv() => true,
                () = sleep(length) => false,
            }
        });
        match stopped {
            true => Err(interrupted()),
            false => Ok(()),
        }
    }
}

/// How long it waits at a time for the person.
const KEPT: Duration = Duration::from_secs(3600);
/// Time to read one line.
const READ: Duration = Duration::from_millis(600);

/// A person ended it: nothing is wrong, nothing is said, and shells see what they know of Ctrl-C.
fn interrupted() -> CliError {
    CliError { code: 130, ..CliError::new(Kind::BrokenPipe, "ended by a signal") }
}

/// What was heard and not said yet, in lines.
fn lines(heard: &Heard, told: usize) -> Vec<String> {
    let new = heard.entries.iter().skip(told);
    new.map(|entry| {
        let pod = if entry.pod.is_empty() { String::new() } else { format!("{} ", entry.pod) };
        format!("{:<7} {:<7} {pod}{}", time(entry.seconds), entry.who.word(), entry.what)
    })
    .collect()
}

fn is(heard: &Heard, set: &WorkloadId, phase: Phase, reason: &str) -> bool {
    heard
        .sets
        .get(set)
        .and_then(|tally| tally.last())
        .is_some_and(|(_, said)| said.phase == phase && (reason.is_empty() || said.reason.to_string() == reason))
}

/// A file of the work tree.
pub(super) fn edit(path: &Path, change: impl FnOnce(String) -> String) -> Result<(), CliError> {
    let failed = |error| CliError::new(Kind::Io, format!("cannot write {}: {error}", path.display()));
    let text = if path.exists() { std::fs::read_to_string(path).map_err(failed)? } else { String::new() };
    std::fs::write(path, change(text)).map_err(failed)
}
