//! The corpus of bad YAML: each ends in a named finding or is accepted as stated, in well under a second.

use std::time::{Duration, Instant};

use serde_json::json;

use super::*;
use crate::model::Severity;

/// One object of a kind that is nobody's, in one line.
const OBJECT: &str = "{apiVersion: v1, kind: Thing}\n";

/// Reads a file; every one has to be read quickly and tell little.
fn read(file: &str, bytes: &[u8]) -> (Vec<Document>, Vec<Diagnostic>) {
    let started = Instant::now();
    let result = parse(file, bytes);
    // No measurement: unoptimised, on a busy machine, it takes seconds at the most. What grows with the square of a
    // hostile file's size, or worse, takes minutes.
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert!(result.1.len() <= 101);
    assert!(result.1.iter().all(|finding| finding.to_string().len() < 1_000));
    result
}

/// The findings of a file, each as `line:column: message | hint`, warnings marked.
fn said(file: &str, bytes: &[u8]) -> Vec<String> {
    let line = |finding: &Diagnostic| {
        assert_eq!(finding.file, file);
        let warning = if finding.severity == Severity::Warning { "warning: " } else { "" };
        format!("{}:{}: {warning}{} | {}", finding.line, finding.column, finding.message, finding.hint)
    };
    read(file, bytes).1.iter().map(line).collect()
}

fn lines(documents: &[Document]) -> Vec<u32> {
    documents.iter().map(|document| document.line).collect()
}

#[test]
fn a_stream_of_documents_is_read_with_their_lines() {
    let text = format!(
        "# header\n\n{OBJECT}---\n---\n# only a comment\n---\n\n# why\n{OBJECT}---\nnull\n--- # last\n{OBJECT}...\n"
    );
    let (documents, findings) = read("a.yaml", text.as_bytes());
    assert_eq!(findings, []);
    assert_eq!(lines(&documents), [3, 10, 14]);
    assert_eq!(documents[2].value, json!({"apiVersion": "v1", "kind": "Thing"}));
    assert_eq!(documents[2].locate("/kind"), Some((14, 24)));
    assert_eq!((documents[2].kind(), documents[2].api_version()), ("Thing", "v1"));
}

#[test]
fn encodings_and_line_ends_that_kubectl_takes_are_taken() {
    let crlf = OBJECT.replace('\n', "\r\n") + "---\r\n" + OBJECT + "---\n" + &OBJECT.replace('\n', "\r\n");
    let wide: Vec<u16> = OBJECT.encode_utf16().collect();
    let little: Vec<u8> = [0xff, 0xfe].into_iter().chain(wide.iter().flat_map(|unit| unit.to_le_bytes())).collect();
    let big: Vec<u8> = [0xfe, 0xff].into_iter().chain(wide.iter().flat_map(|unit| unit.to_be_bytes())).collect();
    for (bytes, count) in [
        ([b"\xef\xbb\xbf", OBJECT.as_bytes()].concat(), 1),
        (crlf.into_bytes(), 3),
        (little, 1),
        (big, 1),
        (Vec::new(), 0),
        (b"\n\n# nothing\n".to_vec(), 0),
    ] {
        let (documents, findings) = read("a.yaml", &bytes);
        assert_eq!((documents.len(), findings), (count, Vec::new()));
    }
    assert!(said("a.yaml", b"\xff\xfea")[0].starts_with("0:0: the file is no valid UTF-16 | save it as UTF-8"));
    assert_eq!(
        said("a.yaml", b"a: 1\nb\xc3\xa4: \xff\n"),
        ["2:5: the file is no valid UTF-8 | save the file as UTF-8"]
    );
}

#[test]
fn lists_are_unrolled_with_the_lines_of_their_items() {
    let text = "\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: A
- apiVersion: v1
  kind: List
  items:
  - {apiVersion: v1, kind: B}
- {}
---
apiVersion: apps/v1
kind: StatefulSetList
items:
- metadata: {name: web}
";
    let (documents, findings) = read("a.yaml", text.as_bytes());
    let kinds: Vec<_> = documents.iter().map(|document| (document.kind(), document.line)).collect();
    assert_eq!(kinds, [("A", 4), ("B", 9), ("StatefulSet", 15)]);
    assert_eq!(documents[2].locate("/metadata/name"), Some((15, 20)));
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].line, findings[0].severity), (10, Severity::Warning));
    let deep = (0..20).fold("{apiVersion: v1, kind: A}".to_owned(), |inner, _| {
        format!("{{apiVersion: v1, kind: List, items: [{inner}]}}")
    });
    assert_eq!(said("a.yaml", deep.as_bytes()), ["1:0: lists inside lists, more than 8 deep | "]);
}

#[test]
fn json_files_are_read() {
    let text = "{\"apiVersion\": \"v1\", \"kind\": \"A\"}\n\n{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"B\"\n}\n";
    for file in ["a.json", "a.yaml"] {
        let (documents, findings) = read(file, text.as_bytes());
        assert_eq!((lines(&documents), findings), (vec![1, 3], Vec::new()));
        assert_eq!(documents[1].locate("/kind"), Some((5, 11)));
    }
    assert_eq!(
        said("a.json", b"{\"a\": 1,\n \"b\": ]}"),
        ["2:7: expected a value, but found `]` | correct the JSON, or write it as YAML"]
    );
    let twice = b"{\"apiVersion\": \"apps/v1\", \"kind\": \"StatefulSet\", \"kind\": \"StatefulSet\"}";
    assert_eq!(
        said("a.json", twice),
        ["1:50: warning: the key `kind` is there twice, and the last one counts | remove one of them"]
    );
}

#[test]
fn what_is_no_yaml_is_told_with_place_and_way_out() {
    const TABS: &str = "YAML is indented with spaces, never with tabs";
    const HELM: &str = "looks like a Helm template; render it first (`helm template`) and commit what comes out";
    let second = |text: &str| format!("{OBJECT}---\n{text}");
    let key = "a mapping as a key: a key of text was expected";
    for (text, expected) in [
        (second("a:\n\tb: 1\n"), format!("4:1: found character that cannot start any token, while scanning for the next token | {TABS}")),
        (second("name: {{ .Values.name }}\n"), format!("3:8: {key} | {HELM}")),
        (second("{{- if .Values.on }}\na: b\n{{- end }}\n"), format!("3:3: did not find expected node content, but `-`, while parsing a flow node | {HELM}")),
        (second("a: [1\nb: 2\n"), "4:2: did not find expected ',' or ']', but `:`, while parsing a flow sequence | close the bracket, or put a comma between the entries".into()),
        (second("a: *b\n"), "3:4: unknown anchor 'b' referenced | put the anchor `&` before its alias `*`, in the same document; quote a text that begins with `*`".into()),
        (second("a: &a [*a]\n"), "3:8: the value of the anchor `a` contains itself | write the value out, without the alias".into()),
        (second("a: !!binary x\n"), "3:4: the text of a `!!binary` is no base64 | write base64 with its padding `=`, or remove the tag".into()),
        (second("a: !!int x\n"), "3:4: the tag `!!int` stands before text | remove the tag, or write a value of its type".into()),
        (second("a: {<<: 3}\n"), "3:9: `<<` merges mappings, and this is none | put an alias of a mapping, a mapping, or a list of these behind `<<`".into()),
        (second("1: a\n'1': b\n"), "4:1: two keys are `1` once they are text: kubectl keeps either of them | remove one of them".into()),
        (second("~: a\n"), "3:1: null as a key: text was expected | quote the key".into()),
        (second("spec: {replicas: .inf}\n"), "3:18: `inf` is no number that JSON knows | quote it if it is meant as text".into()),
        (second("spec: {replicas: .nan}\n"), "3:18: `NaN` is no number that JSON knows | quote it if it is meant as text".into()),
        (format!("%YAML 1.1\n---\n{OBJECT}"), "2:1: did not find expected <document start>, but the end of the document | remove the lines that begin with `%`: kubectl reads no directives".into()),
        (second("b: ü\na: \u{0}\n"), "4:4: the character U+0000 may not stand in YAML as it is | write it as an escape in double quotes".into()),
        (second("a: \u{9b}\n"), "3:4: the character U+009B may not stand in YAML as it is | write it as an escape in double quotes".into()),
        (format!("{OBJECT}---garbage\n{OBJECT}"), "2:4: `garbage` stands behind the separator `---`: nothing was expected there | begin the document on the next line, as kubectl wants it".into()),
        (format!("{OBJECT}...\n{OBJECT}"), "3:1: text after the end of the document, which kubectl leaves out in silence | begin a new document with a line `---`".into()),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:00\n".into(), "1:0: this is a Git LFS pointer, not the file itself | keep manifests out of Git LFS (`git lfs untrack`, then `git add --renormalize`)".into()),
        ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> topic\n".into(), "2:0: there are merge conflict markers in it | resolve the conflict and commit the result".into()),
        ("apiVersion: apps/v1\nkind: StatefulSet\nsops: {mac: x}\n".into(), format!("1:0: the document is encrypted with SOPS | {}", hint::DECRYPT)),
        ("apiVersion: ENC[x]\nkind: ENC[y]\nsops: {mac: x}\n".into(), format!("1:0: the document is encrypted with SOPS | {}", hint::DECRYPT)),
    ] {
        assert_eq!(said("a.yaml", text.as_bytes()), [expected], "{text}");
    }
    // What stands before and behind a broken document is read.
    let (documents, findings) = read("a.yaml", format!("{OBJECT}---\na: [\n---\n{OBJECT}").as_bytes());
    assert_eq!((lines(&documents), findings.len()), (vec![1, 5], 1));
}

#[test]
fn what_yaml_reads_as_something_else_is_told() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\n";
    for (text, expected) in [
        (
            "a: 1\nb: 2\na: 3\n",
            "5:1: warning: the key `a` is there twice, and the last one counts | remove one of them",
        ),
        (
            "b: {c: 1, c: 2}\n",
            "3:11: warning: the key `c` is there twice, and the last one counts | remove one of them",
        ),
        (
            "b: {x: 1, <<: {x: 2}}\n",
            "3:11: warning: the merge `<<` overwrites `x`, which stands above it | put `<<` first: what stands behind it wins",
        ),
        ("on: 1\n", "3:1: warning: the key `on` is read as `true` | quote it if another key is meant"),
        ("a: {010: x}\n", "3:5: warning: the key `010` is read as `8` | quote it if another key is meant"),
        (
            "a: yes\n",
            "3:4: warning: `yes` is read as the boolean true | write `true` or `false`, or quote it if it is meant as text",
        ),
        (
            "a: 0123456\n",
            "3:4: warning: `0123456` is read as the number 42798: a leading zero makes it octal | quote it if it is meant as text",
        ),
        ("a: 1_000\n", "3:4: warning: `1_000` is read as the number 1000 | quote it if it is meant as text"),
        (
            "a: 18446744073709551615\n",
            "3:4: warning: `18446744073709551615` is read as the number 18446744073709552000: it is beyond the integers of 64 bits | quote it if it is meant as text",
        ),
        ("image: 1.20\n", "3:8: warning: `1.20` is read as the number 1.2, where text is expected | quote it"),
        (
            "labels: {app: off}\n",
            "3:15: warning: `off` is read as the boolean false, where text is expected | quote it",
        ),
        (
            "env:\n- {name: a, value: 0x1F}\n",
            "4:20: warning: `0x1F` is read as the number 31, where text is expected | quote it",
        ),
        ("args: [-v, 1e3]\n", "3:12: warning: `1e3` is read as the number 1000, where text is expected | quote it"),
        (
            "a: [*b]\n",
            "3:5: unknown anchor 'b' referenced | put the anchor `&` before its alias `*`, in the same document; quote a text that begins with `*`",
        ),
    ] {
        assert_eq!(said("a.yaml", format!("{set}{text}").as_bytes()), [expected], "{text}");
    }
    // Nobody is told what is no surprise: the mode of a file, a time, a boolean, what stands in quotes.
    let plain =
        "defaultMode: 0644\na: 12:30:45\nb: true\nc: 'yes'\n\"on\": 1\nd: 1.5\nlabels: {a: 'off', b: true}\ne: ~\n";
    assert_eq!(said("a.yaml", format!("{set}{plain}").as_bytes()), Vec::<String>::new());
    // Other kinds are left to others.
    assert_eq!(said("a.yaml", b"apiVersion: v1\nkind: ConfigMap\ndata: {a: yes, a: no}\n"), Vec::<String>::new());
    // No kubectl reads a plan: there the last of two keys is nobody's wish.
    let plan = b"apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nspec: {workloadRef: {name: web}, stages: [], stages: []}\n";
    assert_eq!(
        said("a.yaml", plan),
        ["3:46: the key `stages` is there twice, and the last one counts | remove one of them"]
    );
    let (documents, _) = read("a.yaml", plan);
    assert!(documents[0].unreadable);
    assert_eq!(documents[0].value.pointer("/spec/workloadRef/name"), Some(&json!("web")));
}

#[test]
fn what_is_no_kubernetes_object_is_reported_and_not_guessed() {
    const OUT: &str = "move it out of the path, if it is not meant for the cluster";
    const SET: &str = "a StatefulSet begins with `apiVersion: apps/v1` and `kind: StatefulSet`";
    const PLAN: &str = "a rollout plan begins with `apiVersion: phaseline.dev/v1alpha1` and `kind: RolloutPlan`";
    for (file, text, expected) in [
        (
            "odd.yaml",
            "a: 1\n",
            format!(
                "1:0: warning: the document has neither `apiVersion` nor `kind`: it is no Kubernetes object | {OUT}"
            ),
        ),
        ("a.yaml", "- 1\n", format!("1:0: warning: the document is no mapping: it is no Kubernetes object | {OUT}")),
        (
            "a.yaml",
            "just text\n",
            format!("1:0: warning: the document is no mapping: it is no Kubernetes object | {OUT}"),
        ),
        (
            "a.yaml",
            "apiVersion: v1\n",
            format!("1:0: warning: the document has no `kind`: it is no Kubernetes object | {OUT}"),
        ),
        ("a.yaml", "# x\nkind: StatefulSet\n", format!("2:0: the document has no `apiVersion` | {SET}")),
        ("a.yaml", "apiVersion: apps/v1\nspec: {}\n", format!("1:0: the document has no `kind` | {SET}")),
        (
            "a.yaml",
            "spec: {serviceName: web, template: {}}\n",
            format!("1:0: the document has neither `apiVersion` nor `kind` | {SET}"),
        ),
        ("a.yaml", "kind: RolloutPlan\n", format!("1:0: the document has no `apiVersion` | {PLAN}")),
        ("a.yaml", "spec: {stages: []}\n", format!("1:0: the document has neither `apiVersion` nor `kind` | {PLAN}")),
        (
            "x/rollout-plan.yml",
            "steps: []\n",
            format!("1:0: the document has neither `apiVersion` nor `kind` | {PLAN}"),
        ),
        ("x/rollout-plan.yml", "- 1\n", format!("1:0: the document is no mapping | {PLAN}")),
    ] {
        assert_eq!(said(file, text.as_bytes()), [expected], "{text}");
    }
}

#[test]
fn words_that_yaml_readers_dispute_are_left_as_they_are_read() {
    // Exactly kubectl's reading of these is a matter of `yaml`; here only that none is refused.
    let text = "apiVersion: v1\nkind: A\nvalues: [no, on, 1e3, 0o17, 12:30:45, '\u{85}', \"\\u202e\"]\n";
    let (documents, findings) = read("a.yaml", text.as_bytes());
    assert_eq!((documents.len(), findings.len()), (1, 0));
    assert_eq!(documents[0].value["values"][2], json!(1000));
}

#[test]
fn an_unreadable_plan_still_says_which_set_it_is_for() {
    let plan =
        "apiVersion: phaseline.dev/v1alpha1\nkind: RolloutPlan\nspec:\n  workloadRef: {kind: StatefulSet, name: web}\n";
    for (file, text, name) in [
        ("a.yaml", format!("{plan}  stages: [\n"), Some("web")),
        ("a.yaml", format!("{plan}<<<<<<< a\n>>>>>>> b\n"), Some("web")),
        ("rollout-plan.yaml", "spec: [\n".into(), None),
        ("rollout-plan.json", "{\"spec\": {\"workloadRef\": {\"name\": \"web\"}, }".into(), Some("web")),
    ] {
        let (documents, findings) = read(file, text.as_bytes());
        assert_eq!((documents.len(), findings.len()), (1, 1), "{text}");
        assert!(documents[0].unreadable && documents[0].kind() == PLAN_KIND);
        assert_eq!(documents[0].value.pointer("/spec/workloadRef/name").and_then(Value::as_str), name);
    }
    let (documents, _) = read("a.yaml", b"spec: [\n");
    assert_eq!(documents, []);
}

#[test]
fn what_would_take_all_time_or_memory_is_refused_in_time() {
    let bomb: String = (1..9).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, level| {
        let aliases = vec![format!("*a{}", level - 1); 9].join(",");
        format!("{text}a{level}: &a{level} [{aliases}]\n")
    });
    let merges: String = (1..60).map(|n| format!("a{n}: &a{n} {{<<: *a{}, k{n}: 1}}\n", n - 1)).collect();
    let maps: String = (0..900).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    let keys: String = (0..55_000).map(|n| format!("k{n}: [1, 2, 3]\n")).collect();
    for (name, text, words) in [
        ("Y01", bomb, "too many aliases"),
        ("Y03", format!("apiVersion: v1\nkind: A\na0: &a0 {{x: 1}}\n{merges}"), ""),
        ("Y04", "[".repeat(200_000), "nested more than 200 levels deep"),
        ("Y05", maps, "nested more than 200 levels deep"),
        ("Y06", "a".repeat(MAX_FILE_BYTES + 1), "at most 1048576 are read"),
        ("Y07", keys, "more than 200000 values"),
        ("Y17", OBJECT.repeat(2).replace('\n', "\n---\n").repeat(5_000), ""),
        ("many broken", "a: [\n---\n".repeat(10_000), "did not find expected"),
        ("many templates", "{{x}}\n---\n".repeat(10_000), "a key of text was expected"),
        ("brackets in many documents", format!("{}\n---\n", "[".repeat(900)).repeat(1_000), "nested more than 200"),
        ("lists", format!("{{apiVersion: v1, kind: List, items: [{}]}}", "{kind: List, items: []},".repeat(9_000)), ""),
    ] {
        let (_, findings) = read("a.yaml", text.as_bytes());
        match words {
            "" => assert!(!findings.iter().any(Diagnostic::is_error), "{name}: {findings:?}"),
            _ => assert!(findings[0].message.contains(words), "{name}: {}", findings[0]),
        }
    }
    let (documents, _) = read("a.yaml", OBJECT.replace('\n', "\n---\n").repeat(10_000).as_bytes());
    assert_eq!(documents.len(), 10_000);
}
