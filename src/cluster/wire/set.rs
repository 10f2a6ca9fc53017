//! A StatefulSet as it comes over the wire.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::owners::Entry;
use super::{Labels, TemplateDigest, Templates, count, live_template, or_default, workload};
use crate::model::{LiveSet, Partition, Record, RecordState, Request, WorkloadId};
use crate::revision::digest::HASH_VERSION;

/// Decodes a StatefulSet.
///
/// # Errors
/// A field of a wrong type, or no name.
pub(crate) fn set(json: &str, templates: &mut Templates) -> Result<(WorkloadId, LiveSet), serde_json::Error> {
    let WireSet { metadata, spec, status } = serde_json::from_str(json)?;
    if metadata.name.is_empty() {
        return Err(serde::de::Error::missing_field("metadata.name"));
    }
    let TemplateDigest { hash, restarted_at } = templates.digest(&metadata.uid, metadata.generation, spec.template);
    let replicas = spec.replicas.map_or(1, count);
    let budget = spec.update_strategy.rolling_update.as_ref().and_then(|rolling| rolling.max_unavailable.as_ref());
    let live = LiveSet {
        uid: metadata.uid,
        resource_version: metadata.resource_version,
        generation: metadata.generation,
        terminating: metadata.deletion_timestamp.is_some(),
        replicas,
        start: count(spec.ordinals.start),
        min_ready_seconds: count(spec.min_ready_seconds),
        parallel: spec.pod_management_policy == "Parallel",
        strategy: spec.update_strategy.kind.unwrap_or_else(|| "RollingUpdate".into()),
        max_unavailable: budget.map(|budget| max_unavailable(budget, replicas)),
        partition: spec.update_strategy.rolling_update.map(|rolling| Partition(count(rolling.partition))),
        deletes_claims_when_scaled: spec.persistent_volume_claim_retention_policy.when_scaled == "Delete",
        claim_templates: spec.volume_claim_templates.into_iter().map(|claim| claim.metadata.name).collect(),
        template: hash,
        restarted_at,
        ready_replicas: count(status.ready_replicas),
        observed_generation: status.observed_generation,
        current_revision: status.current_revision,
        update_revision: status.update_revision,
        record: record(metadata.annotations.record),
        request: metadata.annotations.request.as_deref().map(request),
        request_text: metadata.annotations.request.unwrap_or_default(),
        owners: metadata.managed_fields.into_iter().map(Into::into).collect(),
    };
    Ok((workload(metadata.namespace, metadata.name), live))
}

/// `maxUnavailable` in pods: a share is rounded down, and it is never less than one.
///
/// Mirrors `getStatefulSetMaxUnavailable`; what is no share, which no server lets in, counts as one.
pub(crate) fn max_unavailable(stated: &IntOrString, replicas: u32) -> u32 {
    let pods = match stated {
        IntOrString::Int(pods) => u32::try_from(*pods).unwrap_or(1),
        IntOrString::String(share) => {
            let percent: u64 = share.strip_suffix('%').and_then(|percent| percent.parse().ok()).unwrap_or(0);
            u32::try_from(u64::from(replicas).saturating_mul(percent) / 100).unwrap_or(u32::MAX)
        }
    };
    pods.max(1)
}

fn record(text: Option<String>) -> RecordState {
    let Some(text) = text else { return RecordState::Absent };
    match Record::decode(&text) {
        Ok(record) if record.hashes > HASH_VERSION => RecordState::Unreadable(format!(
            "it was written by a newer phaseline (its digests are of version {}, this one makes version {HASH_VERSION}): run \
             that one again, or give the set back with `phaseline release` and take it over with `phaseline adopt`",
            record.hashes
        )),
        Ok(record) => RecordState::Is(Box::new(record), text),
        Err(why) => RecordState::Unreadable(why),
    }
}

fn request(text: &str) -> Result<Request, String> {
    if text.len() > Request::MAX_BYTES {
        return Err(format!("it has {} bytes, more than {}", text.len(), Request::MAX_BYTES));
    }
    serde_json::from_str(text).map_err(|error| format!("no request: {error}"))
}

#[derive(Deserialize)]
struct WireSet<'a> {
    #[serde(default)]
    metadata: WireMeta,
    #[serde(borrow, default)]
    spec: WireSpec<'a>,
    #[serde(default, deserialize_with = "or_default")]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireMeta {
    name: String,
    #[serde(deserialize_with = "or_default")]
    namespace: String,
    #[serde(deserialize_with = "or_default")]
    uid: String,
    #[serde(deserialize_with = "or_default")]
    resource_version: String,
    #[serde(deserialize_with = "or_default")]
    generation: i64,
    deletion_timestamp: Option<String>,
    #[serde(deserialize_with = "or_default")]
    annotations: WireAnnotations,
    #[serde(deserialize_with = "or_default")]
    managed_fields: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireAnnotations {
    #[serde(rename = "phaseline.dev/rollout")]
    record: Option<String>,
    #[serde(rename = "phaseline.dev/request")]
    request: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSpec<'a> {
    replicas: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    ordinals: WireOrdinals,
    #[serde(deserialize_with = "or_default")]
    min_ready_seconds: i64,
    #[serde(deserialize_with = "or_default")]
    pod_management_policy: String,
    #[serde(deserialize_with = "or_default")]
    update_strategy: WireStrategy,
    #[serde(deserialize_with = "or_default")]
    persistent_volume_claim_retention_policy: WireRetention,
    #[serde(deserialize_with = "or_default")]
    volume_claim_templates: Vec<WireClaim>,
    #[serde(borrow)]
    template: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireOrdinals {
    #[serde(deserialize_with = "or_default")]
    start: i64,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireStrategy {
    #[serde(rename = "type")]
    kind: Option<String>,
    rolling_update: Option<WireRolling>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireRolling {
    #[serde(deserialize_with = "or_default")]
    partition: i64,
    max_unavailable: Option<IntOrString>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireRetention {
    #[serde(deserialize_with = "or_default")]
    when_scaled: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireClaim {
    #[serde(deserialize_with = "or_default")]
    metadata: super::IdentityMeta,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireStatus {
    #[serde(deserialize_with = "or_default")]
    observed_generation: i64,
    #[serde(deserialize_with = "or_default")]
    ready_replicas: i64,
    #[serde(deserialize_with = "or_default")]
    current_revision: String,
    #[serde(deserialize_with = "or_default")]
    update_revision: String,
}

/// `spec.selector` of a set.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Selector {
    #[serde(deserialize_with = "or_default")]
    match_labels: Labels,
    #[serde(deserialize_with = "or_default")]
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Expression {
    #[serde(deserialize_with = "or_default")]
    key: String,
    #[serde(deserialize_with = "or_default")]
    operator: String,
    #[serde(deserialize_with = "or_default")]
    values: Vec<String>,
}

impl Selector {
    /// As the query parameter `labelSelector` has it.
    pub(crate) fn query(&self) -> String {
        let labels = self.match_labels.iter().map(|(key, value)| format!("{key}={value}"));
        let expressions =
            self.match_expressions.iter().map(|Expression { key, operator, values }| match operator.as_str() {
                "In" => format!("{key} in ({})", values.join(",")),
                "NotIn" => format!("{key} notin ({})", values.join(",")),
                "DoesNotExist" => format!("!{key}"),
                _ => key.clone(),
            });
        labels.chain(expressions).collect::<Vec<_>>().join(",")
    }
}

/// Decodes the selector of a set.
///
/// # Errors
/// A field of a wrong type.
pub(crate) fn selector(json: &[u8]) -> Result<Selector, serde_json::Error> {
    #[derive(Deserialize)]
    struct Set {
        spec: Spec,
    }
    #[derive(Deserialize)]
    struct Spec {
        #[serde(default, deserialize_with = "or_default")]
        selector: Selector,
    }
    serde_json::from_slice(json).map(|set: Set| set.spec.selector)
}

/// Decodes a ControllerRevision: its name, its number, what its template comes to, its change cause, its owner's uid.
///
/// # Errors
/// A field of a wrong type.
pub(crate) fn controller_revision(
    json: &str,
) -> Result<(String, i64, TemplateDigest, String, String), serde_json::Error> {
    #[derive(Deserialize)]
    struct Revision<'a> {
        #[serde(borrow)]
        metadata: Meta<'a>,
        #[serde(default)]
        revision: i64,
        #[serde(borrow)]
        data: Option<Data<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta<'a> {
        name: String,
        #[serde(default, deserialize_with = "or_default")]
        annotations: Annotations,
        #[serde(borrow, default, deserialize_with = "or_default")]
        owner_references: Vec<super::pod::OwnerReference<'a>>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Annotations {
        #[serde(rename = "kubernetes.io/change-cause", deserialize_with = "or_default")]
        cause: String,
    }
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        spec: Option<Spec<'a>>,
    }
    #[derive(Deserialize)]
    struct Spec<'a> {
        #[serde(borrow)]
        template: Option<&'a RawValue>,
    }
    let Revision { metadata, revision, data } = serde_json::from_str(json)?;
    let template = live_template(data.and_then(|data| data.spec?.template));
    let owner = metadata.owner_references.into_iter().find(|owner| owner.controller).map(|owner| owner.uid.to_string());
    Ok((metadata.name, revision, template, metadata.annotations.cause, owner.unwrap_or_default()))
}
