//! Takes out of a run what cannot be alike on two clusters, and nothing else.
//!
//! [`MAY_DIFFER`] lists it, for people too.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{play::Raw, trace::Trace};

/// What may differ between a real cluster and the embedded one (and between two real ones), and why.
pub(super) const MAY_DIFFER: &[(&str, &str)] = &[
    (
        "Events SuccessfulCreate and SuccessfulDelete that only the embedded cluster has",
        "a busy controller manager tells them minutes later, after the script; that the pods were made and deleted is compared",
    ),
    (
        "the order between pods of a Parallel set, objects of different sets, claims, and what the garbage collector does",
        "each goes its own way; the states of each object are compared, and the order within an OrderedReady set",
    ),
    ("what a pod's refusal ends with", "the difference of Go structs"),
    ("uids", "random; each becomes its object's kind, name and incarnation, so that who owns whom is still compared"),
    ("resourceVersions", "every cluster counts its own; compared is whether an answer shows the one seen before"),
    ("times", "all of them, also ages in tables; that there is one is compared"),
    ("the namespace's name", "each run has its own"),
    ("names of revisions that `kubectl rollout restart` made", "they are hashes of the time"),
    ("IP addresses, names of volumes, node details", "given out by whoever comes first"),
    ("bookmarks but the one that ends the initial events", "the server sends them when it likes"),
    ("the object within the message about a merge patch that cannot be read", "all of it, in the order of Go's fields"),
    ("who built the server, when and for what", "nobody asks"),
    (
        "what a parser says of a text that is no YAML",
        "the words are those of Go's parser; status, reason and the rest are compared",
    ),
    (
        "in how many steps a set's status changes",
        "two changes that come close together are seen as one; each value in between is that of before or of after, or \
         less by as many pods as `maxUnavailable` lets go at once, or as a Parallel set has",
    ),
    ("addresses of pointers in the values that 1.33 prints in Go's form", "they are those of the server's memory"),
    ("continue tokens", "they hold a resourceVersion; that there is one is compared"),
    ("order of managedFields", "sorted by time with whole seconds, so that it depends on when a second ends"),
    ("managedFields but those of StatefulSets", "the embedded cluster keeps none for other kinds"),
    (
        "counts, names and times of Events, repeated Events",
        "the recorder folds and limits them; compared is the set of reason, object and message",
    ),
    ("Events of budgets", "the embedded cluster counts a budget's pods when one is evicted, and tells nothing of it"),
    (
        "FailedScheduling and PodScheduled=False while a claim is not bound yet",
        "a race between the scheduler and the binder of claims",
    ),
    (
        "the order of changes to different objects, where two real runs differ in it",
        "the components do not wait for each other",
    ),
    ("states of an object that not every real run shows", "changes that come close together are seen as one"),
    ("kwok as the kubelet", "pods are played by image tags and annotations on both; kwok may delete one twice"),
];

/// What a version says of who built it.
const BUILT: [&str; 6] = ["buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion", "platform"];

/// A run without what may differ.
pub(super) fn normalized(raw: &Raw) -> Trace {
    let mut names =
        Names { namespace: &raw.namespace, restarts: BTreeMap::new(), uids: BTreeMap::new(), count: BTreeMap::new() };
    for seen in &raw.seen {
        names.learn(&seen.object);
    }
    for answer in &raw.answers {
        names.learn_all(&answer.came);
    }
    let mut trace = Trace::default();
    let mut versions = BTreeMap::new();
    for answer in &raw.answers {
        let mut came = names.value(&answer.came, "");
        mark_versions(&mut came, &mut versions);
        let mut came = tidy_answer(came);
        came["step"] = answer.step.clone().into();
        // What is printed while things happen is compared like the states of each object.
        for line in
            came.as_object_mut().and_then(|it| it.remove("beside")).iter().flat_map(|it| it.as_array()).flatten()
        {
            let first = line.as_str().and_then(|it| it.split("  ").next()).unwrap_or_default();
            let lines = trace.objects.entry(format!("{}: {first}", answer.step)).or_default();
            if lines.last() != Some(line) {
                lines.push(line.clone());
            }
        }
        trace.steps.push(came);
    }
    let mut story = Vec::new();
    for seen in &raw.seen {
        let mut object = names.value(&seen.object, "");
        let version = seen.object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        if object["kind"] == "Event" {
            let unbound = object["message"].as_str().is_some_and(|it| it.contains("unbound immediate"));
            if !unbound && object["involvedObject"]["kind"] != "PodDisruptionBudget" {
                trace.events.insert(event_line(&object));
            }
            continue;
        }
        drop_versions(&mut object);
        if is_waiting_for_claims(&object) {
            continue;
        }
        let key = names.key(&seen.object);
        let states = trace.objects.entry(key.clone()).or_default();
        let before = states.last().cloned().unwrap_or(Value::Null);
        let version: u64 = version.parse().unwrap_or(0);
        for line in milestones(&key, &seen.what, &before, &object) {
            story.push((version, story.len(), line));
        }
        let state = if seen.what == "DELETED" { Value::from("gone") } else { object };
        if before != state {
            states.push(state);
        }
    }
    story.sort();
    trace.story = counted(story.into_iter().map(|it| it.2));
    trace
}

/// Tells equal lines apart.
fn counted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    lines
        .map(|line| {
            let times = count.entry(line.clone()).or_default();
            *times += 1;
            if *times == 1 { line } else { format!("{line} ({times})") }
        })
        .collect()
}

fn event_line(event: &Value) -> String {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let by = [text("/reportingComponent"), text("/source/component")].into_iter().find(|it| !it.is_empty());
    format!(
        "{} {} {}/{} by {}: {}",
        text("/type"),
        text("/reason"),
        text("/involvedObject/kind"),
        text("/involvedObject/name"),
        by.unwrap_or_default(),
        text("/message")
    )
}

/// The scheduler looked before the claim was bound; or changed its mind.
pub(super) fn is_waiting_for_claims(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|it| it["type"] == "PodScheduled" && it["message"].as_str().is_some_and(about_claims))
}

/// Whether the scheduler speaks of claims that are not there yet, or not any more.
pub(super) fn about_claims(message: &str) -> bool {
    message.contains("unbound immediate") || message.contains("nodes are available: persistentvolumeclaim ")
}

/// What in a change is worth its place in the order of all changes.
fn milestones(key: &str, what: &str, before: &Value, after: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |text: String| lines.push(format!("{key} {text}"));
    if what == "DELETED" {
        say("gone".into());
        return lines;
    }
    if before.is_null() {
        match after["kind"].as_str() {
            Some("Pod") => say(format!("made at {}", label(after, "controller-revision-hash"))),
            Some("ControllerRevision") => say(format!("made with number {}", after["revision"])),
            _ => say("made".into()),
        }
    }
    let changed = |pointer: &str| before.pointer(pointer) != after.pointer(pointer);
    if changed("/metadata/deletionTimestamp") && after.pointer("/metadata/deletionTimestamp").is_some() {
        say("terminating".into());
    }
    if !before.is_null() && changed("/metadata/generation") && after["kind"] == "StatefulSet" {
        say(format!("generation {}", after["metadata"]["generation"]));
    }
    if !before.is_null() && changed("/revision") {
        say(format!("number {}", after["revision"]));
    }
    if !before.is_null() && changed("/metadata/ownerReferences") {
        let owners = after.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let owners: Vec<&str> = owners.into_iter().flatten().filter_map(|it| it["uid"].as_str()).collect();
        say(format!("owned by {owners:?}"));
    }
    if after["kind"] == "Pod" {
        let (was, is) = (ready(before), ready(after));
        if was != is {
            say(if is { "ready".into() } else { "unready".into() });
        }
        if changed("/status/phase") && after["status"]["phase"] != "Pending" {
            say(format!("phase {}", after["status"]["phase"].as_str().unwrap_or_default()));
        }
    }
    lines
}

fn label<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["labels"][key].as_str().unwrap_or("none")
}

fn ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

struct Names<'a> {
    namespace: &'a str,
    /// Names that hold a hash of the present time, as `kubectl rollout restart` makes them.
    restarts: BTreeMap<String, String>,
    /// uid -> `Pod/web-0#2`
    uids: BTreeMap<String, String>,
    count: BTreeMap<String, usize>,
}

impl Names<'_> {
    fn learn(&mut self, object: &Value) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let (Some(kind), Some(name), Some(uid)) = (text("/kind"), text("/metadata/name"), text("/metadata/uid")) else {
            return;
        };
        if self.uids.contains_key(uid) || kind == "Event" || kind == "PartialObjectMetadata" {
            return;
        }
        let mut name = name.replace(self.namespace, "NS");
        let restarted = "/data/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";
        let at = text(restarted).filter(|at| !at.starts_with("2026-01-01"));
        if let (Some(_), Some((set, hash))) = (at, name.clone().rsplit_once('-')) {
            let number = self.restarts.len() / 2;
            self.restarts.insert(hash.to_owned(), format!("RESTART{number}"));
            let other = format!("{set}-RESTART{number}");
            self.restarts.insert(name, other.clone());
            name = other;
        }
        let known = format!("{kind}/{name}");
        let count = self.count.entry(known.clone()).or_default();
        *count += 1;
        self.uids.insert(uid.to_owned(), format!("{known}#{count}"));
    }

    fn learn_all(&mut self, value: &Value) {
        self.learn(value);
        match value {
            Value::Array(items) => items.iter().for_each(|it| self.learn_all(it)),
            Value::Object(map) => map.values().for_each(|it| self.learn_all(it)),
            _ => {}
        }
    }

    fn key(&self, object: &Value) -> String {
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        self.uids.get(uid).cloned().unwrap_or_else(|| "?".into())
    }

    fn value(&self, value: &Value, key: &str) -> Value {
        match value {
            Value::String(text) => self.string(text, key),
            Value::Array(items) => {
                let mut items: Vec<Value> = items.iter().map(|it| self.value(it, key)).collect();
                if key == "managedFields" {
                    items.sort_by_key(|it| {
                        let word = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
                        (word("manager"), word("operation"), word("subresource"), word("apiVersion"))
                    });
                }
                items.into()
            }
            Value::Object(map) => {
                let mut result = Map::new();
                let is_set = match map.get("kind") {
                    Some(kind) => kind == "StatefulSet" || kind == "Scale",
                    // An item of a list has no kind.
                    None => map.get("spec").is_some_and(|it| it.get("podManagementPolicy").is_some()),
                };
                for (key, item) in map {
                    let mut item = self.value(item, key);
                    if key == "metadata"
                        && !is_set
                        && let Some(metadata) = item.as_object_mut()
                    {
                        metadata.remove("managedFields");
                    }
                    let Value::String(key) = self.string(key, "") else { continue };
                    result.insert(key, item);
                }
                result.into()
            }
            other => other.clone(),
        }
    }

    fn string(&self, text: &str, key: &str) -> Value {
        match key {
            "podIP" | "hostIP" | "ip" | "clusterIP" if text.contains('.') => return "IP".into(),
            "volumeName" => return "VOLUME".into(),
            "continue" if !text.is_empty() => return "CONTINUE".into(),
            // Kept: `mark_versions` compares them.
            "resourceVersion" => return text.into(),
            _ => {}
        }
        let mut text = text.replace(self.namespace, "NS");
        text = with_words(&text, |word| self.word(word));
        if key == "message" || key == "out" || key == "err" {
            text = without_versions(&without_addresses(&without_object(&text)));
        }
        text.into()
    }

    fn word(&self, word: &str) -> Option<String> {
        if let Some(known) = self.uids.get(word).or_else(|| self.restarts.get(word)) {
            return Some(known.clone());
        }
        if is_uuid(word) {
            return Some("UID".into());
        }
        is_time(word).then(|| "TIME".into())
    }
}

/// Looks at each run of characters that uids and times are made of.
fn with_words(text: &str, known: impl Fn(&str) -> Option<String>) -> String {
    let part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | ':' | '.' | '+');
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|char| !part(char)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        match known(word.trim_end_matches(['.', ':'])) {
            Some(other) => {
                result.push_str(&other);
                result.push_str(&word[word.trim_end_matches(['.', ':']).len()..]);
            }
            None => result.push_str(word),
        }
        let next = tail.chars().next().map_or(0, char::len_utf8);
        result.push_str(&tail[..next]);
        rest = &tail[next..];
    }
    result
}

fn is_uuid(word: &str) -> bool {
    let groups: Vec<&str> = word.split('-').collect();
    groups.iter().map(|it| it.len()).eq([8, 4, 4, 4, 12]) && word.chars().all(|it| it.is_ascii_hexdigit() || it == '-')
}

/// `2026-11-21T04:04:15Z`, with or without a fraction.
fn is_time(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 20 && bytes[4] == b'-' && bytes[10] == b'T' && word.parse::<jiff::Timestamp>().is_ok()
}

/// A merge patch that cannot be read is answered with the whole object, as Go prints it.
fn without_object(text: &str) -> String {
    let quoted = text.split_once("Invalid value: \"{\\\"apiVersion").and_then(|(before, rest)| {
        let (_, after) = rest.rsplit_once("}\": ")?;
        Some(format!("{before}Invalid value: OBJECT: {after}"))
    });
    quoted.unwrap_or_else(|| text.to_owned())
}

/// Pointers within a Go struct, which 1.33 prints in messages.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split(")(0x");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result.push_str(")(ADDRESS");
        result.push_str(part.trim_start_matches(|it: char| it.is_ascii_hexdigit()));
    }
    result
}

/// Numbers in messages are resourceVersions where they stand in certain brackets or behind certain words.
fn without_versions(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|it: char| it.is_ascii_digit()) {
        let (before, tail) = rest.split_at(at);
        let end = tail.find(|it: char| !it.is_ascii_digit()).unwrap_or(tail.len());
        let (digits, tail) = tail.split_at(end);
        result.push_str(before);
        // All that stands before, other numbers too.
        let before = &text[..text.len() - digits.len() - tail.len()];
        let bracketed = tail.starts_with(')') && ["record (", ": 1 ("].iter().any(|it| before.ends_with(it));
        let named = ["current: ", "resourceVersion=", "resourceVersion: \"", "\"resourceVersion\": \""];
        let version = bracketed || named.iter().any(|it| before.ends_with(it));
        result.push_str(if version { "VERSION" } else { digits });
        rest = tail;
    }
    result.push_str(rest);
    result
}

/// Replaces resourceVersions by whether the object was seen with this one before.
fn mark_versions(value: &mut Value, last: &mut BTreeMap<String, String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|it| mark_versions(it, last)),
        Value::Object(map) => {
            if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut)
                && let Some(Value::String(version)) = metadata.get("resourceVersion").cloned()
            {
                let mark = match metadata.get("uid").and_then(Value::as_str) {
                    None => "the list's",
                    Some(uid) => match last.insert(uid.to_owned(), version.clone()) {
                        None => "first",
                        Some(before) if before == version => "same",
                        Some(_) => "moved",
                    },
                };
                metadata.insert("resourceVersion".into(), mark.into());
            }
            map.values_mut().for_each(|it| mark_versions(it, last));
        }
        _ => {}
    }
}

fn drop_versions(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("uid");
    }
}

/// Ages in tables, blanks in what kubectl prints, the order of its lists of events.
fn tidy_answer(mut came: Value) -> Value {
    if let Some(events) = came.get_mut("body").and_then(Value::as_array_mut) {
        events.retain(|it| it["type"] != "BOOKMARK" || !it["object"]["metadata"]["annotations"].is_null());
    }
    if let Some(version) =
        came.get_mut("body").and_then(Value::as_object_mut).filter(|it| it.contains_key("gitVersion"))
    {
        for key in BUILT {
            version.remove(key);
        }
    }
    if came["body"]["kind"] == "Table" {
        tidy_table(&mut came["body"]);
    }
    for stream in ["out", "err", "beside"] {
        if let Some(lines) = came[stream].as_array() {
            let lines: Vec<String> = lines.iter().filter_map(Value::as_str).map(tidy_line).collect();
            came[stream] = without_builder(sorted_events(lines)).into();
        }
    }
    if let Some(requests) = came.get_mut("requests").and_then(Value::as_array_mut) {
        for request in requests.iter_mut() {
            if let Some(text) = request["request"].as_str() {
                request["request"] = tidy_request(text).into();
            }
        }
    }
    came
}

fn tidy_table(table: &mut Value) {
    let ages: BTreeSet<usize> = table["columnDefinitions"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, column)| ["Age", "Last Seen", "First Seen"].iter().any(|it| column["name"] == *it))
        .map(|(index, _)| index)
        .collect();
    for row in table["rows"].as_array_mut().into_iter().flatten() {
        for age in &ages {
            row["cells"][*age] = "AGE".into();
        }
        for cell in row["cells"].as_array_mut().into_iter().flatten() {
            if let Some(text) = cell.as_str() {
                *cell = text.split(' ').map(tidy_word).collect::<Vec<_>>().join(" ").into();
            }
        }
    }
}

fn is_address(word: &str) -> bool {
    word.parse::<std::net::IpAddr>().is_ok()
}

/// Columns are as wide as their ages; a run of blanks counts as two.
fn tidy_line(line: &str) -> String {
    let mut cells = Vec::new();
    let indent = line.len() - line.trim_start().len();
    for cell in line.split("  ").map(str::trim).filter(|it| !it.is_empty()) {
        let words: Vec<String> = cell.split(' ').map(tidy_word).collect();
        let cell = words.join(" ");
        cells.push(match cell.split_once(": ") {
            Some((key @ ("CreationTimestamp" | "Start Time" | "Started" | "Finished" | "Last Transition"), _)) => {
                format!("{key}: TIME")
            }
            _ => cell,
        });
    }
    // `CreationTimestamp:  Sat, 21 Nov 2026 04:04:15 +0000` has its blanks in the middle.
    if let [key, time] = cells.as_mut_slice()
        && ["CreationTimestamp:", "Start Time:", "Started:", "Finished:"].contains(&key.as_str())
    {
        "TIME".clone_into(time);
    }
    format!("{}{}", " ".repeat(indent), cells.join("  "))
}

fn tidy_word(word: &str) -> String {
    if is_age(word) {
        "AGE".into()
    } else if is_address(word) {
        "IP".into()
    } else if word.strip_prefix("pv-").is_some_and(|it| it.chars().all(|it| it.is_ascii_digit()))
        || word.strip_prefix("pvc-").is_some_and(is_uuid)
    {
        "VOLUME".into()
    } else {
        word.to_owned()
    }
}

/// `5s`, `2m10s`, `3h`.
fn is_age(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|it| it.is_ascii_digit());
    let mut rest = word;
    let mut found = false;
    while let Some(at) = rest.find(['s', 'm', 'h', 'd']) {
        if !digits(&rest[..at]) {
            return false;
        }
        found = true;
        rest = &rest[at + 1..];
    }
    found && rest.is_empty()
}

/// Events come in the order of their (whole) seconds, and some of them twice.
fn sorted_events(lines: Vec<String>) -> Vec<String> {
    let Some(at) = lines.iter().position(|it| it.starts_with("Events:")) else { return lines };
    let mut result = lines[..(at + 3).min(lines.len())].to_vec();
    let without_counts = |line: &String| match line.split_once(" (x") {
        Some((before, after)) => format!("{before}{}", after.split_once(')').map_or("", |it| it.1)),
        None => line.clone(),
    };
    let kept = lines.iter().skip(at + 3).filter(|it| !it.contains("unbound immediate"));
    let rest: BTreeSet<String> = kept.map(without_counts).collect();
    result.extend(rest);
    result
}

/// `kubectl version -o yaml` without who built the server.
fn without_builder(mut lines: Vec<String>) -> Vec<String> {
    let Some(at) = lines.iter().position(|it| it == "serverVersion:") else { return lines };
    let server = lines.split_off(at);
    let built = |line: &String| BUILT.iter().any(|key| line.trim_start().split(':').next() == Some(key));
    lines.extend(server.into_iter().filter(|line| !built(line)));
    lines
}

/// A watch starts where the list was, for a time that is random.
fn tidy_request(request: &str) -> String {
    let Some((path, query)) = request.split_once('?') else { return request.to_owned() };
    let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some(("resourceVersion", value)) if value.len() > 1 => "resourceVersion=VERSION".to_owned(),
        Some((key @ ("timeoutSeconds" | "continue"), _)) => format!("{key}=SOME"),
        // Made from a map, in any order.
        Some(("fieldSelector", selector)) => {
            let mut terms: Vec<&str> = selector.split(',').collect();
            terms.sort_unstable();
            format!("fieldSelector={}", terms.join(","))
        }
        _ => parameter.to_owned(),
    });
    format!("{path}?{}", parameters.collect::<Vec<_>>().join("&"))
}

#[test]
fn ages_times_and_uids_are_known() {
    assert!(is_age("5s") && is_age("2m10s") && !is_age("s") && !is_age("web") && !is_age("5"));
    assert!(is_time("2026-11-21T04:04:15Z") && is_time("2026-11-21T04:04:15.123456Z") && !is_time("2026-11-21"));
    assert!(is_uuid("9b3e1b24-3a1d-429e-98ad-28937cca847c") && !is_uuid("web-0"));
    assert_eq!(tidy_line("web-0   1/1     Running   0          12s"), "web-0  1/1  Running  0  AGE");
    assert_eq!(without_versions("too old resource version: 1 (1704)"), "too old resource version: 1 (VERSION)");
}
