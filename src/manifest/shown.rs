//! Values as a server shows them in what it refuses: as JSON from 1.36 on, before that as Go's `%#v` prints them.
//!
//! Mirrors `Error.ErrorBody` of apimachinery's `field` package. Texts and numbers are shown alike at every level and
//! need nothing of this.

use serde_json::{Value, json};

use super::default::Level;
use super::go_json;

/// What Go prints of a pointer inside of a struct: an address, another one each time.
const ADDRESS: &str = "0xc000000000";

/// A value that is no text and no number, in both forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    json: String,
    go: String,
}

impl Shown {
    /// As a server of that level shows it.
    pub(crate) fn at(&self, level: Level) -> &str {
        if level < Level::V1_36 { &self.go } else { &self.json }
    }

    fn of(value: &Value, go: String) -> Self {
        Self { json: go_json::with_integers(value), go }
    }

    /// A number without a sign: hexadecimal to Go.
    pub(crate) fn unsigned(number: u64) -> Self {
        Self { json: number.to_string(), go: format!("{number:#x}") }
    }

    /// A text or number that may be absent.
    pub(crate) fn optional(value: &Value) -> Self {
        Self::of(value, if value.is_null() { "\"null\"".to_owned() } else { value.to_string() })
    }

    /// A moment, as the API writes it, that may be absent.
    pub(crate) fn moment(value: &Value) -> Self {
        match value.as_str().and_then(|text| text.strip_suffix('Z')) {
            Some(text) => Self::of(value, format!("{} +0000 UTC", text.replacen('T', " ", 1))),
            None => Self::optional(value),
        }
    }

    /// A moment that is never absent to Go, with whatever fraction it has.
    pub(crate) fn instant(value: &Value) -> Self {
        let Some(text) = value.as_str() else {
            return Self { json: "null".to_owned(), go: "0001-01-01 00:00:00 +0000 UTC".to_owned() };
        };
        // Zeros at the end are not printed.
        let go = text.trim_end_matches('Z').replacen('T', " ", 1);
        let go = if go.contains('.') { go.trim_end_matches('0').trim_end_matches('.') } else { &go };
        Self::of(value, format!("{go} +0000 UTC"))
    }

    /// A reference to an object, which the server has under the names of Go.
    pub(crate) fn reference(value: &Value) -> Self {
        const FIELDS: [(&str, &str); 7] = [
            ("kind", "Kind"),
            ("namespace", "Namespace"),
            ("name", "Name"),
            ("uid", "UID"),
            ("apiVersion", "APIVersion"),
            ("resourceVersion", "ResourceVersion"),
            ("fieldPath", "FieldPath"),
        ];
        Self::of_texts("core.ObjectReference", &FIELDS.map(|(name, own)| (own, quoted(&value[name]))))
    }

    /// Who told an event, which the server has under the names of Go.
    pub(crate) fn source(value: &Value) -> Self {
        let fields = [("Component", quoted(&value["component"])), ("Host", quoted(&value["host"]))];
        Self::of_texts("core.EventSource", &fields)
    }

    fn of_texts(name: &str, fields: &[(&str, String)]) -> Self {
        let json: Vec<String> = fields.iter().map(|(own, text)| format!("\"{own}\":{text}")).collect();
        Self { json: format!("{{{}}}", json.join(",")), go: object(name, fields) }
    }

    /// A list of texts.
    pub(crate) fn texts(list: &[&str]) -> Self {
        Self::of(&json!(list), texts(list))
    }

    /// A map of texts; null where it is absent.
    pub(crate) fn text_map(map: &Value) -> Self {
        Self::of(map, text_map(map))
    }

    /// A label selector.
    pub(crate) fn selector(selector: &Value) -> Self {
        let expressions = selector.get("matchExpressions").and_then(Value::as_array).map(|list| {
            list.iter()
                .map(|it| {
                    let values = it.get("values").and_then(Value::as_array);
                    let values = values.map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>());
                    let values = values.map_or_else(|| "[]string(nil)".to_owned(), |list| texts(&list));
                    let parts =
                        [("Key", quoted(&it["key"])), ("Operator", quoted(&it["operator"])), ("Values", values)];
                    object("v1.LabelSelectorRequirement", &parts)
                })
                .collect()
        });
        let labels = text_map(selector.get("matchLabels").unwrap_or(&Value::Null));
        let parts = [("MatchLabels", labels), ("MatchExpressions", list("v1.LabelSelectorRequirement", expressions))];
        Self::of(selector, object("v1.LabelSelector", &parts))
    }

    /// A block `rollingUpdate` of a set, which the server has under the names of Go.
    pub(crate) fn rolling_update(block: &Value) -> Self {
        if block.is_null() {
            return Self { json: "null".to_owned(), go: "\"null\"".to_owned() };
        }
        let (partition, most) = (&block["partition"], &block["maxUnavailable"]);
        let json = format!("{{\"Partition\":{partition},\"MaxUnavailable\":{most}}}");
        let parts = [("Partition", partition.to_string()), ("MaxUnavailable", pointer("intstr.IntOrString", most))];
        Self { json, go: object("apps.RollingUpdateStatefulSetStrategy", &parts) }
    }

    /// The strategy of a set, which the server has under the names of Go.
    pub(crate) fn strategy(kind: &str, block: &Value) -> Self {
        let kind = Value::from(kind);
        let json = format!("{{\"Type\":{kind},\"RollingUpdate\":{}}}", Self::rolling_update(block).json);
        let block = pointer("apps.RollingUpdateStatefulSetStrategy", block);
        Self {
            json,
            go: object("apps.StatefulSetUpdateStrategy", &[("Type", kind.to_string()), ("RollingUpdate", block)]),
        }
    }

    /// The owners of an object, with the fields in Go's order.
    pub(crate) fn owners(owners: &[&Value]) -> Self {
        const TEXTS: [(&str, &str); 4] =
            [("apiVersion", "APIVersion"), ("kind", "Kind"), ("name", "Name"), ("uid", "UID")];
        const FLAGS: [(&str, &str); 2] = [("controller", "Controller"), ("blockOwnerDeletion", "BlockOwnerDeletion")];
        let (mut as_json, mut as_go) = (Vec::new(), Vec::new());
        for owner in owners {
            let texts = TEXTS.map(|(name, own)| (name, own, quoted(&owner[name])));
            let flags = FLAGS.map(|(name, own)| (name, own, &owner[name]));
            let given = flags.iter().filter(|it| !it.2.is_null()).map(|(name, _, flag)| format!("\"{name}\":{flag}"));
            let fields: Vec<String> =
                texts.iter().map(|(name, _, text)| format!("\"{name}\":{text}")).chain(given).collect();
            as_json.push(format!("{{{}}}", fields.join(",")));
            let texts = texts.into_iter().map(|(_, own, text)| (own, text));
            let flags = flags.into_iter().map(|(_, own, flag)| (own, pointer("bool", flag)));
            as_go.push(object("v1.OwnerReference", &texts.chain(flags).collect::<Vec<_>>()));
        }
        Self { json: format!("[{}]", as_json.join(",")), go: list("v1.OwnerReference", Some(as_go)) }
    }

    /// The spec of a budget, which the server has under the names of Go.
    pub(crate) fn budget(spec: &Value) -> Self {
        const FIELDS: [(&str, &str, &str); 4] = [
            ("minAvailable", "MinAvailable", "intstr.IntOrString"),
            ("selector", "Selector", "v1.LabelSelector"),
            ("maxUnavailable", "MaxUnavailable", "intstr.IntOrString"),
            ("unhealthyPodEvictionPolicy", "UnhealthyPodEvictionPolicy", "policy.UnhealthyPodEvictionPolicyType"),
        ];
        let json = FIELDS.map(|(name, own, _)| format!("\"{own}\":{}", spec[name]));
        let parts = FIELDS.map(|(name, own, of)| (own, pointer(of, &spec[name])));
        Self { json: format!("{{{}}}", json.join(",")), go: object("policy.PodDisruptionBudgetSpec", &parts) }
    }

    /// A value that the server keeps as the bytes that it came in.
    pub(crate) fn raw(value: &Value) -> Self {
        let json = go_json::with_integers(value);
        let bytes: Vec<String> = json.bytes().map(|byte| format!("{byte:#x}")).collect();
        let bytes = format!("[]uint8{{{}}}", bytes.join(", "));
        let parts = [("Raw", bytes), ("Object", "runtime.Object(nil)".to_owned())];
        Self { go: object("runtime.RawExtension", &parts), json }
    }
}

fn quoted(value: &Value) -> String {
    Value::from(value.as_str().unwrap_or_default()).to_string()
}

fn object(name: &str, fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    format!("{name}{{{}}}", fields.join(", "))
}

fn pointer(of: &str, value: &Value) -> String {
    format!("(*{of})({})", if value.is_null() { "nil" } else { ADDRESS })
}

fn list(of: &str, items: Option<Vec<String>>) -> String {
    match items {
        Some(items) => format!("[]{of}{{{}}}", items.join(", ")),
        None => format!("[]{of}(nil)"),
    }
}

fn texts(list: &[&str]) -> String {
    let quoted: Vec<String> = list.iter().map(|text| Value::from(*text).to_string()).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}

fn text_map(map: &Value) -> String {
    let Some(map) = map.as_object() else { return "map[string]string(nil)".to_owned() };
    let entries: Vec<String> =
        map.iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
    format!("map[string]string{{{}}}", entries.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Shown;
    use crate::manifest::default::Level;

    /// The forms of 1.33 are what `fmt.Sprintf("%#v")` prints of these, those of 1.36 what `json.Marshal` does.
    #[test]
    fn values_are_shown_as_go_prints_them_and_later_as_json() {
        let block = json!({"partition": 1});
        for (shown, go, json) in [
            (Shown::unsigned(0), "0x0", "0"),
            (Shown::optional(&Value::Null), "\"null\"", "null"),
            (Shown::optional(&json!(5)), "5", "5"),
            (
                Shown::moment(&json!("2026-11-21T04:04:15Z")),
                "2026-11-21 04:04:15 +0000 UTC",
                "\"2026-11-21T04:04:15Z\"",
            ),
            (
                Shown::instant(&json!("2026-01-01T00:00:00.120000Z")),
                "2026-01-01 00:00:00.12 +0000 UTC",
                "\"2026-01-01T00:00:00.120000Z\"",
            ),
            (
                Shown::instant(&json!("2026-01-01T00:00:10Z")),
                "2026-01-01 00:00:10 +0000 UTC",
                "\"2026-01-01T00:00:10Z\"",
            ),
            (
                Shown::source(&json!({"component": "c"})),
                "core.EventSource{Component:\"c\", Host:\"\"}",
                "{\"Component\":\"c\",\"Host\":\"\"}",
            ),
            (Shown::texts(&["a", "b"]), "[]string{\"a\", \"b\"}", "[\"a\",\"b\"]"),
            (Shown::text_map(&json!({"a": "b"})), "map[string]string{\"a\":\"b\"}", "{\"a\":\"b\"}"),
            (
                Shown::selector(&json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]})),
                "v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement\
                 {v1.LabelSelectorRequirement{Key:\"a\", Operator:\"In\", Values:[]string{\"x\"}}}}",
                "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"x\"]}]}",
            ),
            (
                Shown::selector(&json!({})),
                "v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}",
                "{}",
            ),
            (
                Shown::rolling_update(&block),
                "apps.RollingUpdateStatefulSetStrategy{Partition:1, MaxUnavailable:(*intstr.IntOrString)(nil)}",
                "{\"Partition\":1,\"MaxUnavailable\":null}",
            ),
            (
                Shown::strategy("Recreate", &Value::Null),
                "apps.StatefulSetUpdateStrategy{Type:\"Recreate\", RollingUpdate:(*apps.RollingUpdateStatefulSetStrategy)(nil)}",
                "{\"Type\":\"Recreate\",\"RollingUpdate\":null}",
            ),
            (
                Shown::owners(&[
                    &json!({"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "x", "controller": true}),
                ]),
                "[]v1.OwnerReference{v1.OwnerReference{APIVersion:\"v1\", Kind:\"Pod\", Name:\"a\", UID:\"x\", \
                 Controller:(*bool)(0xc000000000), BlockOwnerDeletion:(*bool)(nil)}}",
                "[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"a\",\"uid\":\"x\",\"controller\":true}]",
            ),
            (
                Shown::raw(&json!({"a": 1})),
                "runtime.RawExtension{Raw:[]uint8{0x7b, 0x22, 0x61, 0x22, 0x3a, 0x31, 0x7d}, Object:runtime.Object(nil)}",
                "{\"a\":1}",
            ),
        ] {
            assert_eq!((shown.at(Level::V1_33), shown.at(Level::V1_36)), (go, json));
        }
    }
}
