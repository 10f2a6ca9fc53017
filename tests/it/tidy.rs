//! Reads the sources and holds the architecture: the floors, the size of files, the words that must not be used.

use std::fs;
use std::path::{Path, PathBuf};

/// A file past this is two rooms.
const MOST_LINES: usize = 600;

/// The floor of each module directly under `src/`; a module may use its own floor's rooms below, never those above.
const FLOORS: &[(&str, u8)] = &[
    ("model", 0),
    ("manifest", 1),
    ("revision", 1),
    ("rollout", 1),
    ("sim", 1),
    ("sim::serve", 2),
    (CLOCK, 1),
    ("git", 2),
    ("cluster", 2),
    ("daemon", 3),
    ("cli", 4),
    ("main", 4),
    ("lib", 4),
];

/// What time it is: pure floors take it as an argument, all others may ask.
const CLOCK: &str = "clock";

/// What floors 0 and 1 must not name: runtimes, clients, the outside world, any clock, any chance.
const IMPURE: &[&str] = &[
    "tokio",
    "git2",
    "notify::",
    "clap",
    "tracing",
    "kube::",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "Instant",
    "SystemTime",
    "Timestamp::now",
    "Zoned::now",
    "fastrand",
    "rand::",
    "HashMap",
    "HashSet",
];

/// What each adapter is alone in naming.
const WRAPPED: &[(&str, &[&str])] =
    &[("git2", &["git"]), ("notify::", &["git"]), ("kube::", &["cluster"]), ("clap", &["cli", "main"])];

fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let below = path.strip_prefix(&root).unwrap();
                let room = below.components().next().unwrap().as_os_str().to_string_lossy();
                let served = below.starts_with("sim/serve") || below.starts_with("sim/serve.rs");
                let room = if served { "sim::serve".into() } else { room.trim_end_matches(".rs").to_owned() };
                let text = fs::read_to_string(&path).unwrap();
                files.push((room, below.to_path_buf(), text));
            }
        }
    }
    files.sort();
    files
}

/// The code of a file: without comments and without its tests, which may do more.
fn code(text: &str) -> String {
    let body = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    body.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

fn floor(room: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == room).map(|(_, floor)| *floor)
}

/// Whether `word` stands in `code` on its own, not as part of a longer name.
fn names(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        let part = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
        !part(before) && (word.ends_with(':') || !part(after))
    })
}

#[test]
fn every_room_has_a_floor_and_uses_only_what_lies_below() {
    let mut wrong = Vec::new();
    for (room, file, text) in sources() {
        let Some(own) = floor(&room) else {
            wrong.push(format!("{}: the room `{room}` has no floor", file.display()));
            continue;
        };
        if file.ends_with("tests.rs") {
            continue;
        }
        let code = code(&text);
        for (other, its) in FLOORS {
            let used = names(&code, &format!("crate::{other}"));
            let beside = *its == own && *other != room && own == 2;
            if used && *other != room && (*its > own || beside) {
                wrong.push(format!("{}: floor {own} uses `{other}` of floor {its}", file.display()));
            }
        }
        for (word, rooms) in WRAPPED {
            if names(&code, word) && !rooms.contains(&room.as_str()) {
                wrong.push(format!("{}: only {rooms:?} may name `{word}`", file.display()));
            }
        }
        if own <= 1 && room != CLOCK {
            let asks = names(&code, "crate::clock")
                .then(|| format!("{}: floor {own} is pure and must not name the clock", file.display()));
            wrong.extend(asks);
            wrong.extend(
                IMPURE
                    .iter()
                    .filter(|word| names(&code, word))
                    .map(|word| format!("{}: floor {own} is pure and must not name `{word}`", file.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_file_is_one_step_or_one_noun() {
    let mut wrong = Vec::new();
    for (_, file, text) in sources() {
        let lines = text.lines().count();
        if lines > MOST_LINES {
            wrong.push(format!("{}: {lines} lines, more than {MOST_LINES}: it is two rooms", file.display()));
        }
        if !text.starts_with("//! ") {
            wrong.push(format!("{}: its first line does not say what it is", file.display()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_tidy_test_sees_what_it_looks_for() {
    assert!(names("use tokio::sync;", "tokio"));
    assert!(!names("let tokiox = 1;", "tokio"));
    assert!(!names(&code("// tokio\nfn a() {}\n#[cfg(test)]\nmod tests { use tokio; }"), "tokio"));
    assert!(names("Timestamp::now()", "Timestamp::now"));
    assert!(sources().len() > 20);
}
