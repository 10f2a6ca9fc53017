//! Events as the controllers' recorder sends them: the same again is counted, much alike is combined, too much is left
//! out.
//!
//! Mirrors `EventCorrelator` of client-go's `tools/record`, with its defaults.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::controllers::Event;
use super::moment::seconds;

/// Events about one object that may come at once.
const BURST: f64 = 25.0;
/// Seconds until one more may come.
const REFILL: f64 = 300.0;
/// Messages of one kind that are told one by one.
const ALIKE: usize = 10;
/// How long they count as of one kind.
const WINDOW: SignedDuration = SignedDuration::from_secs(600);
/// What is remembered; beyond it everything is forgotten.
const MOST: usize = 4096;

/// The events so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder {
    /// By the object's uid: what it may still send, and since when.
    budgets: BTreeMap<String, (f64, Timestamp)>,
    /// By uid, type and reason: messages, and when the last came.
    alike: BTreeMap<[String; 3], (BTreeSet<String>, Timestamp)>,
    /// By uid, type, reason and message, which is empty for those that are combined: name, count, first time.
    sent: BTreeMap<[String; 4], (String, u64, String)>,
    number: u64,
}

impl Recorder {
    /// The event object to be written, which may be one that was written before; none where it is left out.
    pub(crate) fn record(&mut self, about: &Value, event: &Event, now: Timestamp) -> Option<Value> {
        if self.sent.len() > MOST || self.alike.len() > MOST || self.budgets.len() > MOST {
            (self.sent, self.alike, self.budgets) = Default::default();
        }
        let text = |field: &str| about.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let uid = text("/metadata/uid").to_owned();
        let (kind, reason) = (event.severity.as_str().to_owned(), event.reason.to_owned());
        let alike = self.alike.entry([uid.clone(), kind.clone(), reason.clone()]).or_insert((BTreeSet::new(), now));
        if now.duration_since(alike.1) > WINDOW {
            alike.0.clear();
        }
        alike.0.insert(event.message.clone());
        alike.1 = now;
        let (message, key) = if alike.0.len() < ALIKE {
            (event.message.clone(), event.message.clone())
        } else {
            alike.0.pop_first();
            (format!("(combined from similar events): {}", event.message), String::new())
        };
        let at = seconds(now);
        self.number += 1;
        let number = self.number;
        let name = || format!("{}.{:x}{number:04x}", text("/metadata/name"), now.as_second());
        let sent = self.sent.entry([uid.clone(), kind.clone(), reason, key]).or_insert_with(|| (name(), 0, at.clone()));
        sent.1 += 1;
        let (left, since) = self.budgets.entry(uid).or_insert((BURST, now));
        *left = (*left + now.duration_since(*since).as_secs_f64() / REFILL).min(BURST);
        *since = now;
        if *left < 1.0 {
            return None;
        }
        *left -= 1.0;
        let namespace = text("/metadata/namespace");
        Some(json!({
            "metadata": {"name": sent.0, "namespace": namespace},
            "count": sent.1,
            "eventTime": null,
            "firstTimestamp": sent.2,
            "lastTimestamp": at,
            "involvedObject": {
                "apiVersion": text("/apiVersion"),
                "kind": text("/kind"),
                "name": text("/metadata/name"),
                "namespace": namespace,
                "resourceVersion": text("/metadata/resourceVersion"),
                "uid": text("/metadata/uid"),
            },
            "message": message,
            "reason": event.reason,
            "reportingComponent": "statefulset-controller",
            "reportingInstance": "",
            "source": {"component": "statefulset-controller"},
            "type": kind,
        }))
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;

    use super::Recorder;
    use crate::sim::controllers::{Event, Severity};

    #[test]
    fn the_same_is_counted_the_like_combined_and_too_much_left_out() {
        let set = json!({"kind": "StatefulSet", "metadata": {"name": "web", "namespace": "shop", "uid": "u"}});
        let mut recorder = Recorder::default();
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let mut tell = |message: &str, now| {
            let event = Event { severity: Severity::Normal, reason: "SuccessfulCreate", message: message.into() };
            let recorded = recorder.record(&set, &event, now)?;
            Some((recorded["metadata"]["name"].to_string(), recorded["count"].as_u64()?, recorded["message"].clone()))
        };
        let first = tell("pod 0", now).unwrap();
        let again = tell("pod 0", now).unwrap();
        assert_eq!((&first.0, first.1, again.1), (&again.0, 1, 2));
        for number in 1..9 {
            assert_eq!(tell(&format!("pod {number}"), now).unwrap().1, 1);
        }
        let combined = tell("pod 9", now).unwrap();
        assert_eq!((combined.1, &combined.2), (1, &json!("(combined from similar events): pod 9")));
        assert_eq!(tell("pod 10", now).unwrap().1, 2);
        let told = (11..40).filter(|number| tell(&format!("pod {number}"), now).is_some()).count();
        assert_eq!(told, 25 - 12);
        assert!(tell("pod 50", now + SignedDuration::from_secs(299)).is_none());
        assert!(tell("pod 51", now + SignedDuration::from_secs(301)).is_some());
    }
}
