//! The embedded cluster as commands run it: what it behaves like, where it listens, what it puts down.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use tokio::task::JoinHandle;

use super::commands::hash::{KubernetesVersion, minor};
use super::context::Context;
use super::error::{CliError, Kind};
use super::kubeconfig;
use crate::clock::Clock;
use crate::sim::serve::{Audit, Embedded, ListenError, Server};
use crate::sim::{Compat, Settings, Version, World};

/// Any free port.
const ANY_PORT: &str = "127.0.0.1:0";

/// The only gate that there is.
const GATE: &str = "MaxUnavailableStatefulSet";

/// What an embedded cluster behaves like.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The embedded cluster")]
pub(super) struct EmbeddedArgs {
    /// The Kubernetes version that it behaves like [default: 1.36]
    #[arg(long, value_enum, value_name = "VERSION")]
    kubernetes: Option<Kubernetes>,
    /// Feature gates, as on a real one: MaxUnavailableStatefulSet=true|false
    #[arg(long, value_name = "NAME=BOOL", value_delimiter = ',', value_parser = gate)]
    feature_gates: Vec<bool>,
    /// What is left to chance follows from it: the same seed, the same uids [default: another one each time]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Puts every request down in this file, in the form of a real server's audit log
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
}

/// A Kubernetes that the embedded cluster behaves like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Kubernetes {
    /// 1.33
    #[value(name = "1.33")]
    V1_33,
    /// 1.36
    #[default]
    #[value(name = "1.36")]
    V1_36,
    /// 1.37, as its source says; compared with no real one
    #[value(name = "1.37")]
    V1_37,
}

impl Kubernetes {
    /// The version itself.
    pub(crate) fn version(self) -> Version {
        match self {
            Self::V1_33 => Version::V1_33,
            Self::V1_36 => Version::V1_36,
            Self::V1_37 => Version::V1_37,
        }
    }

    /// The one that is most like a server, by what that calls itself: `v1.34.2`.
    pub(crate) fn of(git_version: &str) -> Self {
        match (minor(git_version), KubernetesVersion::of(git_version)) {
            (Some(37..), _) => Self::V1_37,
            (_, KubernetesVersion::V1_33) => Self::V1_33,
            (_, KubernetesVersion::V1_36) => Self::V1_36,
        }
    }

    /// Its number.
    pub(crate) fn number(self) -> &'static str {
        match self {
            Self::V1_33 => "1.33",
            Self::V1_36 => "1.36",
            Self::V1_37 => "1.37",
        }
    }
}

impl EmbeddedArgs {
    /// Whether any of them is given.
    pub(super) fn any(&self) -> bool {
        let Self { kubernetes, feature_gates, seed, audit_log } = self;
        kubernetes.is_some() || !feature_gates.is_empty() || seed.is_some() || audit_log.is_some()
    }

    /// The version, with its gates.
    pub(super) fn compat(&self) -> Compat {
        let mut compat = Compat::of(self.kubernetes.unwrap_or_default().version());
        // The last one counts, as everywhere.
        compat.max_unavailable = self.feature_gates.last().copied().unwrap_or(compat.max_unavailable);
        compat
    }

    /// Brings a cluster to life, on the machine's clock. Must be called within a runtime.
    ///
    /// # Errors
    /// Where the audit log cannot be opened.
    pub(super) fn start(&self) -> Result<Embedded, CliError> {
        let failed = |path: &Path, why: std::io::Error| {
            CliError::new(Kind::Io, format!("cannot open the audit log {}: {why}", path.display()))
        };
        let audit = match &self.audit_log {
            Some(path) => Some(Audit::open(path).map_err(|why| failed(path, why))?),
            None => None,
        };
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let settings = Settings { compat: self.compat(), seed, start: Timestamp::now(), ..Settings::default() };
        Ok(Embedded::audited(World::new(&settings), Clock::Real, audit))
    }
}

/// A cluster that is served on a socket.
#[derive(Debug)]
pub(super) struct Served {
    /// The task that does; it ends when it is asked to.
    pub(super) task: JoinHandle<()>,
    address: SocketAddr,
}

impl Served {
    /// Serves a cluster until it is asked to end, and writes the kubeconfig that leads there.
    ///
    /// # Errors
    /// Where there is no such port, or the kubeconfig is somebody else's.
    pub(super) async fn start(
        embedded: Embedded,
        listen: Option<SocketAddr>,
        kubeconfig: &Path,
        until: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Self, CliError> {
        kubeconfig::check(kubeconfig)?;
        let listen = match listen {
            Some(address) => address,
            None => address(ANY_PORT).map_err(|why| CliError::new(Kind::Usage, why))?,
        };
        let server = Server::bind(listen).await.map_err(|error| {
            let kind = if matches!(error, ListenError::NotLoopback { .. }) { Kind::Usage } else { Kind::Io };
            CliError::of(kind, &error).hint("give 127.0.0.1:PORT, or 127.0.0.1:0 for any free port")
        })?;
        let address = server.address();
        kubeconfig::write(kubeconfig, address)?;
        Ok(Self { task: tokio::spawn(server.serve(embedded, until)), address })
    }

    /// Tells a person what there is now and how to use it; what is to be typed goes to stdout.
    ///
    /// # Errors
    /// Where nobody reads it.
    pub(super) fn announce(
        &self,
        compat: Compat,
        kubeconfig: &Path,
        context: &mut Context<'_>,
    ) -> Result<(), CliError> {
        let version = compat.git_version();
        context.note(&format!(
            "An embedded cluster, which behaves like Kubernetes {version}, at http://{}.",
            self.address
        ))?;
        context
            .note("It is a simulation: nothing in it is real, and nothing of it is kept. To use it with kubectl:")?;
        let path = std::path::absolute(kubeconfig).unwrap_or_else(|_| kubeconfig.to_owned());
        writeln!(context.out, "export KUBECONFIG={}", quoted(&path.to_string_lossy()))?;
        Ok(context.out.flush()?)
    }
}

/// Reads an address to listen on: `127.0.0.1:8001`, `[::1]:8001`, `localhost:8001`.
///
/// # Errors
/// In words for people.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let spelled = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address: SocketAddr = spelled.as_deref().unwrap_or(text).parse().map_err(|_| {
        format!("{text:?} is no address to listen on: give 127.0.0.1:PORT, with port 0 for any free one")
    })?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err(format!(
        "{address} can be reached from elsewhere, and the embedded cluster has neither TLS nor permissions: give 127.0.0.1:{}",
        address.port()
    ))
}

/// Reads a feature gate.
fn gate(text: &str) -> Result<bool, String> {
    match text.split_once('=') {
        Some((GATE, value)) => value.parse().map_err(|_| format!("{value:?} is neither true nor false")),
        Some((name, _)) => Err(format!("the embedded cluster has no feature gate {name:?}, only {GATE}")),
        None => Err(format!("give {GATE}=true or {GATE}=false")),
    }
}

/// A text as a shell takes it for one word.
fn quoted(text: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+:@%".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Kubernetes, address, gate, quoted};

    #[test]
    fn a_server_is_followed_by_the_version_that_is_most_like_it() {
        for (server, number) in [
            ("v1.32.4", "1.33"),
            ("v1.33.13+k3s1", "1.33"),
            ("v1.34.2", "1.36"),
            ("v1.36.3", "1.36"),
            ("v1.38.0", "1.37"),
        ] {
            assert_eq!(Kubernetes::of(server).number(), number, "{server}");
        }
        assert_eq!(Kubernetes::of("weekly"), Kubernetes::default());
    }

    #[test]
    fn only_loopback_can_be_asked_for() {
        for (text, expected) in
            [("127.0.0.1:8001", "127.0.0.1:8001"), ("localhost:0", "127.0.0.1:0"), ("[::1]:1", "[::1]:1")]
        {
            assert_eq!(address(text).unwrap().to_string(), expected);
        }
        for text in ["0.0.0.0:1", "10.0.0.1:80", "[::]:1", "8001", ":8001", "example.com:80", ""] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_gate_is_known_and_on_or_off() {
        assert_eq!(gate("MaxUnavailableStatefulSet=true"), Ok(true));
        assert_eq!(gate("MaxUnavailableStatefulSet=false"), Ok(false));
        for text in ["MaxUnavailableStatefulSet", "MaxUnavailableStatefulSet=on", "WatchList=true", ""] {
            assert!(gate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_is_one_word_to_a_shell() {
        assert_eq!(quoted("/home/me/a.yaml"), "/home/me/a.yaml");
        assert_eq!(quoted("/home/me/it's $here"), r"'/home/me/it'\''s $here'");
    }
}
