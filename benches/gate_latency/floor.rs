//! The floor: the least that any program does. A line of the watch is looked at for its pod and whether it is Ready,
//! and the same PATCH goes out at once.

use std::collections::{HashMap, HashSet};

use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use serde::Deserialize;
use tokio::task::JoinSet;
use tower::BoxError;

/// What the floor knows of a set: all that its next PATCH needs.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// `metadata.uid`.
    pub(crate) uid: String,
    /// `metadata.generation`.
    pub(crate) generation: u64,
    /// The record; the floor writes the same one again.
    pub(crate) record: String,
    /// The partition.
    pub(crate) partition: u64,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    object: Pod<'a>,
}

#[derive(Deserialize)]
struct Pod<'a> {
    #[serde(borrow, default)]
    metadata: Meta<'a>,
    #[serde(borrow, default)]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(default)]
    name: &'a str,
}

#[derive(Default, Deserialize)]
struct Status<'a> {
    #[serde(borrow, default)]
    conditions: Vec<Condition<'a>>,
}

#[derive(Deserialize)]
struct Condition<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    status: &'a str,
}

/// Runs for ever: sets by name in, PATCHes out.
///
/// `waiting` are the pods that are not Ready.
pub(crate) async fn run(
    client: kube::Client,
    namespace: &str,
    mut known: HashMap<String, Known>,
    mut waiting: HashSet<String>,
) -> Result<(), BoxError> {
    // The daemon reads both watches; so does the floor.
    let sets = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets");
    let mut other = open(&client, &sets).await?;
    let mut drain = JoinSet::new();
    drain.spawn(async move { while other.frame().await.is_some() {} });
    let mut pods = open(&client, &format!("/api/v1/namespaces/{namespace}/pods")).await?;
    let mut buffer: Vec<u8> = Vec::new();
    while let Some(frame) = pods.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        buffer.extend_from_slice(&data);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let name = ready(&buffer[..end], &mut waiting)?;
            buffer.drain(..=end);
            if let Some(name) = name {
                let set = name.rsplit_once('-').map_or(name.as_str(), |(set, _)| set);
                let known = known.get_mut(set).ok_or("an unknown set")?;
                let body = patch(known)?;
                let request = Request::patch(format!("{sets}/{set}?fieldManager=floor&fieldValidation=Strict"))
                    .header("accept", "application/json")
                    .header("content-type", "application/json-patch+json")
                    .body(Body::from(body))?;
                let response = client.send(request).await?;
                if !response.status().is_success() {
                    return Err(format!("refused: {}", response.status()).into());
                }
                response.into_body().collect_bytes().await?;
                known.generation += 1;
                known.partition -= 1;
            }
        }
    }
    Ok(())
}

async fn open(client: &kube::Client, path: &str) -> Result<Body, BoxError> {
    let uri = format!("{path}?watch=true&allowWatchBookmarks=true&resourceVersion={}", u64::MAX);
    Ok(client.send(Request::get(uri).body(Body::empty())?).await?.into_body())
}

/// The pod that has become Ready with this line.
fn ready(line: &[u8], waiting: &mut HashSet<String>) -> Result<Option<String>, serde_json::Error> {
    let Line { object: Pod { metadata, status } } = serde_json::from_slice(line)?;
    let ready = status.conditions.iter().any(|condition| condition.kind == "Ready" && condition.status == "True");
    if !ready {
        if !metadata.name.is_empty() && !waiting.contains(metadata.name) {
            waiting.insert(metadata.name.to_owned());
        }
        return Ok(None);
    }
    Ok(waiting.take(metadata.name))
}

/// The same PATCH that the daemon sends.
fn patch(known: &Known) -> Result<Vec<u8>, serde_json::Error> {
    let Known { uid, generation, record, partition } = known;
    let record = serde_json::to_string(record)?;
    Ok(format!(
        r#"[{{"op":"test","path":"/metadata/uid","value":"{uid}"}},{{"op":"test","path":"/metadata/generation","value":{generation}}},{{"op":"test","path":"/metadata/annotations/phaseline.dev~1rollout","value":{record}}},{{"op":"add","path":"/spec/updateStrategy/rollingUpdate/partition","value":{}}},{{"op":"replace","path":"/metadata/annotations/phaseline.dev~1rollout","value":{record}}}]"#,
        partition - 1
    )
    .into_bytes())
}
