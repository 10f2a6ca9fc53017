//! `install`: the manifests that run the daemon in a cluster.

use clap::Args;
use serde_json::Value;

use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::output::yaml;
use crate::cli::repository;
use crate::daemon::report::HOME;
use crate::git::Address;

mod deployment;
mod rbac;

/// The namespace of the daemon where none is named: it is ours, and made with the rest.
const NAMESPACE: &str = HOME;

/// The name of everything that is made.
const NAME: &str = "phaseline";

/// Prints the manifests that run the daemon in a cluster
///
/// `phaseline install --repo URL | kubectl apply -f -`. The daemon may read StatefulSets and pods, write StatefulSets
/// and delete a pod that a newer decision left broken, and keep a Lease in its own namespace: no Secrets, no claims, no
/// wildcards. Two pods run, and one of them acts. --namespace is the daemon's own: phaseline-system, which is printed
/// too, or one that is there already and stays as it is. What it looks after is named with --watch-namespace.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// The image to run
    #[arg(long, value_name = "IMAGE", default_value = concat!("phaseline:", env!("CARGO_PKG_VERSION")))]
    image: String,
    /// A namespace to look after, with a Role in it; may be repeated [default: all, with a ClusterRole]
    #[arg(long, value_name = "NAME")]
    watch_namespace: Vec<String>,
    /// The namespace of manifests that state none
    #[arg(long, value_name = "NAME", default_value = "default")]
    default_namespace: String,
    /// A Secret in the daemon's namespace with a token for the repository under the key `token`
    #[arg(long, value_name = "NAME")]
    git_token_secret: Option<String>,
    /// A Secret in the daemon's namespace with `ssh-privatekey` and `known_hosts` for the repository
    #[arg(long, value_name = "NAME", conflicts_with = "git_token_secret")]
    ssh_secret: Option<String>,
    /// How often the repository is asked for a new commit
    #[arg(long, value_name = "DURATION", value_parser = crate::cli::args::duration)]
    interval: Option<std::time::Duration>,
    /// Prints the ServiceAccount and its rights, nothing else
    #[arg(long)]
    rbac_only: bool,
}

pub(super) fn run(args: &InstallArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let namespace = context.global.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned());
    let mut documents = Vec::new();
    if !args.rbac_only {
        let repo = repository::named(&context.global)?;
        check(&repo, args, context)?;
        if namespace == NAMESPACE {
            documents.push(deployment::namespace(&namespace));
        } else {
            // Somebody else's, with labels of its own, which an apply of ours would change.
            context.note(&format!("note: namespace {namespace} is not among the manifests: it has to be there"))?;
        }
        documents.extend(rbac::objects(&namespace, &args.watch_namespace));
        documents.push(deployment::deployment(&namespace, repo.reveal(), args, &context.global));
    } else {
        documents.extend(rbac::objects(&namespace, &args.watch_namespace));
    }
    yaml::documents(context.out, &documents)?;
    Ok(Exit::OK)
}

/// What would not work in a pod, or would show a secret.
fn check(repo: &Address, args: &InstallArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    if repo.holds_secret() {
        let message = format!("the address of {repo} holds a password, a token or a user, which would be printed");
        return Err(CliError::new(Kind::Usage, message)
            .hint("put a token into a Secret and name that with --git-token-secret, and a user with --git-username"));
    }
    let address = repo.reveal();
    let is_remote = address.contains("://") && !address.starts_with("file://") || is_scp(address);
    if !is_remote {
        context.note(&format!("warning: {repo} is a path: it has to be there in the daemon's pod"))?;
    }
    for (given, option) in [
        (context.global.git_token_file.is_some(), "--git-token-file: use --git-token-secret"),
        (context.global.ssh_key.is_some(), "--ssh-key: use --ssh-secret"),
        (context.global.known_hosts.is_some(), "--known-hosts: use --ssh-secret"),
    ] {
        if given {
            context.note(&format!("warning: a pod does not see the file of {option}"))?;
        }
    }
    if args.image == concat!("phaseline:", env!("CARGO_PKG_VERSION")) {
        context.note(&format!("note: no registry is named for the image {}; --image names another one", args.image))?;
    }
    Ok(())
}

/// `user@host:path`.
fn is_scp(repo: &str) -> bool {
    repo.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'))
}

/// Labels of everything that is made.
fn labels() -> Value {
    serde_json::json!({
        "app.kubernetes.io/managed-by": "kubectl",
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/version": env!("CARGO_PKG_VERSION"),
    })
}
