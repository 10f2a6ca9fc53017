//! Bad manifests and plans by name: what is said of each, and that the good set beside it is read all the same.

use phaseline::manifest::{MAX_FILE_BYTES, bind, parse};
use phaseline::model::{Diagnostic, WorkloadId};

/// A set that nothing is wrong with.
const GOOD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: good, namespace: shop}
spec:
  serviceName: good
  selector: {matchLabels: {app: good}}
  template:
    metadata: {labels: {app: good}}
    spec: {containers: [{name: main, image: nginx}]}
";

/// What a file comes to.
enum Comes {
    /// An error that has these words.
    Refused(&'static str),
    /// No error; a warning that has these words.
    Warned(&'static str),
    /// Nothing is said.
    Read,
}

use Comes::{Read, Refused, Warned};

fn set(text: &str) -> Vec<u8> {
    GOOD.replace("good", "bad").replace("spec:\n  serviceName", &format!("{text}\nspec:\n  serviceName")).into_bytes()
}

fn with(old: &str, new: &str) -> Vec<u8> {
    let bad = GOOD.replace("good", "bad");
    assert!(bad.contains(old), "{old}");
    bad.replace(old, new).into_bytes()
}

fn plan(stages: &str) -> Vec<u8> {
    format!(
        "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nmetadata: {{name: good, namespace: shop}}\nspec:\n  \
         workloadRef: {{name: good}}\n  stages:\n{stages}"
    )
    .into_bytes()
}

fn bomb() -> String {
    (1..9).fold("a0: &a0 [x, x, x]\n".to_owned(), |text, level| {
        format!("{text}a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", "))
    })
}

fn manifests() -> Vec<(&'static str, Vec<u8>, Comes)> {
    vec![
        ("Y01 alias bomb", set(&bomb()), Refused("too many aliases")),
        ("Y02 an alias of itself", set("a: &a [*a]"), Refused("contains itself")),
        (
            "Y03 chain of merges",
            set(&(1..500)
                .fold("a0: &a0 {x: 1}\n".into(), |text: String, n| format!("{text}a{n}: &a{n} {{<<: *a{}}}\n", n - 1))),
            Refused("nested more than 200 levels"),
        ),
        ("Y04 open brackets", "[".repeat(200_000).into_bytes(), Refused("nested more than 200 levels")),
        (
            "Y05 nested mappings",
            (0..1_400).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<String>().into_bytes(),
            Refused("nested more than 200 levels"),
        ),
        ("Y06 a huge file", vec![b'a'; MAX_FILE_BYTES + 1], Refused("at most 1048576 are read")),
        (
            "Y07 keys without end",
            (0..140_000).map(|n| format!("{n}:\n")).collect::<String>().into_bytes(),
            Refused("more than 200000 values"),
        ),
        ("Y08 a key twice", set("kind: StatefulSet"), Warned("the key `kind` is there twice, and the last one counts")),
        (
            "Y09 partition twice",
            with(
                "  serviceName: bad\n",
                "  serviceName: bad\n  updateStrategy: {rollingUpdate: {partition: 3, partition: 2}}\n",
            ),
            Warned("the key `partition` is there twice"),
        ),
        ("Y10 no UTF-8", [set(""), b"# \xff\n".to_vec()].concat(), Refused("no valid UTF-8")),
        (
            "Y11 UTF-16",
            [0xfeff]
                .into_iter()
                .chain(String::from_utf8(set("")).unwrap().encode_utf16())
                .flat_map(u16::to_le_bytes)
                .collect(),
            Read,
        ),
        ("Y11 half a character of UTF-16", b"\xff\xfea\0b".to_vec(), Refused("no valid UTF-16")),
        ("Y12 a byte order mark", [b"\xef\xbb\xbf".to_vec(), set("")].concat(), Read),
        ("Y12 one in the middle", set("\u{feff}a: 1"), Refused("U+FEFF may not stand in YAML as it is")),
        ("Y13 NUL", set("a: \0"), Refused("U+0000 may not stand in YAML as it is")),
        ("Y13 C1", set("a: \u{9b}"), Refused("U+009B may not stand in YAML as it is")),
        ("Y14 a name written backwards", with("name: bad", "name: \"ba\u{202e}d\""), Refused("\\u{202e}")),
        ("Y15 CR LF", String::from_utf8(set("")).unwrap().replace('\n', "\r\n").into_bytes(), Read),
        ("Y15 mixed", String::from_utf8(set("")).unwrap().replacen('\n', "\r\n", 3).into_bytes(), Read),
        ("Y16 tabs", with("  serviceName", "\tserviceName"), Refused("found character that cannot start any token")),
        (
            "Y17 ten thousand documents",
            [set(""), "---\n{apiVersion: v1, kind: A}\n".repeat(9_999).into_bytes()].concat(),
            Read,
        ),
        (
            "Y17 more of them",
            [set(""), "---\n{apiVersion: v1, kind: A}\n".repeat(10_001).into_bytes()].concat(),
            Refused("more than 10000 documents"),
        ),
        ("Y18 empty documents", [b"---\n# nothing\n---\n\n---\n".to_vec(), set("")].concat(), Read),
        (
            "Y19 garbage behind the separator",
            [b"---garbage\n".to_vec(), set("")].concat(),
            Refused("`garbage` stands behind the separator"),
        ),
        ("Y20 binary that is none", set("a: !!binary '*'"), Refused("is no base64")),
        ("Y20 a number that is none", set("a: !!int x"), Refused("the tag `!!int` stands before text")),
        ("Y20 a handle that is none", set("a: !e!x y"), Refused("found undefined tag handle")),
        ("Y20 an object of Python", set("a: !!python/object:os.system {}"), Read),
        (
            "Y21 a label that is a boolean",
            with("labels: {app: bad}", "labels: {app: bad, beta: on}"),
            Refused("text is expected"),
        ),
        ("Y21 an image that is octal", with("image: nginx", "image: 0123456"), Refused("text is expected")),
        (
            "Y22 replicas without end",
            with("  serviceName", "  replicas: .inf\n  serviceName"),
            Refused("no number that JSON knows"),
        ),
        (
            "Y22 replicas that are no number",
            with("  serviceName", "  replicas: .nan\n  serviceName"),
            Refused("no number that JSON knows"),
        ),
        (
            "Y23 lists in lists",
            (0..9)
                .fold("{apiVersion: v1, kind: A}".to_owned(), |inner, _| {
                    format!("{{apiVersion: v1, kind: List, items: [{inner}]}}")
                })
                .into_bytes(),
            Refused("lists inside lists, more than 8 deep"),
        ),
        ("Y24 generateName", with("name: bad,", "generateName: bad-,"), Refused("name")),
        ("Y25 a long name", with("name: bad,", &format!("name: {},", "a".repeat(254))), Refused("name")),
        ("Y25 upper case", with("name: bad,", "name: Bad,"), Refused("name")),
        ("Y25 a path", with("name: bad,", "name: ../x,"), Refused("name")),
        ("Y28 a template", with("image: nginx", "image: {{ .Values.image }}"), Refused("a key of text was expected")),
        (
            "Y28 a template of blocks",
            [b"{{ if .Values.on }}\n".to_vec(), set(""), b"{{ end }}\n".to_vec()].concat(),
            Refused("text after the end of the document"),
        ),
        (
            "G08 a pointer of LFS",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n".to_vec(),
            Refused("Git LFS pointer"),
        ),
    ]
}

fn plans() -> Vec<(&'static str, Vec<u8>, Comes)> {
    let stage = |size: &str| plan(&format!("    - {{name: a, {size}}}\n    - {{name: b, replicas: \"100%\"}}\n"));
    let many: String = (0..20_000).map(|n| format!("    - {{name: s{n}, replicas: {n}}}\n")).collect();
    vec![
        ("P01 partition below zero", stage("partition: -1"), Refused("partition")),
        ("P02 partition beyond 32 bits", stage("partition: 2147483648"), Refused("partition")),
        ("P02 partition beyond 64 bits", stage("partition: 9223372036854775808"), Refused("partition")),
        ("P03 stages without end", plan(&many), Refused("stages")),
        ("P04 no stages", plan("    []\n"), Refused("stage")),
        (
            "P05 a stage twice",
            plan("    - {name: a, replicas: 1}\n    - {name: a, replicas: \"100%\"}\n"),
            Refused("`a`"),
        ),
        ("P07 more than everything", stage("replicas: \"101%\""), Refused("101%")),
        ("P07 less than nothing", stage("replicas: \"-5%\""), Refused("-5%")),
        ("P07 a blank in it", stage("replicas: \"5 %\""), Refused("5 %")),
        ("P07 a part of a percent", stage("replicas: \"33.333%\""), Refused("33.333%")),
        ("P07 a half", stage("replicas: \"½\""), Refused("½")),
        ("P12 a pause below zero", stage("replicas: 1, pause: {duration: -1s}"), Refused("-1s")),
        ("P12 ISO 8601", stage("replicas: 1, pause: {duration: PT1H}"), Refused("PT1H")),
        ("P13 seconds without end", stage("replicas: 1, minReadySeconds: 99999999999"), Refused("minReadySeconds")),
        ("P15 a key misspelt", stage("parttion: 1"), Refused("parttion")),
        ("P19 a key twice", stage("replicas: 1, replicas: 2"), Refused("the key `replicas` is there twice")),
        ("P26 a name with HTML", plan("    - {name: <b>, replicas: \"100%\"}\n"), Read),
        (
            "P26 a name of 10 KB",
            plan(&format!("    - {{name: {}, replicas: \"100%\"}}\n", "x".repeat(10_240))),
            Refused("name"),
        ),
        (
            "P26 a name that does something to a terminal",
            plan("    - {name: \"\\e[31m\", replicas: \"50%\"}\n"),
            Refused("cannot be seen"),
        ),
    ]
}

/// What is said of a file that lies beside a good set; and whether that one is still there.
fn said(file: &str, bytes: &[u8]) -> (Vec<Diagnostic>, bool) {
    let files = [("good.yaml", GOOD.as_bytes()), (file, bytes)];
    let parsed: Vec<_> = files.iter().map(|(file, bytes)| (*file, parse(file, bytes))).collect();
    let mut found: Vec<Diagnostic> = parsed.iter().flat_map(|(_, (_, findings))| findings.clone()).collect();
    let bound =
        bind(parsed.iter().map(|(file, (documents, findings))| (*file, &documents[..], &findings[..])), "default");
    found.extend(bound.diagnostics.iter().chain(bound.broken_files.values().flatten()).cloned());
    let mut good = false;
    for (id, workload) in &bound.workloads {
        match workload {
            Ok(workload) => {
                found.extend(workload.diagnostics.iter().cloned());
                good |= *id == WorkloadId::new("shop", "good");
            }
            Err(problem) => found.extend(problem.diagnostics.iter().cloned()),
        }
    }
    (found, good)
}

#[test]
fn every_bad_file_comes_to_what_is_stated() {
    let mut bad = Vec::new();
    for (name, bytes, comes) in manifests().into_iter().chain(plans()) {
        let (found, good) = said("bad.yaml", &bytes);
        let words = |error: bool, words: &str| {
            found.iter().any(|it| it.is_error() == error && (it.message.contains(words) || it.hint.contains(words)))
        };
        let right = match comes {
            Refused(expected) => words(true, expected),
            Warned(expected) => words(false, expected) && !found.iter().any(Diagnostic::is_error),
            Read => !found.iter().any(Diagnostic::is_error),
        };
        // A plan that is for the good set stops it; a set that cannot be read stops itself.
        let stands = good || name.starts_with('P');
        let placed = found.iter().filter(|it| it.is_error()).all(|it| it.file == "bad.yaml");
        let short = found.iter().all(|it| it.to_string().len() < 1_000 && !it.message.contains(['\u{1b}', '\u{202e}']));
        if !right || !stands || !placed || !short {
            let found: Vec<_> = found.iter().take(4).map(ToString::to_string).collect();
            bad.push(format!("{name} (the good set stands: {good}): {found:#?}"));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
