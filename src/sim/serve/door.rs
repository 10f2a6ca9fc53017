//! The door of the embedded cluster: HTTP requests in, answers and watches out, without a socket.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream;
use http::header::{ACCEPT, CONTENT_TYPE, DATE, RETRY_AFTER, USER_AGENT, WARNING};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use tokio::time::sleep_until;
use tower::{BoxError, Service};

use super::{Embedded, Shared, query};
use crate::sim::api::watch::Watch;
use crate::sim::request::{self, Answer, Loss};
use crate::sim::status::Status;

/// The most that a request may carry, as on a real server.
const MOST_BYTES: usize = 3 * 1024 * 1024;

/// An answer: whole, or a watch that goes on.
pub type Reply = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// A door for the requests of one user.
#[derive(Debug, Clone)]
pub struct Door {
    embedded: Embedded,
    user: Arc<str>,
}

impl Door {
    pub(super) fn new(embedded: Embedded, user: &str) -> Self {
        Self { embedded, user: user.into() }
    }

    /// Answers a request, and says what time it is here.
    ///
    /// # Errors
    /// Where the request's body breaks off: nobody is there to be answered.
    pub async fn answer<B>(self, request: Request<B>) -> Result<Reply, BoxError>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let clock = self.embedded.clock();
        let mut reply = self.undated(request).await?;
        let date = clock.now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        reply.headers_mut().insert(DATE, HeaderValue::try_from(date)?);
        Ok(reply)
    }

    async fn undated<B>(self, request: Request<B>) -> Result<Reply, BoxError>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let body = match Limited::new(body, MOST_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let message = format!("Request entity too large: limit is {MOST_BYTES}");
                return refuse(&Status::new(413, "RequestEntityTooLarge", message));
            }
            Err(error) => return Err(error),
        };
        let (Some(path), Some(query)) =
            (query::path(parts.uri.path()), query::parameters(parts.uri.query().unwrap_or_default()))
        else {
            return refuse(&Status::bad_request("the request's target cannot be decoded"));
        };
        let asked = request::Request {
            method: parts.method.as_str().to_owned(),
            path,
            query,
            accept: header(&parts.headers, &ACCEPT),
            content_type: header(&parts.headers, &CONTENT_TYPE),
            body: body.to_vec(),
            user: self.user.to_string(),
            agent: header(&parts.headers, &USER_AGENT),
        };
        let shared = &self.embedded.shared;
        let mut answer = self.embedded.with(|world, now| {
            // What happened before was not asked for by this request.
            world.advance(now);
            shared.audit(|audit| audit.catch_up(world));
            let answer = world.handle(now, &asked);
            shared.audit(|audit| {
                let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
                audit.request(world, target, &asked, &answer);
            });
            answer
        });
        loop {
            match answer {
                Answer::Whole(response) => return whole(&response),
                Answer::Watch(watch) => return Ok(follow(self.embedded, *watch)),
                Answer::Late(wait, late) => {
                    tokio::time::sleep(wait.try_into().unwrap_or_default()).await;
                    answer = *late;
                }
                Answer::Lost(Loss::Reset) => return Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
                Answer::Lost(Loss::Crash) => {
                    self.embedded.shared.crashes.notify_one();
                    return std::future::pending().await;
                }
            }
        }
    }
}

impl<B> Service<Request<B>> for Door
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Reply;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Reply, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}

/// A header's value; empty where it is absent or no text.
fn header(headers: &HeaderMap, name: &HeaderName) -> String {
    let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    values.join(",")
}

/// A refusal as an answer.
pub(super) fn refuse(status: &Status) -> Result<Reply, BoxError> {
    whole(&request::Response::new(status.code, status.to_json()))
}

fn whole(response: &request::Response) -> Result<Reply, BoxError> {
    let mut reply = Response::builder().status(response.code).header(CONTENT_TYPE, response.content_type);
    for warning in &response.warnings {
        let told: String = warning.chars().map(|char| if char.is_ascii_graphic() { char } else { ' ' }).collect();
        reply = reply.header(WARNING, format!("299 - \"{}\"", told.replace('\\', "\\\\").replace('"', "\\\"")));
    }
    let failed = response.body["kind"] == "Status" && response.body["status"] == "Failure";
    if let Some(seconds) = response.body["details"]["retryAfterSeconds"].as_u64().filter(|_| failed) {
        reply = reply.header(RETRY_AFTER, seconds);
    }
    Ok(reply.body(Full::new(Bytes::from(response.bytes())).map_err(|never| match never {}).boxed_unsync())?)
}

/// The answer to a watch: a line for each event, for as long as there is somebody to read them.
fn follow(embedded: Embedded, watch: Watch) -> Reply {
    let lines = stream::unfold(Some((embedded, watch)), |state| async {
        let (embedded, mut watch) = state?;
        let (lines, ended) = next(&embedded.shared, &mut watch).await;
        let frame = Ok::<_, BoxError>(Frame::data(Bytes::from(lines)));
        Some((frame, (!ended).then_some((embedded, watch))))
    });
    let mut reply = Response::new(StreamBody::new(lines).boxed_unsync());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// Waits for what a watch has to tell, and whether that was the last of it.
async fn next(shared: &Shared, watch: &mut Watch) -> (Vec<u8>, bool) {
    loop {
        let mut changed = std::pin::pin!(shared.changed.notified());
        // From here on no change is missed.
        changed.as_mut().enable();
        let poll = shared.with(|world, now| world.poll(now, watch));
        if poll.ended || !poll.lines.is_empty() {
            let mut lines = Vec::new();
            for line in &poll.lines {
                lines.extend_from_slice(line.to_string().as_bytes());
                lines.push(b'\n');
            }
            return (lines, poll.ended);
        }
        let again = async {
            match poll.again {
                Some(time) => sleep_until(shared.clock.at(time)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = changed => {}
            () = again => {}
        }
    }
}
