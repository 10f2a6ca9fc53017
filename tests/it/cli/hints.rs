//! Every command that a message or a document names is one that exists: held against our own parser.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

/// Where messages are.
const SOURCES: &str = "src";
/// Where people read of commands.
const DOCUMENTS: [&str; 4] = ["README.md", "examples/README.md", "examples/demo.txt", "CHANGELOG.md"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(SOURCES)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// A source with its string literals in one piece, as they are printed, and without its unit tests.
fn joined(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or(source);
    let mut text = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        while line.ends_with('\\') {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim_start());
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// What stands for something else while a message is made: any name will do.
fn filled(command: &str) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((_, after)) = after.split_once('}') else { break };
        text.push_str("web");
        rest = after;
    }
    text + rest
}

/// The commands of ours between backticks, and those that are put together by `ours("..")`.
fn named(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for (at, _) in text.match_indices("`phaseline ") {
        let rest = &text[at + 1..];
        let Some(end) = rest.find(['`', '\n', '"']) else { continue };
        // What is compared with is no message.
        if rest[end..].starts_with('`') {
            commands.push(filled(&rest[..end]));
        }
    }
    for (at, beginning) in text.match_indices("ours(&format!(\"") {
        let rest = &text[at + beginning.len()..];
        commands.extend(rest.split('"').next().map(|command| filled(&format!("phaseline {command}"))));
    }
    commands
}

/// What is wrong with a command; none where it could be run, or is only spoken of (its name, without what it is about).
fn wrong(command: &str) -> Option<String> {
    // What a shell fills in is one word; behind several spaces stands what it does.
    let mut command = command.split("   ").next().unwrap_or(command).to_owned();
    while let Some((before, after)) =
        command.split_once("$(").map(|(before, after)| (before.to_owned(), after.to_owned()))
    {
        command = format!("{before}main{}", after.split_once(')').map_or("", |(_, rest)| rest));
    }
    let end = command.find(['|', '>', '&', ';', '#']).unwrap_or(command.len());
    let plain = |word: &str| if word == "NAME" { "web".to_owned() } else { word.replace(['\'', '"'], "") };
    let words: Vec<String> = command[..end].split_whitespace().map(plain).collect();
    if words.get(1).is_some_and(|word| word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '.')) {
        return None;
    }
    let spoken_of = words.len() == 2;
    match phaseline::cli::command().try_get_matches_from(&words) {
        Ok(_) => None,
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
            ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if spoken_of => {
                None
            }
            _ => Some(format!("{command}: {}", error.render().to_string().lines().next().unwrap_or_default())),
        },
    }
}

#[test]
fn commands_in_messages_exist() {
    let (mut count, mut faults) = (0, Vec::new());
    for (path, source) in sources() {
        for command in named(&joined(&source)) {
            count += 1;
            faults.extend(wrong(&command).map(|fault| format!("{path}: {fault}")));
        }
    }
    assert!(count > 40, "only {count} were found: they are written in another way now");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn commands_in_documents_exist() {
    let (mut count, mut faults) = (0, Vec::new());
    for path in DOCUMENTS {
        let Ok(text) = fs::read_to_string(Path::new(&root()).join(path)) else { continue };
        let shown =
            text.lines().map(|line| line.trim_start().trim_start_matches("$ ").trim_start_matches("Try:").trim());
        let typed = shown.filter(|line| line.starts_with("phaseline ") && !line.ends_with('\\')).map(str::to_owned);
        // A command line in running text may be broken like any other.
        let flowing = text.replace('\n', " ");
        for command in typed.chain(named(&flowing)) {
            count += 1;
            faults.extend(wrong(&command).map(|fault| format!("{path}: {fault}")));
        }
    }
    assert!(count > 20, "only {count} were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_does_not_exist_is_found() {
    let text = joined(
        "say(\"it failed: `phaseline \\\n    undo {name}`, or `phaseline retry {} --hard`; `phaseline adopt`\")",
    );
    let faults: Vec<_> = named(&text).iter().filter_map(|command| wrong(command)).collect();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(named("ours(&format!(\"abort {name}\"))").iter().all(|command| wrong(command).is_some()));
}
