//! How objects are shown to a client: whole, as metadata, or as rows of a table.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::accept::{self, Form};
use super::{events, table};
use crate::manifest::default::Level;
use crate::sim::request::{Answer, Request, Response};
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// The group and version of what is made for showing.
const META: &str = "meta.k8s.io/v1";

/// How one client sees the objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// The kind.
    pub(crate) resource: Resource,
    /// Whether it sees events as events.k8s.io has them.
    pub(crate) newer: bool,
    level: Level,
    form: Form,
    include: Include,
}

/// What comes with each row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Include {
    None,
    Metadata,
    Object,
}

impl View {
    /// The view that a request asks for.
    ///
    /// # Errors
    /// 406 where it can have none of the forms it takes, 400.
    pub(crate) fn read(resource: Resource, request: &Request, level: Level) -> Result<Self, Status> {
        let form = accept::form(&request.accept)?;
        let include = match request.parameter("includeObject").unwrap_or_default() {
            "" | "Metadata" => Include::Metadata,
            "Object" => Include::Object,
            "None" => Include::None,
            other if form == Form::Table => {
                return Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: \"{other}\": must be \
                     'Metadata', 'Object', 'None', or empty"
                )));
            }
            _ => Include::Metadata,
        };
        Ok(Self { resource, newer: events::is_newer(&request.path), level, form, include })
    }

    /// A refusal as this client sees it: the resource is named as in the API that was asked.
    pub(crate) fn refused(&self, mut status: Status) -> Status {
        if self.newer && events::is_about_events(&status.details) {
            let (core, newer) =
                (format!("{} \"", self.resource.plural()), format!("{}.{} \"", self.resource.plural(), events::GROUP));
            status.message = status.message.replacen(&core, &newer, 1);
            status.details["group"] = events::GROUP.into();
        }
        status
    }

    /// An answer as this client sees it: an object of the kind in its form, anything else as it is.
    ///
    /// # Errors
    /// 406 where it asked for a list of metadata.
    pub(crate) fn shown(&self, now: Timestamp, answer: Answer) -> Result<Answer, Status> {
        match answer {
            Answer::Whole(response) if response.code < 300 && response.body["kind"] == self.resource.kind() => {
                Ok(Answer::Whole(Response { body: self.object(now, &response.body)?, ..response }))
            }
            Answer::Whole(mut response) if self.newer && events::is_about_events(&response.body["details"]) => {
                response.body["details"]["group"] = events::GROUP.into();
                Ok(Answer::Whole(response))
            }
            other => Ok(other),
        }
    }

    fn object(&self, now: Timestamp, object: &Value) -> Result<Value, Status> {
        match self.form {
            Form::Objects => Ok(self.whole(object)),
            Form::Metadata { list: false } => Ok(metadata(object)),
            Form::Metadata { list: true } => Err(Status::new(
                406,
                "NotAcceptable",
                format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                    self.go_type()
                ),
            )),
            Form::Table => {
                let version = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                Ok(self.table(version, true, std::iter::once(object), now))
            }
        }
    }

    /// A list.
    ///
    /// # Errors
    /// 406 where the client asked for the metadata of one object.
    pub(crate) fn list(&self, now: Timestamp, items: &[Arc<Value>], list: Value) -> Result<Value, Status> {
        let items = items.iter().map(|item| &**item);
        let (kind, version, items): (_, _, Vec<Value>) = match self.form {
            Form::Objects => {
                let version = if self.newer { events::API_VERSION } else { self.resource.api_version() };
                let items = items.map(|item| without_type(self.whole(item))).collect();
                (format!("{}List", self.resource.kind()), version, items)
            }
            Form::Metadata { list: true } => {
                let items: Vec<Value> = items.map(metadata).collect();
                // Go's empty slice, made of nothing.
                let shown = if items.is_empty() { Value::Null } else { items.into() };
                let kind = "PartialObjectMetadataList";
                return Ok(json!({"kind": kind, "apiVersion": META, "metadata": list, "items": shown}));
            }
            Form::Metadata { list: false } => {
                return Err(Status::new(
                    406,
                    "NotAcceptable",
                    format!(
                        "you requested PartialObjectMetadata, but the requested object is a list ({}List)",
                        self.go_type()
                    ),
                ));
            }
            Form::Table => return Ok(self.table(list, true, items, now)),
        };
        Ok(json!({"kind": kind, "apiVersion": version, "metadata": list, "items": items}))
    }

    /// A line of a watch. The first one has the columns where it is a table.
    pub(crate) fn line(&self, now: Timestamp, kind: &str, object: &Value, first: bool) -> Value {
        let object = match self.form {
            Form::Objects => self.whole(object),
            Form::Metadata { .. } => metadata(object),
            Form::Table => {
                let version = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                self.table(version, first, std::iter::once(object), now)
            }
        };
        json!({"type": kind, "object": object})
    }

    /// An object of this kind with nothing in it but what it cannot be without: bookmarks carry one.
    pub(crate) fn empty(&self) -> Value {
        let mut object = match self.resource {
            Resource::Pods => json!({"spec": {"containers": null}, "status": {}}),
            Resource::Claims => json!({"spec": {"resources": {}}, "status": {}}),
            Resource::StatefulSets => json!({
                "spec": {
                    "replicas": 0, "selector": null, "serviceName": "", "updateStrategy": {},
                    "template": {"metadata": {}, "spec": {"containers": null}},
                },
                "status": {"replicas": 0, "availableReplicas": 0},
            }),
            Resource::Revisions => json!({"data": null, "revision": 0}),
            Resource::Namespaces => json!({"spec": {}, "status": {}}),
            Resource::Leases => json!({"spec": {}}),
            Resource::Services => json!({"spec": {}, "status": {"loadBalancer": {}}}),
            Resource::Budgets => json!({
                "spec": {},
                "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
            }),
            Resource::Events | Resource::ConfigMaps | Resource::Secrets => json!({}),
        };
        object["kind"] = self.resource.kind().into();
        object["apiVersion"] = self.resource.api_version().into();
        object["metadata"] = json!({});
        object
    }

    fn whole(&self, object: &Value) -> Value {
        match (self.resource, self.newer) {
            (Resource::Events, true) => events::to_newer(object.clone()),
            (Resource::Events, false) => events::completed(object.clone()),
            _ => object.clone(),
        }
    }

    fn table<'a>(&self, list: Value, columns: bool, objects: impl Iterator<Item = &'a Value>, now: Timestamp) -> Value {
        let rows: Vec<Value> = objects
            .map(|object| {
                let mut row = table::row(self.resource, object, now);
                row["object"] = match self.include {
                    Include::None => Value::Null,
                    Include::Metadata => metadata(object),
                    Include::Object => self.whole(object),
                };
                row
            })
            .collect();
        let columns = if columns { table::columns(self.resource, self.level) } else { Value::Null };
        json!({"kind": "Table", "apiVersion": META, "metadata": list, "columnDefinitions": columns, "rows": rows})
    }

    /// The name that the kind has inside a real server: it is in two messages.
    fn go_type(&self) -> String {
        let package = match self.resource.group() {
            "" => "core",
            group => group.split('.').next().unwrap_or(group),
        };
        format!("*{package}.{}", self.resource.kind())
    }
}

fn metadata(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": object["metadata"]})
}

/// An item of a list: the list says what it is.
fn without_type(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    object
}
