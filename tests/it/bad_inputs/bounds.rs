//! The worst files there are: none takes more than 64 MiB or long to read.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use phaseline::manifest::{MAX_FILE_BYTES, parse};

/// Memory of the whole process that reads, in KiB.
const MAX_KIB: u64 = 64 << 10;

/// Time to read a file. The promise is a second; this is unoptimised, on a machine that does other things as well. What
/// grows with the square of a file's size takes minutes.
const MAX_TIME: Duration = Duration::from_secs(20);

/// As much of a text, again and again, as a file may hold.
fn full(text: &str) -> String {
    text.repeat(MAX_FILE_BYTES / text.len())
}

/// Numbered lines, as many as a file may hold.
fn lines(line: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        let line = line(number);
        if text.len() + line.len() > MAX_FILE_BYTES {
            break;
        }
        text.push_str(&line);
    }
    text
}

fn bomb(leaf: &str, of: impl Fn(&str) -> String) -> String {
    let mut text = format!("a0: &a0 {leaf}\n");
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(text, "a{level}: &a{level} {}", of(&aliases)).unwrap();
    }
    text
}

/// A head and a tail, and between them an item as often as a file may hold it.
fn many(head: &str, item: &str, tail: &str) -> String {
    format!("{head}{}{tail}", item.repeat((MAX_FILE_BYTES - head.len() - tail.len()) / item.len()))
}

/// A name, and what makes the file.
type File = (&'static str, fn() -> String);

fn files() -> Vec<File> {
    vec![
        ("alias bomb", || bomb("[x, x, x, x]", |aliases| format!("[{aliases}]"))),
        ("merge bomb", || bomb("{a: 1, b: 2, c: 3}", |aliases| format!("{{<<: [{aliases}], x: [{aliases}]}}"))),
        ("aliases of a long text", || {
            format!("a: &a {}\nb: [{}]\n", full("x").split_off(MAX_FILE_BYTES / 2), "*a, ".repeat(100_000))
        }),
        ("merges of many keys", || {
            let keys: String = (0..5_000).map(|key| format!("k{key}: {key}, ")).collect();
            format!("a: &a {{{keys}}}\n{}", (0..10_000).map(|n| format!("m{n}: {{<<: *a}}\n")).collect::<String>())
        }),
        ("merge chain", || lines(|n| format!("a{n}: &a{n} {{<<: *a{}, k: 1}}\n", n.saturating_sub(1)))),
        ("anchors", || lines(|n| format!("- &anchor{n} x\n"))),
        ("one anchor again and again", || full("- &a x\n")),
        ("an anchor without end", || format!("&{}", full("a").split_off(1))),
        ("a tag without end", || format!("!{}", full("a").split_off(1))),
        ("tag directives", || lines(|n| format!("%TAG !{n}! tag:x,{n}:\n"))),
        ("open brackets", || full("[")),
        ("open braces", || full("{a: ")),
        ("as deep as may be", || format!("{}1{}", "{a: ".repeat(200), "}".repeat(200))),
        ("as deep as may be, in lines", || (0..200).map(|n| format!("{}a:\n", " ".repeat(n))).collect()),
        ("closed brackets", || full("[]")),
        ("brackets in quotes", || full("[ ']', ")),
        ("dashes", || full("- ")),
        ("questions", || full("? ")),
        ("colons", || full(": ")),
        ("a staircase", || (0..1_400).map(|n| format!("{}a:\n", " ".repeat(n))).collect()),
        ("a staircase of dashes", || (0..1_400).map(|n| format!("{}-\n", " ".repeat(n))).collect()),
        ("one plain text", || full("x")),
        ("one plain text of words", || full("x ")),
        ("one plain text of lines", || full("x\n")),
        ("one plain text of empty lines", || format!("x{}y", full("\n").split_off(2))),
        ("one plain key", || format!("{}: 1\n", full("x").split_off(8))),
        ("blanks", || full(" ")),
        ("line ends", || full("\n")),
        ("carriage returns", || full("\r")),
        ("separators of lines", || full("\u{2028}")),
        ("comments", || full("#\n")),
        ("a quote that is not closed", || format!("a: \"{}", full("x ").split_off(6))),
        ("escapes", || format!("a: \"{}\"\n", "\\u00e9".repeat(170_000))),
        ("single quotes", || format!("a: '{}'\n", "''".repeat(500_000))),
        ("a block of lines", || format!("a: |\n{}", full("  x\n").split_off(8))),
        ("a folded block of empty lines", || format!("a: >\n{}", full("\n").split_off(8))),
        ("keys", || lines(|n| format!("key{n}:\n"))),
        ("short keys", || lines(|n| format!("{n:x}:\n"))),
        ("one key again and again", || full("a:\n")),
        ("keys that are numbers", || lines(|n| format!("{n}.5: y\n"))),
        ("keys in braces", || many("{", "a, ", "}")),
        ("items", || full("- 1\n")),
        ("empty items", || full("-\n")),
        ("items in brackets", || many("[", "1,", "]")),
        ("commas", || many("[", ",", "]")),
        ("mappings", || many("[", "{a},", "]")),
        ("empty mappings", || many("[", "{},", "]")),
        ("empty lists", || many("[", "[],", "]")),
        ("pairs in brackets", || many("[", "a: 1,", "]")),
        ("numbers", || many("[", "1e9,", "]")),
        ("a number without end", || format!("a: {}\n", full("1").split_off(8))),
        ("a float without end", || format!("a: 0.{}\n", full("1").split_off(8))),
        ("an exponent without end", || format!("a: 1e{}\n", full("1").split_off(8))),
        ("underscores", || format!("a: .{}1\n", full("1_").split_off(8))),
        ("separators", || full("---\n")),
        ("documents", || full("a\n---\n")),
        ("broken documents", || full("[\n---\n")),
        ("templates", || full("{{x}}\n---\n")),
        ("directives", || full("%a\n---\n")),
        ("objects", || full("{apiVersion: a, kind: b}\n---\n")),
        ("sets", || full("{apiVersion: apps/v1, kind: StatefulSet}\n---\n")),
        ("plans", || full("{apiVersion: phaseline.dev/v1alpha1, kind: RolloutPlan, a: y, a: n}\n---\n")),
        ("a list of objects", || many("{apiVersion: v1, kind: AList, items: [", "{},", "]}")),
        ("a list of sets", || many("{apiVersion: apps/v1, kind: StatefulSetList, items: [", "{a: y},", "]}")),
        ("lists in lists", || {
            many("{apiVersion: v1, kind: List, items: [", "{apiVersion: v1, kind: List, items: []},", "]}")
        }),
        ("what is read as something else", || {
            format!("apiVersion: apps/v1\nkind: StatefulSet\na: [{}]\n", "y,".repeat(90_000))
        }),
        ("ends of documents", || full("...\n")),
        ("JSON", || many("{\"apiVersion\":\"v1\",\"kind\":\"A\",\"a\":[", "{\"b\":1},", "0]}")),
        ("JSON without end", || full("{\"a\":")),
        ("JSON values", || full("{}")),
        ("JSON in one line", || lines(|n| if n == 0 { "{\"0\":0".into() } else { format!(",\"{n}\":{n}") })),
        ("JSON that is YAML at its end", || many("{\"a\":[", "1,", "y]}")),
        ("control characters", || full("\u{7}")),
        ("marks", || full("\u{feff}")),
        ("NEL", || full("a: b\u{85}")),
    ]
}

const FILE: &str = "PHASELINE_BAD_INPUT";

#[test]
fn the_worst_files_take_little_memory_and_time() {
    let files = files();
    // As the child: read one, and say what it took.
    if let Some(index) = std::env::var(FILE).ok().and_then(|index| index.parse::<usize>().ok()) {
        let text = files[index].1();
        let started = Instant::now();
        let (_, findings) = parse("a.yaml", text.as_bytes());
        let time = started.elapsed().as_millis();
        assert!(findings.len() <= 101);
        assert!(findings.iter().all(|finding| finding.to_string().len() < 1_000));
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        println!("\ntook {time} {}", peak.split_whitespace().next().unwrap());
        return;
    }
    if !std::path::Path::new("/proc/self/status").exists() {
        println!("left out: needs /proc");
        return;
    }
    let mut bad = Vec::new();
    let mut most = (0, 0);
    for (index, (name, text)) in files.iter().enumerate() {
        let text = text();
        assert!(text.len() <= MAX_FILE_BYTES, "{name}: {}", text.len());
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "bad_inputs::bounds::the_worst_files_take_little_memory_and_time", "--nocapture"])
            .env(FILE, index.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let Some(took) = said.lines().find_map(|line| line.strip_prefix("took ")) else {
            bad.push(format!("{name}: {said}{}", String::from_utf8_lossy(&output.stderr)));
            continue;
        };
        let (time, peak) = took.split_once(' ').unwrap();
        let (time, peak): (u64, u64) = (time.parse().unwrap(), peak.parse().unwrap());
        most = (most.0.max(time), most.1.max(peak));
        println!("{time:6} ms {peak:6} KiB {name}");
        if peak > MAX_KIB || u128::from(time) > MAX_TIME.as_millis() {
            bad.push(format!("{name}: {time} ms, {peak} KiB"));
        }
    }
    println!("at most {} ms, {} KiB", most.0, most.1);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
