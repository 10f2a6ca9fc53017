//! Who owns which fields: `metadata.managedFields`, read and written.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::set::FieldSet;
use crate::manifest::go_json;

/// How many that update are told apart; the oldest beyond them are put together.
const MOST_UPDATERS: usize = 10;

/// By what name the oldest are put together.
const ANCIENT: &str = "ancient-changes";

/// Everybody who owns fields of an object, each under what tells it from the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Owners {
    pub(super) all: BTreeMap<String, Owner>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Owner {
    pub(super) manager: String,
    pub(super) subresource: String,
    /// The version in which the set is told.
    pub(super) api_version: String,
    /// Whether it applies; it updates otherwise.
    pub(super) applies: bool,
    pub(super) time: Option<String>,
    pub(super) set: FieldSet,
}

impl Owner {
    /// What tells it from others, as the server spells it: the order of conflicts is that of these.
    pub(super) fn id(&self) -> String {
        let mut id = String::from("{");
        let mut add = |name: &str, text: &str| {
            if !text.is_empty() {
                let comma = if id.len() > 1 { "," } else { "" };
                id.push_str(&format!("{comma}\"{name}\":{}", go_json::to_string(&text.into())));
            }
        };
        add("manager", &self.manager);
        add("operation", self.operation());
        // Who applies is the same in every version.
        add("apiVersion", if self.applies { "" } else { &self.api_version });
        add("subresource", &self.subresource);
        id.push('}');
        id
    }

    fn operation(&self) -> &'static str {
        if self.applies { "Apply" } else { "Update" }
    }

    fn read(entry: &Value, index: usize) -> Result<Self, String> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let applies = match text("operation").as_str() {
            "Apply" => true,
            "Update" => false,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType").as_str() {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => return Err(format!("invalid fieldsType \"{other}\" in managed fields entry {index}")),
        }
        let time = Some(text("time")).filter(|time| !time.is_empty());
        let set = FieldSet::from_json(entry.get("fieldsV1").unwrap_or(&Value::Null))?;
        Ok(Self { manager: text("manager"), subresource: text("subresource"), api_version, applies, time, set })
    }

    fn write(&self) -> Value {
        let mut entry = json!({
            "operation": self.operation(),
            "apiVersion": self.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.set.to_json(),
        });
        for (name, text) in [("manager", &self.manager), ("subresource", &self.subresource)] {
            if !text.is_empty() {
                entry[name] = text.as_str().into();
            }
        }
        if let Some(time) = &self.time {
            entry["time"] = time.as_str().into();
        }
        entry
    }
}

impl Owners {
    /// Those that an object names.
    ///
    /// # Errors
    /// Where an entry cannot be; the server then goes by what it knew before.
    pub(super) fn read(managed: Option<&Value>) -> Result<Self, String> {
        let mut all = BTreeMap::new();
        for (index, entry) in managed.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let owner = Owner::read(entry, index)?;
            all.insert(owner.id(), owner);
        }
        Ok(Self { all })
    }

    /// As `managedFields`; none where there are none.
    pub(super) fn write(&self) -> Option<Value> {
        let mut owners: Vec<&Owner> = self.all.values().collect();
        owners.sort_by_key(|owner| {
            (owner.operation(), &owner.time, &owner.manager, &owner.api_version, &owner.subresource)
        });
        (!owners.is_empty()).then(|| owners.into_iter().map(Owner::write).collect())
    }

    /// Writes them into an object, in the place of those that it names.
    pub(super) fn write_into(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        let metadata = object.entry("metadata").or_insert_with(|| Map::new().into());
        let Some(metadata) = metadata.as_object_mut() else { return };
        match self.write() {
            Some(managed) => drop(metadata.insert("managedFields".to_owned(), managed)),
            None => drop(metadata.remove("managedFields")),
        }
    }

    /// Takes those out that own nothing.
    pub(super) fn drop_empty(&mut self) {
        self.all.retain(|_, owner| !owner.set.is_empty());
    }

    /// Puts the oldest of those that update together, where there are too many.
    pub(super) fn cap(&mut self) {
        let mut updaters: Vec<(Option<String>, String)> = self
            .all
            .iter()
            .filter(|(_, owner)| !owner.applies)
            .map(|(id, owner)| (owner.time.clone(), id.clone()))
            .collect();
        updaters.sort();
        let mut count = updaters.len();
        let mut first_of: BTreeMap<String, String> = BTreeMap::new();
        for (_, id) in updaters {
            if count <= MOST_UPDATERS {
                return;
            }
            let Some(owner) = self.all.get(&id).cloned() else { continue };
            let Some(first) = first_of.get(&owner.api_version) else {
                first_of.insert(owner.api_version, id);
                continue;
            };
            let mut bucket = Owner { manager: ANCIENT.to_owned(), subresource: String::new(), ..owner.clone() };
            let name = bucket.id();
            if !self.all.contains_key(&name)
                && let Some(found) = self.all.remove(first)
            {
                bucket.set = bucket.set.union(&found.set);
            } else if let Some(found) = self.all.get(&name) {
                bucket.set = bucket.set.union(&found.set);
            }
            // The time is that of the last one put in, which is the latest.
            self.all.remove(&id);
            self.all.insert(name, bucket);
            count -= 1;
        }
    }
}
