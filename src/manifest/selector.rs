//! A label selector, as an object states it.

use serde_json::{Map, Value};

/// A `LabelSelector`, ready to be held against labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    /// None: it selects nothing.
    needs: Option<Vec<Need>>,
}

/// One requirement.
#[derive(Debug, Clone, PartialEq)]
enum Need {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

impl Selector {
    /// Reads a selector: without one nothing is selected, with an empty one everything.
    ///
    /// Mirrors `LabelSelectorAsSelector` of `k8s.io/apimachinery`.
    ///
    /// # Errors
    /// What an operator is that is none.
    pub fn read(selector: Option<&Value>) -> Result<Self, String> {
        let Some(selector) = selector.filter(|it| !it.is_null()) else { return Ok(Self { needs: None }) };
        let mut needs = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            needs.push(Need::In(key.clone(), vec![value.as_str().unwrap_or_default().to_owned()]));
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let text = |field| expression.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
            needs.push(match text("operator").as_str() {
                "In" => Need::In(text("key"), values),
                "NotIn" => Need::NotIn(text("key"), values),
                "Exists" => Need::Exists(text("key")),
                "DoesNotExist" => Need::Absent(text("key")),
                other => return Err(format!("\"{other}\" is not a valid label selector operator")),
            });
        }
        Ok(Self { needs: Some(needs) })
    }

    /// Whether labels are selected.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        let Some(needs) = &self.needs else { return false };
        let value = |key: &String| labels.and_then(|labels| labels.get(key)).map(|it| it.as_str().unwrap_or_default());
        needs.iter().all(|need| match need {
            Need::In(key, values) => value(key).is_some_and(|it| values.iter().any(|value| value == it)),
            Need::NotIn(key, values) => value(key).is_none_or(|it| values.iter().all(|value| value != it)),
            Need::Exists(key) => value(key).is_some(),
            Need::Absent(key) => value(key).is_none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Selector;

    fn selects(selector: &Value, labels: &Value) -> bool {
        Selector::read(Some(selector)).unwrap().matches(labels.as_object())
    }

    #[test]
    fn none_selects_nothing_and_an_empty_one_everything() {
        assert!(!Selector::read(None).unwrap().matches(json!({"a": "b"}).as_object()));
        assert!(selects(&json!({}), &json!({"a": "b"})));
        assert!(selects(&json!({}), &json!(null)));
    }

    #[test]
    fn every_requirement_has_to_be_met() {
        let web = json!({"matchLabels": {"app": "web"}, "matchExpressions": [
            {"key": "tier", "operator": "NotIn", "values": ["test"]},
            {"key": "zone", "operator": "In", "values": ["a", "b"]},
            {"key": "owner", "operator": "Exists"},
            {"key": "old", "operator": "DoesNotExist"},
        ]});
        let fits = json!({"app": "web", "zone": "b", "owner": ""});
        assert!(selects(&web, &fits));
        for (key, value) in [("app", "x"), ("tier", "test"), ("zone", "c"), ("old", "")] {
            let mut labels = fits.clone();
            labels[key] = value.into();
            assert!(!selects(&web, &labels), "{key}");
        }
        assert!(!selects(&web, &json!({"app": "web", "zone": "b"})));
        assert!(!selects(&web, &json!(null)));
        assert!(Selector::read(Some(&json!({"matchExpressions": [{"key": "a", "operator": "Gt"}]}))).is_err());
    }
}
