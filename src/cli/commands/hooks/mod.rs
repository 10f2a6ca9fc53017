//! `hooks`: puts the Git hooks of the product into a repository, and takes them out.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::context::{Context, Exit};
use crate::cli::error::{CliError, Kind};
use crate::cli::output::text;
use crate::git::HookedRepository;

mod file;

use file::{Found, HookFile};

/// The setting that tells a hook where the program is.
const BINARY: &str = "phaseline.binary";
/// The setting by which git takes `git push -o`.
const PUSH_OPTIONS: &str = "receive.advertisePushOptions";

/// Puts Git hooks into a repository that refuse what could not be rolled out
///
/// A bare repository gets pre-receive, which refuses a push whose manifests or plans are wrong, and post-receive, which
/// wakes the daemon. A work tree gets pre-commit, which checks what is staged. Their settings (`git config phaseline.*`)
/// are listed at the top of each hook.
#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    Install(InstallArgs),
    Uninstall(UninstallArgs),
}

/// Writes the hooks, or brings them up to date
///
/// Where a hook of that name is there already and is not Phaseline's, nothing is written and the exit code is 1: choose
/// --chain or --force. Heeds core.hooksPath.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// The repository
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Only this hook; may be repeated [default: pre-receive and post-receive in a bare repository, else pre-commit]
    #[arg(long = "hook", value_name = "NAME", value_enum)]
    hooks: Vec<Hook>,
    /// A hook that is there already is kept as NAME.chained, and runs first
    #[arg(long, conflicts_with = "force")]
    chain: bool,
    /// A hook that is there already is moved to NAME.before-phaseline, and runs no more; also writes into a folder that
    /// several repositories share
    #[arg(long)]
    force: bool,
}

/// Takes the hooks out, and puts those back that were there before
#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// The repository
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
}

/// A hook that the product has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Hook {
    /// Checks what is staged
    PreCommit,
    /// Checks what is pushed
    PreReceive,
    /// Wakes the daemon after a push
    PostReceive,
}

impl Hook {
    const ALL: [Self; 3] = [Self::PreCommit, Self::PreReceive, Self::PostReceive];

    fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::PreReceive => "pre-receive",
            Self::PostReceive => "post-receive",
        }
    }

    /// The script, as it is in the sources.
    fn script(self) -> &'static str {
        match self {
            Self::PreCommit => include_str!("../../../../hooks/pre-commit"),
            Self::PreReceive => include_str!("../../../../hooks/pre-receive"),
            Self::PostReceive => include_str!("../../../../hooks/post-receive"),
        }
    }
}

pub(super) fn run(command: &HooksCommand, context: &mut Context<'_>) -> Result<Exit, CliError> {
    match command {
        HooksCommand::Install(args) => install(args, context),
        HooksCommand::Uninstall(args) => uninstall(args, context),
    }
}

/// The repository that a folder is or lies in; a folder that is not there is called that.
fn find(folder: &Path) -> Result<HookedRepository, CliError> {
    const HINT: &str = "name a bare repository, or a work tree; `git init --bare FOLDER` makes one";
    let shown = folder.display();
    match std::fs::metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(CliError::new(Kind::NotFound, format!("there is no folder {shown}")).hint(HINT))
        }
        Err(error) => Err(CliError::new(Kind::Io, format!("cannot look at {shown}: {error}"))),
        Ok(metadata) if !metadata.is_dir() => {
            Err(CliError::new(Kind::NotFound, format!("{shown} is a file, and no folder")).hint(HINT))
        }
        Ok(_) => Ok(HookedRepository::find(folder)?),
    }
}

fn install(args: &InstallArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let repo = find(&args.folder)?;
    let folder = repo.hooks()?;
    if folder.shared && !args.force {
        let message = format!("core.hooksPath names {} for more than this repository", folder.path.display());
        return Err(CliError::new(Kind::Refused, message).hint(
            "give the repository a folder of its own (git config core.hooksPath .git/hooks), or --force to write there",
        ));
    }
    if folder.path.exists() && !folder.path.is_dir() {
        let message = format!("core.hooksPath names {}, which is no folder: hooks are off", folder.path.display());
        return Err(CliError::new(Kind::Refused, message));
    }
    let hooks = match (args.hooks.as_slice(), repo.is_bare()) {
        ([], true) => &[Hook::PreReceive, Hook::PostReceive],
        ([], false) => &[Hook::PreCommit][..],
        (some, _) => some,
    };
    let files: Vec<HookFile> = hooks.iter().map(|hook| HookFile::new(&folder.path, *hook)).collect();
    // All or none: a half-installed repository looks guarded and is not.
    let mut foreign = Vec::new();
    for file in &files {
        if file.found()? == Found::Foreign {
            file.check_room(args.chain)?;
            foreign.push(file.shown());
        }
    }
    if !(foreign.is_empty() || args.chain || args.force) {
        let message = format!("there is a hook already that is not Phaseline's: {}", foreign.join(", "));
        return Err(CliError::new(Kind::Refused, message)
            .hint("--chain keeps it, and runs it first; --force moves it out of the way"));
    }
    for file in &files {
        let done = file.install(args.chain)?;
        writeln!(context.out, "{} {done}", text::line(&file.shown()))?;
    }
    // Without it git sends no options, and there would be no way past the hook for who knows better.
    if hooks.contains(&Hook::PreReceive) && repo.setting(PUSH_OPTIONS)?.is_none() {
        repo.set(PUSH_OPTIONS, Some("true"))?;
    }
    name_binary(&repo, context)?;
    Ok(Exit::OK)
}

fn uninstall(args: &UninstallArgs, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let repo = find(&args.folder)?;
    let folder = repo.hooks()?;
    for hook in Hook::ALL {
        let file = HookFile::new(&folder.path, hook);
        if let Some(done) = file.uninstall()? {
            writeln!(context.out, "{} {done}", text::line(&file.shown()))?;
        }
    }
    if repo.setting(BINARY)?.is_some_and(|binary| own_path().as_deref() == Some(Path::new(&binary))) {
        repo.set(BINARY, None)?;
    }
    Ok(Exit::OK)
}

/// Tells the hooks where the program is, where they would not find it by themselves.
fn name_binary(repo: &HookedRepository, context: &mut Context<'_>) -> Result<(), CliError> {
    let on_path = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.is_absolute() && folder.join("phaseline").is_file())
    });
    if on_path || repo.setting(BINARY)?.is_some() {
        return Ok(());
    }
    let own = own_path();
    let Some(own) = own.as_deref().and_then(Path::to_str) else {
        let message =
            format!("note: phaseline is not on the PATH: tell the hooks where it is, git config {BINARY} PATH");
        return context.note(&message);
    };
    repo.set(BINARY, Some(own))?;
    context.note(&format!("note: phaseline is not on the PATH; the hooks call {own} (git config {BINARY})"))
}

/// This program.
fn own_path() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_says_whose_it_is() {
        for hook in Hook::ALL {
            assert!(file::is_ours(hook.script().as_bytes(), hook.name()), "{}", hook.name());
            assert_eq!(hook.to_possible_value().unwrap().get_name(), hook.name());
        }
    }
}
