//! Holds writes back while this process does not hold the Lease.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::{Body as HttpBody, Frame, SizeHint};
use jiff::{SignedDuration, Timestamp};
use kube::client::Body;
use tokio::time::Instant;
use tower::BoxError;

use crate::clock::Clock;

/// With less time than that left nothing is begun: it would be cut off on its way.
const LEAST: Duration = Duration::from_millis(250);
/// A wall clock that is ahead of the monotonic one by more than that since a grant says that the machine slept.
const SLEPT: SignedDuration = SignedDuration::from_secs(3);

/// Until when writes may be sent, shared by who renews the Lease and who writes.
///
/// Asked before every write, and once more when its body is about to go onto the wire: between the two lies the making
/// of a connection, in which a process may be stopped for a minute. What is left are the microseconds between the second
/// look and the system call. For those every write to a set tests its record, which changes with every write of ours,
/// so that one by a leader of the past is refused after the first of the next; and the delete of a pod names the uid and
/// the version of that very pod, which then has been broken, and untouched, all along.
#[derive(Debug, Clone, Default)]
pub struct Fence(Option<(Clock, Arc<Mutex<Option<Grant>>>)>);

#[derive(Debug, Clone, Copy)]
struct Grant {
    until: Instant,
    /// Both clocks at its beginning. The monotonic one stands still while a machine sleeps.
    given: (Instant, Timestamp),
}

impl Fence {
    /// One that lets nothing through until it is told to.
    pub fn shut(clock: Clock) -> Self {
        Self(Some((clock, Arc::default())))
    }

    /// Lets writes through for so long since `began`: a moment on both clocks, before the renewal was sent.
    pub fn hold(&self, began: (Instant, Timestamp), time: Duration) {
        self.set(Some(Grant { until: began.0 + time, given: began }));
    }

    /// Lets nothing through any more.
    pub fn drop_hold(&self) {
        self.set(None);
    }

    fn set(&self, grant: Option<Grant>) {
        if let Some((_, shared)) = &self.0 {
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = grant;
        }
    }

    /// How long a write that begins now may take; none where it must not begin.
    pub fn left(&self) -> Option<Duration> {
        let Some((clock, shared)) = &self.0 else { return Some(Duration::MAX) };
        let grant = (*shared.lock().unwrap_or_else(PoisonError::into_inner))?;
        let passed = SignedDuration::try_from(grant.given.0.elapsed()).unwrap_or(SignedDuration::MAX);
        let slept = clock.now().duration_since(grant.given.1).saturating_sub(passed) > SLEPT;
        let left = grant.until.saturating_duration_since(Instant::now());
        (left >= LEAST && !slept).then_some(left)
    }

    /// Puts the fence onto a request, for [`guarded`] to find at the far end of the client.
    pub(super) fn onto(&self, request: &mut Request<Body>) {
        if self.0.is_some() {
            request.extensions_mut().insert(self.clone());
        }
    }
}

/// A request whose body does not go out once its fence is shut: the server gets no whole request then.
pub(super) fn guarded(mut request: Request<Body>) -> Request<Guarded> {
    let fence = request.extensions_mut().remove::<Fence>().unwrap_or_default();
    request.map(|body| Guarded { fence, body })
}

/// A body that is held back with the fence.
pub(super) struct Guarded {
    fence: Fence,
    body: Body,
}

impl HttpBody for Guarded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.fence.left().is_none() {
            return Poll::Ready(Some(Err("the Lease was lost while the request waited to be sent".into())));
        }
        Pin::new(&mut self.body).poll_frame(context).map_err(BoxError::from)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_fence_opens_for_a_while_and_shuts_by_itself() {
        assert_eq!(Fence::default().left(), Some(Duration::MAX), "where no Lease is asked for");
        let clock = Clock::starting(Timestamp::UNIX_EPOCH);
        let fence = Fence::shut(clock);
        assert_eq!(fence.left(), None);
        let ten = Duration::from_secs(10);
        let now = || (Instant::now(), clock.now());
        fence.clone().hold(now(), ten);
        assert_eq!(fence.left(), Some(Duration::from_secs(10)));
        tokio::time::advance(Duration::from_millis(9_700)).await;
        assert_eq!(fence.left(), Some(Duration::from_millis(300)));
        tokio::time::advance(Duration::from_millis(100)).await;
        assert_eq!(fence.left(), None, "what would be cut off is not begun");
        fence.hold(now(), ten);
        fence.drop_hold();
        assert_eq!(fence.left(), None);
    }

    #[test]
    fn a_machine_that_slept_has_lost_it() {
        let fence = Fence::shut(Clock::Real);
        let hold = |ago| {
            let began = (Instant::now(), Timestamp::now() - SignedDuration::from_secs(ago));
            fence.hold(began, Duration::from_secs(10));
        };
        hold(1);
        assert!(fence.left().is_some());
        hold(5);
        assert_eq!(fence.left(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_does_not_go_out_late() {
        use http_body_util::BodyExt as _;
        let clock = Clock::starting(Timestamp::UNIX_EPOCH);
        let fence = Fence::shut(clock);
        fence.hold((Instant::now(), clock.now()), Duration::from_secs(10));
        let bodies = [(); 2].map(|()| {
            let mut request = Request::new(Body::from(b"{}".to_vec()));
            fence.onto(&mut request);
            guarded(request).into_body()
        });
        assert_eq!(bodies[0].size_hint().exact(), Some(2), "its length is known all the same");
        let [early, late] = bodies;
        assert_eq!(&early.collect().await.unwrap().to_bytes()[..], b"{}");
        tokio::time::advance(Duration::from_secs(20)).await;
        assert!(late.collect().await.is_err());
    }
}
