//! The embedded cluster on a socket: HTTP/1.1 on loopback, for kubectl and for everybody else.
//!
//! No TLS: nothing leaves the machine, and nothing in the cluster is worth hiding. What is bounded: connections, the
//! size of heads and bodies, and how long a client may take to send either. Where there are too many connections the
//! next one waits.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::BoxError;

use super::door::{Reply, refuse};
use super::{Embedded, guard};
use crate::sim::status::Status;

/// The most connections at a time: each `kubectl get -w` holds one.
const MOST_CONNECTIONS: usize = 1024;

/// The most bytes of a request's head.
const MOST_HEAD_BYTES: usize = 64 * 1024;

/// How long a connection may be silent between two requests, and how long a head may take. Clients keep idle
/// connections for 90 seconds; one that is closed by us at that very moment would fail their next request.
const IDLE: Duration = Duration::from_secs(150);

/// How long a request may take to come in whole and be answered; a watch may go on for longer.
const REQUEST: Duration = Duration::from_secs(60);

/// How long answers that are under way may take to end once the server is asked to.
const LAST: Duration = Duration::from_millis(500);

/// How long nothing is accepted after the system had no socket to give.
const NO_SOCKET: Duration = Duration::from_millis(100);

/// A server that has its port, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address can be reached from elsewhere.
    #[error("{address} is no loopback address: the embedded cluster has neither TLS nor permissions")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The system gives no such socket.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

impl Server {
    /// Takes the port; any free one where it is 0.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        if !address.ip().is_loopback() {
            return Err(ListenError::NotLoopback { address });
        }
        let failed = |source| ListenError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is asked to end; then nobody is accepted any more, and what is under way has half a second.
    pub async fn serve(self, embedded: Embedded, until: impl Future<Output = ()>) {
        let mut until = std::pin::pin!(until);
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let accept = async {
                // The semaphore is never closed: there is always a permit in the end.
                let permit = room.clone().acquire_owned().await.ok();
                (self.listener.accept().await, permit)
            };
            let (accepted, permit) = tokio::select! {
                biased;
                () = &mut until => break,
                // Ended connections leave nothing behind.
                Some(_) = connections.join_next() => continue,
                accepted = accept => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    sleep(NO_SOCKET).await;
                    continue;
                }
            };
            // An answer is one write: there is nothing to wait for. Without it they come late, not wrong.
            let _ = stream.set_nodelay(true);
            let embedded = embedded.clone();
            let service = service_fn(move |request| answer(embedded.clone(), request));
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(IDLE).max_header_size(MOST_HEAD_BYTES);
            let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
            connections.spawn(async move {
                // How a connection ends concerns nobody but its client.
                let _ = connection.await;
                drop(permit);
            });
        }
        // Watches do not end by themselves: with the set, the last of them go.
        let _ = timeout(LAST, graceful.shutdown()).await;
    }
}

/// Answers one request, if it may be asked here and is from somebody who is known.
async fn answer(embedded: Embedded, request: Request<Incoming>) -> Result<Reply, BoxError> {
    let user = match guard::user(request.headers()) {
        Ok(user) => user.to_owned(),
        Err(status) => return refuse(&status),
    };
    match timeout(REQUEST, embedded.service(&user).answer(request)).await {
        Ok(answer) => answer,
        Err(_) => refuse(&Status::new(504, "Timeout", "the request did not come in within a minute")),
    }
}

#[cfg(test)]
mod tests {
    use super::{ListenError, Server};

    #[tokio::test]
    async fn only_loopback_is_listened_on() {
        for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
            let refused = Server::bind(address.parse().unwrap()).await.unwrap_err();
            assert!(matches!(refused, ListenError::NotLoopback { .. }), "{address}");
        }
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let taken = Server::bind(server.address()).await.unwrap_err();
        assert_eq!(taken.to_string(), format!("cannot listen on {}", server.address()));
    }
}
