//! The lines of an answer that does not end.

use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::Instant;

use crate::cluster::connect::{Cause, Cluster};
use crate::cluster::send::{Call, Problem, RequestError};

/// The longest line that is kept. Objects of 1.5 MB are the most that etcd takes, and JSON may double that.
const MAX_LINE: usize = 8 << 20;

/// An open watch.
pub(in crate::cluster) struct Lines {
    body: Body,
    buffer: Vec<u8>,
    /// Where the next line begins in the buffer, and from where on it was not yet looked at for an end.
    start: usize,
    seen: usize,
    /// The line that is being read is too long and is not kept.
    skipping: bool,
}

/// Sends the request; an answer other than 200 is an error.
///
/// # Errors
/// See [`RequestError`].
pub(in crate::cluster) async fn open(cluster: &Cluster, call: &Call) -> Result<Lines, RequestError> {
    let mut request = call.request()?;
    // Newer servers compress each event on its own, which only they understand.
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let lost = |error: kube::Error| RequestError::of(cluster, &error);
    let asked = Instant::now();
    let response = cluster.client.send(request).await.map_err(lost)?;
    cluster.time.note(response.headers(), asked);
    let status = response.status();
    if status.is_success() {
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("application/json");
        if !kind.contains("json") {
            // A page of whatever stands in between: it says nothing of the cluster, however much it says.
            let words = format!("it is {kind} and no watch; is something between us and the API server?");
            return Err(RequestError::Undecodable { what: "answer".into(), source: Cause::text(&words) });
        }
        let body = response.into_body();
        return Ok(Lines { body, buffer: Vec::new(), start: 0, seen: 0, skipping: false });
    }
    let body = response.into_body().collect_bytes().await.map_err(lost)?;
    Err(Problem::read(status, &body).into_error(call))
}

impl Lines {
    /// The next line that is not empty; `None` at the end. What comes after the last line's end is not a line.
    ///
    /// Safe to be dropped while it waits: nothing that was read is lost.
    ///
    /// # Errors
    /// Where the connection breaks.
    pub(in crate::cluster) async fn next(&mut self) -> Result<Option<String>, kube::Error> {
        loop {
            while let Some(end) = self.buffer[self.seen..].iter().position(|byte| *byte == b'\n') {
                let end = self.seen + end;
                let line = &self.buffer[self.start..end];
                let line = (!self.skipping && !line.trim_ascii().is_empty())
                    .then(|| String::from_utf8_lossy(line).into_owned());
                self.skipping = false;
                self.start = end + 1;
                self.seen = self.start;
                if line.is_some() {
                    return Ok(line);
                }
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            if self.buffer.len() > MAX_LINE {
                tracing::warn!(bytes = self.buffer.len(), "skips a line of a watch that is too long");
                self.skipping = true;
            }
            if self.skipping {
                self.buffer = Vec::new();
            }
            self.seen = self.buffer.len();
            match self.body.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}
