//! `demo --fast`: the whole story, word by word as agreed but for the ids of commits. `PHASELINE_BLESS=1` writes it anew.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the demo with its temporary files in a folder of its own.
fn demo(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.arg("demo").args(arguments).current_dir(folder).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", folder).env("TMPDIR", folder);
    command.output().unwrap()
}

/// Without what is another one on another machine: commits' ids, which come of git.
fn words(text: &str) -> String {
    let is_id = |word: &str| {
        (7..=40).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
    };
    let mut told = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() {
            word.push(letter);
            continue;
        }
        told.push_str(if is_id(&word) && word.len() != 8 { "<id>" } else { &word });
        told.push(letter);
        word.clear();
    }
    told.trim_end().to_owned() + "\n"
}

#[test]
fn the_story_is_told_as_agreed_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let output = demo(folder.path(), &["--fast"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    assert!(!said.contains('\u{1b}'), "no colour where there is no terminal");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/demo.txt");
    if std::env::var_os("PHASELINE_BLESS").is_some() {
        fs::write(&file, &said).unwrap();
    }
    let agreed = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(words(&said), words(&agreed), "other than agreed (PHASELINE_BLESS=1 takes it over)");
    in_readme(&said);
    // What it is all about, whatever is agreed.
    for part in [
        "1/2 canary: partition 2, 1 pod",
        "halts: Degraded (ProgressDeadlineExceeded): web-2: ImagePullBackOff",
        "$ git revert --no-edit HEAD",
        "writes: delete the broken pod 2",
        "Healthy (RolledBack)",
    ] {
        assert!(said.contains(part), "{part}");
    }
}

/// README shows the part with the bad push.
fn in_readme(said: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&file).unwrap();
    let (begin, end) = ("cargo test --test it demo` -->\n```text\n", "```\n<!-- end of demo -->");
    let (from, to) = (readme.find(begin).unwrap() + begin.len(), readme.find(end).unwrap());
    let part = &said[said.find("3. A bad push").unwrap()..said.find("4. git revert").unwrap()];
    let part = format!("{}\n", part.trim_end());
    if std::env::var_os("PHASELINE_BLESS").is_some() {
        fs::write(&file, format!("{}{part}{}", &readme[..from], &readme[to..])).unwrap();
    } else {
        assert_eq!(words(&readme[from..to]), words(&part), "other than in README (PHASELINE_BLESS=1 takes it over)");
    }
}

#[test]
fn the_same_seed_tells_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let said = |seed| String::from_utf8(demo(folder.path(), &["--fast", "--seed", seed]).stdout).unwrap();
    assert_eq!(said("7"), said("7"));
}

#[test]
fn without_git_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_phaseline"));
    command.args(["demo", "--fast"]).env_clear().env("PATH", "/nonexistent").env("TMPDIR", folder.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot run git") && said.contains("install git"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}
