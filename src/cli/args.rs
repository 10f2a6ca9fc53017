//! The options: every one that several commands share is here, with the same meaning everywhere.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;

use super::commands;
use super::error::{CliError, Kind};
use super::logging::Speaker;
use super::session::Inside;
use crate::git::Address;
use crate::model::WorkloadId;

/// Rolls Kubernetes StatefulSets out of Git, stage by stage.
///
/// Push to deploy, rollout-plan.yaml to stage, git revert to undo.
#[derive(Debug, Parser)]
#[command(name = "phaseline", version, max_term_width = 100, infer_long_args = false)]
pub(crate) struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that mean the same in every command. They may stand before or after the command's name.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// The deploy repository: a path, or a URL (https, ssh, file, or user@host:path)
    #[arg(long, value_name = "URL|PATH", env = "PHASELINE_REPO", hide_env_values = true)]
    #[arg(global = true, hide_short_help = true)]
    pub(crate) repo: Option<Address>,
    /// The branch that is rolled out [default: the repository's own]
    #[arg(long, value_name = "BRANCH", global = true, hide_short_help = true)]
    pub(crate) branch: Option<String>,
    /// The folder in the repository that holds the manifests [default: all of it]
    #[arg(long, value_name = "FOLDER", global = true, hide_short_help = true)]
    pub(crate) path: Option<String>,
    /// A file with the token or password for a repository over https
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    pub(crate) git_token_file: Option<PathBuf>,
    /// The user name for the repository [default: the one in its URL]
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    pub(crate) git_username: Option<String>,
    /// A private key without a passphrase, for a repository over ssh [default: the agent, then ~/.ssh]
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    pub(crate) ssh_key: Option<PathBuf>,
    /// The host keys that are trusted [default: ~/.ssh/known_hosts, /etc/ssh/ssh_known_hosts]
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    pub(crate) known_hosts: Option<PathBuf>,
    /// Where the copy of the repository is kept [default: ~/.local/state/phaseline]
    #[arg(long, value_name = "FOLDER", env = "PHASELINE_STATE_DIR", hide_env_values = true)]
    #[arg(global = true, hide_short_help = true)]
    pub(crate) state_dir: Option<PathBuf>,
    /// The kubeconfig file [default: $KUBECONFIG, ~/.kube/config]
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context to use [default: its current one]
    #[arg(long, value_name = "NAME", global = true, hide_short_help = true)]
    pub(crate) context: Option<String>,
    /// The only namespace to look at, and that of manifests which state none [default: the kubeconfig's]
    #[arg(short, long, value_name = "NAME", global = true, hide_short_help = true)]
    pub(crate) namespace: Option<String>,
    /// Every namespace
    #[arg(short = 'A', long, global = true, hide_short_help = true)]
    pub(crate) all_namespaces: bool,
    /// How log lines look, on stderr
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", global = true, hide_short_help = true)]
    pub(crate) log_format: LogFormat,
    /// Logs more; twice, even more
    #[arg(short, long, action = clap::ArgAction::Count, global = true, hide_short_help = true)]
    pub(crate) verbose: u8,
    /// Whether the repository is named by the environment, and not by whoever typed the command.
    #[arg(skip)]
    pub(crate) repo_of_environment: bool,
    /// A cluster inside of this program, which is asked in the place of any other.
    #[arg(skip)]
    pub(crate) inside: Option<Inside>,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(commands::run::RunArgs),
    Cluster(commands::cluster::ClusterArgs),
    Plan(commands::plan::PlanArgs),
    Simulate(commands::simulate::SimulateArgs),
    Demo(commands::demo::DemoArgs),
    Status(commands::status::StatusArgs),
    History(commands::history::HistoryArgs),
    Diff(commands::diff::DiffArgs),
    Trace(commands::trace::TraceArgs),
    Promote(commands::people::PromoteArgs),
    Pause(commands::people::PauseArgs),
    Resume(commands::people::ResumeArgs),
    Retry(commands::people::RetryArgs),
    Restart(commands::people::RestartArgs),
    Adopt(commands::people::AdoptArgs),
    Release(commands::people::ReleaseArgs),
    Install(commands::install::InstallArgs),
    Lint(commands::lint::LintArgs),
    Render(commands::render::RenderArgs),
    Hash(commands::hash::HashArgs),
    #[command(subcommand)]
    Hooks(commands::hooks::HooksCommand),
    Completion(commands::completion::CompletionArgs),
    Version(commands::version::VersionArgs),
}

impl Command {
    /// How it logs.
    pub(crate) fn speaker(&self) -> Speaker {
        match self {
            Self::Run(_) | Self::Cluster(_) => Speaker::Daemon,
            Self::Simulate(_) | Self::Demo(_) => Speaker::Player,
            _ => Speaker::Command,
        }
    }
}

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// For people with wide screens.
    Wide,
    /// JSON.
    Json,
    /// YAML that kubectl reads as it is meant.
    Yaml,
    /// `statefulset.apps/NAME`, one a line.
    Name,
}

impl Format {
    const ALL: [(&'static str, Self); 5] = [
        ("table", Self::Table),
        ("wide", Self::Wide),
        ("json", Self::Json),
        ("yaml", Self::Yaml),
        ("name", Self::Name),
    ];

    /// A parser that takes only the formats a command has.
    pub(crate) fn among(formats: &'static [&'static str]) -> impl TypedValueParser<Value = Self> {
        PossibleValuesParser::new(formats).map(|word| {
            Self::ALL.iter().find(|(name, _)| *name == word).map_or_else(Self::default, |(_, format)| *format)
        })
    }
}

/// Reads `90s`, `10m`, `1h30m` or a plain number of seconds.
///
/// # Errors
/// In words for people.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let wrong = || format!("{text:?} is no duration: give 90s, 10m, 1h30m or a number of seconds");
    let duration: SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(duration).map_err(|_| wrong())
}

/// A set as a person names it, with its namespace where it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetName {
    /// The namespace, of `NAMESPACE/NAME`.
    pub(crate) namespace: Option<String>,
    /// `metadata.name`.
    pub(crate) name: String,
}

impl SetName {
    /// The name; a namespace that stands before it counts as --namespace.
    ///
    /// # Errors
    /// Where --namespace says another one, and where it is one set of all namespaces.
    pub(crate) fn place(&self, global: &mut GlobalArgs) -> Result<&str, CliError> {
        match (&self.namespace, &global.namespace) {
            (Some(namespace), Some(other)) if namespace != other => {
                let message = format!("{namespace}/{} is not in namespace {other}, which -n names", self.name);
                return Err(CliError::new(Kind::Usage, message).hint("leave out -n"));
            }
            (Some(namespace), _) => {
                (global.namespace, global.all_namespaces) = (Some(namespace.clone()), false);
            }
            (None, _) if global.all_namespaces => {
                let message = format!("{} cannot be named across all namespaces", self.name);
                return Err(CliError::new(Kind::Usage, message)
                    .hint(format!("leave out -A, or name its namespace: NAMESPACE/{}", self.name)));
            }
            (None, _) => {}
        }
        Ok(&self.name)
    }

    /// Whether a workload goes by that name.
    pub(crate) fn is(&self, workload: &WorkloadId) -> bool {
        self.name == workload.name && self.namespace.as_ref().is_none_or(|namespace| *namespace == workload.namespace)
    }
}

impl fmt::Display for SetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Words for the kind that may stand before a set's name.
const KINDS: [&str; 5] = ["sts", "statefulset", "statefulsets", "statefulset.apps", "statefulsets.apps"];

/// The name of a set as kubectl users write it (`web`, `sts/web`, `statefulset.apps/web`), or as it is printed in
/// messages: `prod/web`.
///
/// # Errors
/// In words for people.
pub(crate) fn set_name(text: &str) -> Result<SetName, String> {
    let is_label = |part: &str| {
        !part.is_empty()
            && part.len() <= 63
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let parts: Vec<&str> = text.split('/').collect();
    let (namespace, name) = match *parts.as_slice() {
        [name] => (None, name),
        [kind, name] if KINDS.contains(&kind) => (None, name),
        ["deploy" | "deployment" | "deployments" | "ds" | "daemonset" | "daemonsets" | "pod" | "pods" | "po", _] => {
            return Err(format!("{text:?} is no StatefulSet: give NAME, sts/NAME or NAMESPACE/NAME"));
        }
        [namespace, name] => (Some(namespace), name),
        [namespace, kind, name] if KINDS.contains(&kind) => (Some(namespace), name),
        _ => return Err(format!("{text:?} is no name of a StatefulSet: give NAME, sts/NAME or NAMESPACE/NAME")),
    };
    if !is_label(name) {
        return Err(format!("{name:?} is no name of a StatefulSet"));
    }
    match namespace {
        Some(namespace) if !is_label(namespace) => Err(format!("{namespace:?} is no name of a namespace")),
        namespace => Ok(SetName { namespace: namespace.map(str::to_owned), name: name.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, seconds) in [("0", 0), ("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "-5s", "soon", "5 parsecs", "-1"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_read_as_kubectl_users_write_them_and_as_they_are_printed() {
        let named = |namespace: Option<&str>| SetName { namespace: namespace.map(str::to_owned), name: "web".into() };
        for text in ["web", "sts/web", "statefulset/web", "statefulsets/web", "statefulset.apps/web"] {
            assert_eq!(set_name(text), Ok(named(None)), "{text}");
        }
        for text in ["prod/web", "prod/sts/web", "prod/statefulset.apps/web"] {
            assert_eq!(set_name(text), Ok(named(Some("prod"))), "{text}");
        }
        for text in ["", "deploy/web", "sts/", "a/b/c", "Web", "../x", "/web", "a/sts/b/c", "A/web"] {
            assert!(set_name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_namespace_before_the_name_counts_as_the_option_does() {
        let global = |namespace: Option<&str>, all| GlobalArgs {
            namespace: namespace.map(str::to_owned),
            all_namespaces: all,
            ..GlobalArgs::default()
        };
        let place = |text: &str, mut global: GlobalArgs| {
            set_name(text).unwrap().place(&mut global).map(str::to_owned).map(|_| global.namespace)
        };
        assert_eq!(place("prod/web", global(None, false)), Ok(Some("prod".into())));
        assert_eq!(place("prod/web", global(None, true)), Ok(Some("prod".into())));
        assert_eq!(place("prod/web", global(Some("prod"), false)), Ok(Some("prod".into())));
        assert_eq!(place("web", global(Some("prod"), false)), Ok(Some("prod".into())));
        assert!(place("prod/web", global(Some("other"), false)).is_err());
        assert!(place("web", global(None, true)).is_err());
    }
}
