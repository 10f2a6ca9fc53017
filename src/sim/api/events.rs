//! Events under both their APIs: stored as core/v1, shown and written as events.k8s.io/v1 too.

use serde_json::{Map, Value, json};

/// The API that events have besides core/v1.
pub(crate) const GROUP: &str = "events.k8s.io";

/// Its group and version.
pub(crate) const API_VERSION: &str = "events.k8s.io/v1";

/// The fields that go by two names: in core/v1, in events.k8s.io/v1.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Whether a path is that of the newer API.
pub(crate) fn is_newer(path: &str) -> bool {
    path.strip_prefix("/apis/").is_some_and(|rest| rest.split('/').next() == Some(GROUP))
}

/// Whether the details of a Status are about events, by the name of their resource.
pub(crate) fn is_about_events(details: &Value) -> bool {
    details.get("kind").is_some_and(|it| it == "events")
}

/// An event, or a merge patch of one, of the newer API as core/v1 has it. Only names change; what is absent stays so.
pub(crate) fn to_core(event: Value) -> Value {
    let mut event = renamed(event, |name| NAMES.iter().find(|(_, newer)| *newer == name).map(|(core, _)| *core));
    if event.get("apiVersion").is_some_and(|it| it == API_VERSION) {
        event["apiVersion"] = "v1".into();
    }
    event
}

/// An event of core/v1 as the newer API shows it.
pub(crate) fn to_newer(event: Value) -> Value {
    let mut event = renamed(event, |name| NAMES.iter().find(|(core, _)| *core == name).map(|(_, newer)| *newer));
    let Some(fields) = event.as_object_mut() else { return event };
    if fields.get("apiVersion").is_some_and(|it| it == "v1") {
        fields.insert("apiVersion".into(), API_VERSION.into());
    }
    for (name, value) in [
        ("deprecatedFirstTimestamp", Value::Null),
        ("deprecatedLastTimestamp", Value::Null),
        ("deprecatedSource", json!({})),
        ("eventTime", Value::Null),
        ("regarding", json!({})),
    ] {
        fields.entry(name).or_insert(value);
    }
    for name in ["reportingController", "reportingInstance"] {
        if fields.get(name).is_some_and(|it| it == "") {
            fields.remove(name);
        }
    }
    event
}

/// What core/v1 always shows of an event.
pub(crate) fn completed(mut event: Value) -> Value {
    let Some(fields) = event.as_object_mut() else { return event };
    for (name, value) in [
        ("eventTime", Value::Null),
        ("firstTimestamp", Value::Null),
        ("involvedObject", json!({})),
        ("lastTimestamp", Value::Null),
        ("reportingComponent", "".into()),
        ("reportingInstance", "".into()),
        ("source", json!({})),
    ] {
        fields.entry(name).or_insert(value);
    }
    event
}

fn renamed(value: Value, name: impl Fn(&str) -> Option<&'static str>) -> Value {
    let Value::Object(fields) = value else { return value };
    let fields: Map<String, Value> =
        fields.into_iter().map(|(key, value)| (name(&key).map_or(key, str::to_owned), value)).collect();
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{completed, is_newer, to_core, to_newer};

    /// As a 1.36.3 server shows one event under both APIs.
    #[test]
    fn one_event_has_two_faces() {
        let newer = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "x.1"},
            "eventTime": "2026-11-21T04:11:37.123456Z", "reportingController": "phaseline", "reportingInstance": "i",
            "action": "Do", "reason": "R", "note": "hello", "type": "Normal",
            "regarding": {"kind": "StatefulSet", "name": "web"}, "related": {"kind": "Pod", "name": "web-1"},
            "deprecatedSource": {}, "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
        });
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "x.1"},
            "eventTime": "2026-11-21T04:11:37.123456Z", "reportingComponent": "phaseline", "reportingInstance": "i",
            "action": "Do", "reason": "R", "message": "hello", "type": "Normal",
            "involvedObject": {"kind": "StatefulSet", "name": "web"}, "related": {"kind": "Pod", "name": "web-1"},
            "source": {}, "firstTimestamp": null, "lastTimestamp": null,
        });
        assert_eq!(to_core(newer.clone()), core);
        assert_eq!(to_newer(core), newer);
    }

    #[test]
    fn what_is_absent_is_shown_as_the_server_shows_it() {
        let sent = json!({"metadata": {"name": "x"}, "note": "hello"});
        let stored = to_core(sent);
        assert_eq!(stored, json!({"metadata": {"name": "x"}, "message": "hello"}));
        assert_eq!(
            completed(stored.clone()),
            json!({
                "metadata": {"name": "x"}, "message": "hello", "involvedObject": {}, "source": {}, "eventTime": null,
                "firstTimestamp": null, "lastTimestamp": null, "reportingComponent": "", "reportingInstance": "",
            })
        );
        assert_eq!(
            to_newer(stored),
            json!({
                "metadata": {"name": "x"}, "note": "hello", "regarding": {}, "deprecatedSource": {}, "eventTime": null,
                "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
            })
        );
    }

    #[test]
    fn the_newer_api_is_known_by_its_path() {
        assert!(is_newer("/apis/events.k8s.io/v1/events"));
        assert!(!is_newer("/api/v1/events"));
        assert!(!is_newer("/apis/events.k8s.io.example/v1/events"));
    }
}
