//! Events: the older API takes nearly everything, the newer one looks at what it is told.
//!
//! Mirrors `ValidateEventCreate` and `ValidateEventUpdate` of core.

use serde_json::Value;

use super::metadata;
use crate::manifest::default::Level;
use crate::manifest::shown::Shown;
use crate::manifest::stateful_set::refusal;
use crate::sim::compat::Compat;
use crate::sim::resource::Resource;
use crate::sim::status::Cause;

/// The most characters of who reports, of what was done and why.
const MOST: usize = 128;

/// The most characters of a message.
const MOST_MESSAGE: usize = 1024;

/// What the server refuses of a new event, its metadata included.
pub(super) fn check(event: &Value, newer: bool, compat: Compat) -> Vec<Cause> {
    let mut causes = legacy(event, newer);
    if !newer {
        // Of the metadata it says something only where all else is in order.
        if causes.is_empty() {
            causes = metadata::check(Resource::Events, event, compat);
        }
        return causes;
    }
    causes.extend(metadata::check(Resource::Events, event, compat));
    series(event, &mut causes);
    if event["eventTime"].is_null() {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = text(event, "type");
    if !["Normal", "Warning"].contains(&kind) {
        causes.push(Cause::invalid("type", &"".into(), &format!("has invalid value: {kind}")));
    }
    let source = &event["source"];
    let unset = [
        ("firstTimestamp", event["firstTimestamp"].is_null()),
        ("lastTimestamp", event["lastTimestamp"].is_null()),
        ("count", event["count"].as_i64().unwrap_or(0) == 0),
        ("source", text(source, "component").is_empty() && text(source, "host").is_empty()),
    ];
    for (field, _) in unset.into_iter().filter(|it| !it.1) {
        causes.push(Cause::invalid(field, &"".into(), "needs to be unset"));
    }
    causes
}

/// What it refuses of a change, beyond metadata: through the newer API nothing is told otherwise than before but how
/// often it happened.
pub(super) fn check_change(old: &Value, new: &Value, newer: bool, compat: Compat) -> Vec<Cause> {
    let mut causes = legacy(new, newer);
    if !newer {
        return causes;
    }
    if old["series"] != new["series"] {
        series(new, &mut causes);
    }
    let fixed = [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "reason",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ];
    for field in fixed {
        let (was, is) = (shown(field, old, compat.level()), shown(field, new, compat.level()));
        if was != is {
            let told = if field == "reportingComponent" { "reportingController" } else { field };
            causes.push(Cause::shown(told, &is, "field is immutable"));
        }
    }
    causes
}

/// A field as the server shows it: absent is as good as empty.
fn shown(field: &str, event: &Value, level: Level) -> String {
    let value = &event[field];
    match field {
        "involvedObject" => Shown::reference(value).at(level).to_owned(),
        "related" if value.is_null() => Shown::optional(value).at(level).to_owned(),
        "related" => Shown::reference(value).at(level).to_owned(),
        "source" => Shown::source(value).at(level).to_owned(),
        "firstTimestamp" | "lastTimestamp" | "eventTime" => Shown::instant(value).at(level).to_owned(),
        "count" => value.as_i64().unwrap_or(0).to_string(),
        _ => Value::from(text(event, field)).to_string(),
    }
}

/// Mirrors `legacyValidateEvent`.
fn legacy(event: &Value, newer: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let about = text(&event["involvedObject"], "namespace");
    let own = text(&event["metadata"], "namespace");
    let is_new = !event["eventTime"].is_null();
    let matches = match about {
        "" => own == "default" || is_new && own == "kube-system",
        _ => is_new || about == own,
    };
    if !matches {
        causes.push(Cause::invalid("involvedObject.namespace", &about.into(), "does not match event.namespace"));
    }
    if !is_new {
        return causes;
    }
    let reporter = if newer { "reportingController" } else { "reportingComponent" };
    let by = text(event, "reportingComponent");
    if by.is_empty() {
        causes.push(Cause::required(reporter, ""));
    }
    causes.extend(refusal::qualified(by).into_iter().map(|words| Cause::invalid(reporter, &by.into(), &words)));
    for (field, needed, most) in [
        ("reportingInstance", true, MOST),
        ("action", true, MOST),
        ("reason", true, MOST),
        ("message", false, MOST_MESSAGE),
    ] {
        let length = text(event, field).len();
        if length == 0 && needed {
            causes.push(Cause::required(field, ""));
        }
        if length > most {
            causes.push(Cause::invalid(field, &"".into(), &format!("can have at most {most} characters")));
        }
    }
    causes
}

fn series(event: &Value, causes: &mut Vec<Cause>) {
    let series = &event["series"];
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or(0) < 2 {
        causes.push(Cause::invalid("series.count", &"".into(), "should be at least 2"));
    }
    if series["lastObservedTime"].is_null() {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
}

fn text<'v>(of: &'v Value, field: &str) -> &'v str {
    of[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{check, check_change};
    use crate::sim::{Cause, Compat, Version};

    const COMPAT: Compat = Compat::of(Version::V1_36);

    fn told(causes: Vec<Cause>) -> Vec<String> {
        causes.into_iter().map(|it| format!("{}: {}", it.field, it.message)).collect()
    }

    fn event(more: Value) -> Value {
        let mut event = json!({
            "metadata": {"name": "x.1", "namespace": "a"}, "involvedObject": {"namespace": "a"}, "type": "Normal",
            "reason": "R", "message": "m",
        });
        crate::sim::api::patch::merge(&mut event, &more);
        event
    }

    #[test]
    fn the_older_api_asks_only_for_the_namespace() {
        assert_eq!(told(check(&event(json!({})), false, COMPAT)), [""; 0]);
        let other = event(json!({"involvedObject": {"namespace": "b"}, "type": null}));
        let words = "involvedObject.namespace: Invalid value: \"b\": does not match event.namespace";
        assert_eq!(told(check(&other, false, COMPAT)), [words]);
        // With a time of its own it is one of the new ones, whichever way it comes.
        let new = event(json!({"eventTime": "2026-01-01T00:00:00.000000Z", "reportingComponent": "-"}));
        let found = told(check(&new, false, COMPAT));
        assert_eq!(found[1..], ["reportingInstance: Required value", "action: Required value"]);
        assert!(found[0].starts_with("reportingComponent: Invalid value: \"-\": name part must consist of"));
    }

    #[test]
    fn the_newer_api_wants_all_of_it_and_nothing_of_the_older_one() {
        let whole = json!({
            "eventTime": "2026-01-01T00:00:00.000000Z", "reportingComponent": "t", "reportingInstance": "t-0",
            "action": "A",
        });
        assert_eq!(told(check(&event(whole.clone()), true, COMPAT)), [""; 0]);
        let mut old = event(json!({"count": 2, "lastTimestamp": "2026-01-01T00:00:00Z", "source": {"component": "t"}}));
        old["type"] = "Odd".into();
        old["series"] = json!({"count": 1});
        assert_eq!(
            told(check(&old, true, COMPAT)),
            [
                "series.count: Invalid value: \"\": should be at least 2",
                "series.lastObservedTime: Required value",
                "eventTime: Required value",
                "type: Invalid value: \"\": has invalid value: Odd",
                "lastTimestamp: Invalid value: \"\": needs to be unset",
                "count: Invalid value: \"\": needs to be unset",
                "source: Invalid value: \"\": needs to be unset",
            ]
        );
        let (old, mut new) = (event(whole.clone()), event(whole));
        new["series"] = json!({"count": 2, "lastObservedTime": "2026-01-01T00:00:05.000000Z"});
        assert_eq!(told(check_change(&old, &new, true, COMPAT)), [""; 0]);
        new["message"] = "other".into();
        new["involvedObject"]["name"] = "n".into();
        assert_eq!(
            told(check_change(&old, &new, true, COMPAT)),
            [
                "involvedObject: Invalid value: {\"Kind\":\"\",\"Namespace\":\"a\",\"Name\":\"n\",\"UID\":\"\",\
                 \"APIVersion\":\"\",\"ResourceVersion\":\"\",\"FieldPath\":\"\"}: field is immutable",
                "message: Invalid value: \"other\": field is immutable",
            ]
        );
        assert_eq!(told(check_change(&old, &new, false, COMPAT)), [""; 0]);
    }
}
