//! The story: what is typed, in which order, and what is said about it.

use super::theatre::{Theatre, edit};
use crate::cli::error::{CliError, Kind};
use crate::model::Phase;

/// The set.
const WEB: &str = include_str!("web.yaml");
/// Its plan.
const PLAN: &str = include_str!("rollout-plan.yaml");

/// Tells it.
pub(super) fn tell(theatre: &mut Theatre<'_, '_>, keep: bool) -> Result<(), CliError> {
    theatre.say(
        "Phaseline rolls Kubernetes StatefulSets out of Git, stage by stage. Here is all of it at once: a Git\n\
         repository, the daemon, and a small Kubernetes inside of this program.",
    )?;
    install(theatre)?;
    rollout(theatre)?;
    bad_push(theatre)?;
    revert(theatre)?;
    theatre.heading("Where to go next")?;
    theatre.say(
        "phaseline demo --keep                        the same, and leaves the cluster running for kubectl\n\
         phaseline simulate --repo examples/web --fail web-1=CrashLoop@30s\n\
         \x20                                            what your plan does about a pod that breaks\n\
         examples/, README.md                         repositories to start from, and the way to a real cluster",
    )?;
    if keep {
        theatre.keep()?;
    }
    Ok(())
}

fn install(theatre: &mut Theatre<'_, '_>) -> Result<(), CliError> {
    theatre.heading("1. A repository with a StatefulSet and a plan")?;
    let folder = theatre.path("");
    let made = std::fs::create_dir(theatre.path("deploy"));
    made.map_err(|error| CliError::new(Kind::Io, format!("cannot write in {}: {error}", folder.display())))?;
    theatre.typed("git init --bare deploy.git && git clone deploy.git && cd deploy")?;
    theatre.git_quietly("", &["init", "--quiet", "--bare", "deploy.git"])?;
    theatre.git_quietly("deploy", &["init", "--quiet", "."])?;
    theatre.git_quietly("deploy", &["remote", "add", "origin", "../deploy.git"])?;
    edit(&theatre.path("deploy/web.yaml"), |_| WEB.to_owned())?;
    edit(&theatre.path("deploy/rollout-plan.yaml"), |_| PLAN.to_owned())?;
    theatre.show("cat web.yaml", WEB)?;
    theatre.show("cat rollout-plan.yaml", PLAN)?;
    theatre.git_quietly("deploy", &["add", "."])?;
    theatre.git("git add . && git commit -m \"web 1.27\"", &["commit", "-m", "web 1.27"])?;
    theatre.push()?;
    theatre.typed("phaseline run --repo deploy.git --cluster embedded &")?;
    theatre.say("The daemon is running now. What it does, and what the pods do:\n")?;
    theatre.start_daemon()?;
    theatre.watch_until(Phase::Healthy, "")?;
    theatre.pods()
}

fn rollout(theatre: &mut Theatre<'_, '_>) -> Result<(), CliError> {
    theatre.heading("2. A push is a rollout, stage by stage")?;
    theatre.typed("sed -i s/1.27/1.28/ web.yaml")?;
    edit(&theatre.path("deploy/web.yaml"), |text| text.replace("1.27", "1.28"))?;
    theatre.git("git commit -am \"web 1.28\"", &["commit", "-am", "web 1.28"])?;
    theatre.say("What would that do? Nothing is written by asking:\n")?;
    theatre.phaseline("phaseline plan HEAD")?;
    theatre.push()?;
    theatre.watch_until(Phase::Paused, "StagePaused")?;
    theatre.say("One pod runs the new version, and the plan wants a person to look at it:\n")?;
    theatre.pods()?;
    theatre.phaseline("phaseline status web")?;
    theatre.begin();
    theatre.phaseline("phaseline promote web")?;
    theatre.watch_until(Phase::Healthy, "")?;
    theatre.pods()
}

fn bad_push(theatre: &mut Theatre<'_, '_>) -> Result<(), CliError> {
    theatre.heading("3. A bad push halts, and says whose fault it is")?;
    theatre.typed("sed -i s/1.28/pull-nothing/ web.yaml")?;
    edit(&theatre.path("deploy/web.yaml"), |text| text.replace("1.28", "pull-nothing"))?;
    theatre.git("git commit -am \"web 1.29, with a typo\"", &["commit", "-am", "web 1.29, with a typo"])?;
    theatre.push()?;
    theatre.watch_until(Phase::Degraded, "")?;
    theatre.pods()?;
    theatre.phaseline("phaseline status web")?;
    theatre.say("The image is not there. One pod of three has met it; the others serve on.")
}

fn revert(theatre: &mut Theatre<'_, '_>) -> Result<(), CliError> {
    theatre.heading("4. git revert is the way back")?;
    theatre.git("git revert --no-edit HEAD", &["revert", "--no-edit", "HEAD"])?;
    theatre.push()?;
    theatre.watch_until(Phase::Healthy, "RolledBack")?;
    theatre.say(
        "Kubernetes alone would have left the broken pod standing (kubernetes#67250): Phaseline has replaced it, and\n\
         only it.\n",
    )?;
    theatre.pods()?;
    theatre.phaseline("phaseline status web")?;
    theatre.phaseline("phaseline history web")
}
