//! Help texts are part of the product: each is held to a file. `PHASELINE_BLESS=1` writes the files anew.

use std::fs;
use std::path::{Path, PathBuf};

/// Wide enough for every table, narrow enough for a terminal.
const WIDTH: usize = 100;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli/help")
}

/// Every command's short help, by name; the program's own in both lengths.
fn texts() -> Vec<(String, String)> {
    let mut program = phaseline::cli::command().term_width(WIDTH);
    program.build();
    let mut texts = vec![
        ("phaseline".to_owned(), program.render_help().to_string()),
        ("phaseline-long".to_owned(), program.render_long_help().to_string()),
    ];
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for name in names.into_iter().filter(|name| name != "help") {
        let command = program.find_subcommand_mut(&name).unwrap();
        let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
        texts.push((name, format!("{about}\n\n---\n{}", command.render_help())));
    }
    texts
}

#[test]
fn help_texts_are_as_agreed() {
    let bless = std::env::var_os("PHASELINE_BLESS").is_some();
    let mut wrong = Vec::new();
    for (name, text) in texts() {
        let file = folder().join(format!("{name}.txt"));
        // A line that only the renderer pads is not worth an invisible difference.
        let text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        if bless {
            fs::write(&file, &text).unwrap();
        }
        if fs::read_to_string(&file).unwrap_or_default() != text {
            wrong.push(format!("{}:\n{text}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "other than agreed (PHASELINE_BLESS=1 takes it over):\n{}", wrong.join("\n"));
}

#[test]
fn there_is_no_file_of_a_command_that_is_not_there() {
    let names: Vec<String> = texts().into_iter().map(|(name, _)| format!("{name}.txt")).collect();
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn every_command_and_option_is_explained() {
    let mut program = phaseline::cli::command();
    program.build();
    for command in program.get_subcommands().chain([&program]) {
        assert!(command.get_about().is_some(), "{}", command.get_name());
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
        }
    }
}
