//! A case: a YAML file under `tests/conformance/`, read into steps.
//!
//! `tests/conformance/README.md` describes the format.

use std::{fs, path::Path, time::Duration};

use serde_json::{Map, Value};

use super::level::Level;

/// A script and what it is for.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// Folder and file without `.yaml`: `checklist/05-rollback`.
    pub(super) name: String,
    /// One line.
    pub(super) title: String,
    /// Where it is played.
    pub(super) levels: Vec<Level>,
    /// Why only the embedded cluster can play it, where that is so.
    pub(super) embedded_only: Option<String>,
    /// Steps that are known to differ.
    pub(super) known: Vec<Known>,
    /// What is done, in order.
    pub(super) steps: Vec<Step>,
}

impl Case {
    /// The steps that are known to differ at a level.
    pub(super) fn known_at(&self, level: Level) -> Vec<&str> {
        self.known.iter().filter(|it| it.levels.contains(&level)).map(|it| it.step.as_str()).collect()
    }
}

/// A step that differs for a reason that stays.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    /// The step, as the report shows it.
    pub(super) step: String,
    /// Where.
    pub(super) levels: Vec<Level>,
    /// The reason.
    pub(super) why: String,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// A request whose whole answer is compared.
    Request(Request),
    /// The real `kubectl`; its output and its requests are compared.
    Kubectl(Command),
    /// A `kubectl` that runs beside the following steps until `Stop`, such as `get -w`.
    Start(Command),
    /// Ends what `Start` started; its output is compared.
    Stop,
    /// Until all of these hold.
    Wait(Vec<String>),
    /// Until nothing changed for so long.
    Settle(Duration),
    /// Nothing for so long, whatever happens.
    Sleep(Duration),
    /// The cluster forgets what changed up to now, as every server lets its etcd do in a while.
    Forget,
    /// Remembers texts under names.
    Keep(Vec<(String, String)>),
}

impl Step {
    /// As answers and the report name it; none where it answers nothing.
    pub(super) fn called(&self) -> Option<String> {
        match self {
            Self::Request(request) => Some(format!("{} {}", request.verb, request.path)),
            Self::Kubectl(command) => Some(format!("kubectl {}", command.args)),
            Self::Start(_)
            | Self::Stop
            | Self::Wait(_)
            | Self::Settle(_)
            | Self::Sleep(_)
            | Self::Forget
            | Self::Keep(_) => None,
        }
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    /// `GET`, .., or one of ours that stands for a content type or an `Accept`: see the README.
    pub(super) verb: String,
    /// As written: `sts/web?dryRun=All`.
    pub(super) path: String,
    /// What is sent; `Null` for nothing.
    pub(super) body: Value,
}

/// A `kubectl` command.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Command {
    /// Its arguments, split at blanks.
    pub(super) args: String,
    /// Its standard input.
    pub(super) stdin: Option<String>,
    /// The embedded cluster may print fewer lines, but none that the real one does not.
    pub(super) subset: bool,
}

const VERBS: [&str; 14] = [
    "GET",
    "POST",
    "PUT",
    "DELETE",
    "MERGE",
    "JSON",
    "APPLY",
    "STRATEGIC",
    "WATCH",
    "TABLE",
    "META",
    "IMAGE",
    "SUBSET",
    "EDIT",
];

/// The folder of the scripts.
pub(super) fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

/// Every case, by name.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let kind = entry.unwrap().path();
        let name = kind.file_name().unwrap().to_string_lossy().into_owned();
        if !kind.is_dir() || name == "objects" {
            continue;
        }
        for file in fs::read_dir(&kind).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|it| it == "yaml") {
                let stem = format!("{name}/{}", file.file_stem().unwrap().to_string_lossy());
                let text = fs::read_to_string(&file).unwrap();
                cases.push(read(&stem, &text).unwrap_or_else(|why| panic!("{}: {why}", file.display())));
            }
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// Reads one.
pub(super) fn read(name: &str, text: &str) -> Result<Case, String> {
    let file: Value = serde_yaml::from_str(text).map_err(|it| it.to_string())?;
    let map = file.as_object().ok_or("not a mapping")?;
    for key in map.keys() {
        if !["case", "levels", "embedded", "known", "steps"].contains(&key.as_str()) {
            return Err(format!("`{key}` is no key of a case"));
        }
    }
    let levels = levels(&file["levels"], &[Level::V1_36, Level::V1_33])?;
    let steps = file["steps"].as_array().ok_or("no steps")?;
    let steps: Vec<Step> = steps.iter().map(step).collect::<Result<_, _>>()?;
    Ok(Case {
        name: name.to_owned(),
        title: file["case"].as_str().ok_or("no `case`")?.to_owned(),
        known: known(&file["known"], &levels, &steps)?,
        levels,
        embedded_only: file["embedded"].as_str().map(str::to_owned),
        steps,
    })
}

/// Levels by their names.
fn levels(value: &Value, default: &[Level]) -> Result<Vec<Level>, String> {
    match value {
        Value::Null => Ok(default.to_vec()),
        Value::Array(names) => {
            let level = |it: &Value| Level::named(it.as_str()?);
            names.iter().map(|it| level(it).ok_or(format!("{it} is no level"))).collect()
        }
        other => Err(format!("levels: {other}")),
    }
}

/// Steps with reasons. Each names one step, so that all others are compared.
fn known(value: &Value, of_case: &[Level], steps: &[Step]) -> Result<Vec<Known>, String> {
    let one = |mark: &Value| {
        let text = |key: &str| mark[key].as_str().map(str::to_owned).ok_or(format!("a known step has a `{key}`"));
        let (step, why) = (text("step")?, text("why")?);
        match steps.iter().filter(|it| it.called().as_ref() == Some(&step)).count() {
            1 => Ok(Known { step, levels: levels(&mark["levels"], of_case)?, why }),
            count => Err(format!("`{step}` names {count} steps")),
        }
    };
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(marks) => marks.iter().map(one).collect(),
        other => Err(format!("known: {other}")),
    }
}

fn step(value: &Value) -> Result<Step, String> {
    let (head, body) = match value {
        Value::String(head) => (head.as_str(), &Value::Null),
        Value::Object(map) if map.len() == 1 => {
            let (head, body) = map.iter().next().ok_or("an empty step")?;
            (head.as_str(), body)
        }
        other => return Err(format!("a step is a text or a mapping of one key, not {other}")),
    };
    match head {
        "wait" => Ok(Step::Wait(texts(body)?)),
        "settle" => duration(body, 1000).map(Step::Settle),
        "sleep" => duration(body, 1000).map(Step::Sleep),
        "stop" => Ok(Step::Stop),
        "forget" => Ok(Step::Forget),
        "kubectl" => command(body).map(Step::Kubectl),
        "start" => command(body).map(Step::Start),
        "keep" => {
            let map = body.as_object().ok_or("keep takes names and texts")?;
            let pair = |(name, text): (&String, &Value)| Some((name.clone(), text.as_str()?.to_owned()));
            let pairs: Option<_> = map.iter().map(pair).collect();
            pairs.map(Step::Keep).ok_or_else(|| "keep takes texts".into())
        }
        request => {
            let (verb, path) = request.split_once(' ').ok_or(format!("what is the step `{request}`?"))?;
            if !VERBS.contains(&verb) {
                return Err(format!("what is the verb {verb}?"));
            }
            Ok(Step::Request(Request { verb: verb.into(), path: path.trim().into(), body: expanded(body)? }))
        }
    }
}

fn texts(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::String(one) => Ok(vec![one.clone()]),
        Value::Array(many) => {
            many.iter().map(|it| it.as_str().map(str::to_owned).ok_or(format!("{it} is no text"))).collect()
        }
        other => Err(format!("{other} is no text")),
    }
}

/// `700ms`, `3s`, or milliseconds.
fn duration(value: &Value, default: u64) -> Result<Duration, String> {
    let millis = match value {
        Value::Null => Some(default),
        Value::Number(millis) => millis.as_u64(),
        Value::String(text) => match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(millis), _) => millis.parse().ok(),
            (None, Some(seconds)) => seconds.parse::<u64>().ok().map(|it| it * 1000),
            (None, None) => None,
        },
        _ => None,
    };
    millis.filter(|it| *it <= 60_000).map(Duration::from_millis).ok_or(format!("{value} is no time up to a minute"))
}

fn command(value: &Value) -> Result<Command, String> {
    if let Some(args) = value.as_str() {
        return Ok(Command { args: args.to_owned(), stdin: None, subset: false });
    }
    let args = value["args"].as_str().ok_or("kubectl takes a text, or args and stdin")?.to_owned();
    let stdin = match &value["stdin"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        object => Some(expanded(object)?.to_string()),
    };
    Ok(Command { args, stdin, subset: value["subset"] == true })
}

/// A body with `from: web replicas=2` replaced by `objects/web.yaml`, with what stands beside it merged in.
fn expanded(body: &Value) -> Result<Value, String> {
    let Some(from) = body.get("from").and_then(Value::as_str) else { return Ok(body.clone()) };
    let mut words = from.split_whitespace();
    let name = words.next().ok_or("from what?")?;
    let path = folder().join("objects").join(format!("{name}.yaml"));
    let mut text = fs::read_to_string(&path).map_err(|it| format!("{}: {it}", path.display()))?;
    for word in words {
        let (key, value) = word.split_once('=').ok_or(format!("{word} is no key=value"))?;
        text = filled(&text, key, value).ok_or(format!("{name}.yaml has no ${{{key}=..}}"))?;
    }
    let mut object: Value = serde_yaml::from_str(&defaulted(&text)).map_err(|it| format!("{name}: {it}"))?;
    let rest: Map<String, Value> = body
        .as_object()
        .into_iter()
        .flatten()
        .filter(|it| it.0 != "from")
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    merge(&mut object, &Value::Object(rest));
    Ok(object)
}

/// Puts a value in the place of every `${key=default}`; `None` if there is no such place.
fn filled(text: &str, key: &str, value: &str) -> Option<String> {
    let start = format!("${{{key}=");
    let mut parts = text.split(start.as_str());
    let mut result = parts.next()?.to_owned();
    let mut found = false;
    for part in parts {
        let (_, rest) = part.split_once('}')?;
        result.push_str(value);
        result.push_str(rest);
        found = true;
    }
    found.then_some(result)
}

/// Puts its default into every place that is left.
fn defaulted(text: &str) -> String {
    let mut parts = text.split("${");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let default = part.split_once('}').and_then(|(place, rest)| Some((place.split_once('=')?.1, rest)));
        match default {
            Some((default, rest)) => result.extend([default, rest]),
            None => result.extend(["${", part]),
        }
    }
    result
}

/// RFC 7386.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            map.remove(key);
        } else {
            merge(map.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[test]
fn every_script_can_be_read() {
    assert!(!all().is_empty());
}

#[test]
fn what_is_known_to_differ_is_one_step() {
    let read = |known: &str| read("a/b", &format!("case: c\nknown: {known}\nsteps: [GET sts, GET pods, GET pods]"));
    let case = read("[{step: GET sts, why: so, levels: [\"1.33\"]}]").unwrap();
    assert_eq!((case.known_at(Level::V1_33), case.known_at(Level::V1_36)), (vec!["GET sts"], vec![]));
    assert_eq!(read("[{step: GET pods, why: so}]").unwrap_err(), "`GET pods` names 2 steps");
    assert!(read("[{step: GET sts}]").is_err() && read("so").is_err());
}
