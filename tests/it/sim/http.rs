//! The embedded cluster on a socket, asked by clients good and bad.

use std::net::SocketAddr;
use std::time::Duration;

use phaseline::clock::Clock;
use phaseline::sim::serve::{Embedded, Server, token};
use phaseline::sim::{Settings, World};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A cluster that is served until it is dropped, or asked to end.
struct Site {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Site {
    async fn start() -> Self {
        let settings = Settings { start: jiff::Timestamp::now(), ..Settings::default() };
        let embedded = Embedded::start(World::new(&settings), Clock::Real);
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = server.address();
        let (end, ends) = oneshot::channel();
        let task = tokio::spawn(server.serve(embedded, async {
            ends.await.ok();
        }));
        Self { address, end: Some(end), task }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    fn head(&self, method: &str, target: &str, more: &str) -> String {
        format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n{more}\r\n", self.address)
    }

    /// Status code and body of one request on a connection of its own.
    async fn ask(&self, method: &str, target: &str, more: &str, body: &str) -> (u16, Value) {
        let more = format!("Connection: close\r\nContent-Length: {}\r\n{more}", body.len());
        let text = self.raw(&format!("{}{body}", self.head(method, target, &more))).await;
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        (code, serde_json::from_str(body).unwrap_or_else(|_| Value::from(body)))
    }

    async fn get(&self, target: &str) -> (u16, Value) {
        self.ask("GET", target, "", "").await
    }

    async fn make(&self, name: &str) -> (u16, Value) {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        self.ask("POST", MAPS, "Content-Type: application/json\r\n", &body.to_string()).await
    }

    /// Whatever comes back for some bytes before the connection ends.
    async fn raw(&self, bytes: &str) -> String {
        let mut stream = self.connect().await;
        // A server that has heard enough may close before everything is sent.
        stream.write_all(bytes.as_bytes()).await.ok();
        let mut answer = Vec::new();
        timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await.expect("an end").ok();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

/// Reads until a text has come.
async fn until(stream: &mut TcpStream, text: &str) -> String {
    let mut seen = String::new();
    let mut bytes = [0; 4096];
    while !seen.contains(text) {
        let read = timeout(Duration::from_secs(20), stream.read(&mut bytes)).await.expect("in time").unwrap();
        assert!(read > 0, "it ended after {seen:?}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_made_read_and_watched_over_a_socket() {
    let site = Site::start().await;
    assert_eq!(site.get("/readyz").await, (200, "ok".into()));
    let mut watch = site.connect().await;
    let head = site.head("GET", &format!("{MAPS}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Da"), "");
    watch.write_all(head.as_bytes()).await.unwrap();
    assert!(until(&mut watch, "\r\n\r\n").await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(site.make("b").await.0, 201);
    assert_eq!(site.make("a").await.0, 201);
    assert_eq!(site.make("a").await.0, 409);
    let line = until(&mut watch, "}\n").await;
    assert!(line.contains(r#""type":"ADDED""#) && !line.contains(r#""name":"b""#), "{line}");
    let (code, list) = site.get(&format!("{MAPS}?limit=1")).await;
    assert_eq!(
        (code, &list["kind"], &list["items"][0]["metadata"]["name"]),
        (200, &"ConfigMapList".into(), &"a".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_is_known_by_the_token_and_where_by_the_host() {
    let site = Site::start().await;
    let as_user = |user: &str| format!("Authorization: Bearer {}\r\n", token(user));
    assert_eq!(site.ask("GET", MAPS, &as_user("jo"), "").await.0, 200);
    let (code, refused) = site.ask("GET", MAPS, "Authorization: Bearer stolen\r\n", "").await;
    assert_eq!((code, &refused["reason"], &refused["message"]), (401, &"Unauthorized".into(), &"Unauthorized".into()));
    assert_eq!(site.ask("GET", MAPS, "Origin: http://example.com\r\n", "").await.0, 403);
    let rebound = site.raw("GET /version HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n").await;
    assert!(rebound.starts_with("HTTP/1.1 403 "), "{rebound}");
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_refused_and_harms_nobody() {
    let site = Site::start().await;
    for garbage in [
        "\r\n\r\n\r\n\r\nhello\r\n\r\n",
        "GET\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    ] {
        let answer = site.raw(garbage).await;
        assert!(!answer.starts_with("HTTP/1.1 2"), "{garbage:?}: {answer}");
    }
    for (method, target, code) in [
        ("GET", "/api/v1/namespaces/%zz", 400),
        ("GET", "/api/v1/pods?limit=%ff", 400),
        ("GET", "//..//api/v1/pods/../x", 501),
        ("OPTIONS", "/api/v1/pods", 501),
        ("PUT", "/api/v1/pods", 405),
        ("BREW", "/", 501),
    ] {
        let (told, status) = site.ask(method, target, "", "").await;
        assert_eq!((told, &status["kind"]), (code, &"Status".into()), "{method} {target}: {status}");
    }
    let (code, _) = site.ask("POST", MAPS, "Content-Type: application/json\r\n", "{\"metadata\":").await;
    assert_eq!(code, 400);
    assert_eq!(site.get(MAPS).await.0, 200, "and it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused() {
    let site = Site::start().await;
    let long = format!("X-Long: {}\r\nConnection: close\r\n", "x".repeat(100_000));
    let answer = site.raw(&site.head("GET", "/version", &long)).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let many: String = (0..1000).map(|it| format!("X-{it}: y\r\n")).collect();
    let answer = site.raw(&site.head("GET", "/version", &many)).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let body = "x".repeat((3 << 20) + 1);
    let (code, status) = site.ask("POST", MAPS, "Content-Type: application/json\r\n", &body).await;
    assert_eq!((code, &status["reason"]), (413, &"RequestEntityTooLarge".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_say_nothing_more_hold_nobody_up() {
    let site = Site::start().await;
    let mut slow = Vec::new();
    for part in ["", "GET /ver", "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"] {
        let mut stream = site.connect().await;
        stream.write_all(part.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    assert_eq!(timeout(Duration::from_secs(10), site.get("/version")).await.expect("in time").0, 200);
    let mut late = slow.remove(1);
    let rest = format!("sion HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", site.address);
    late.write_all(rest.as_bytes()).await.unwrap();
    assert!(until(&mut late, "gitVersion").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_watches_are_told_the_same_and_end_with_the_server() {
    let mut site = Site::start().await;
    let mut watches = Vec::new();
    for _ in 0..100 {
        let mut stream = site.connect().await;
        let head = site.head("GET", &format!("{MAPS}?watch=true&resourceVersion=0"), "");
        stream.write_all(head.as_bytes()).await.unwrap();
        until(&mut stream, "\r\n\r\n").await;
        watches.push(stream);
    }
    site.make("a").await;
    for watch in &mut watches {
        assert!(until(watch, "}\n").await.contains("ADDED"));
    }
    site.end.take().unwrap().send(()).unwrap();
    timeout(Duration::from_secs(5), &mut site.task).await.expect("it ends").unwrap();
    for mut watch in watches {
        let mut rest = Vec::new();
        // Whether by an end or by a reset: nothing is told any more.
        watch.read_to_end(&mut rest).await.ok();
        assert!(!String::from_utf8_lossy(&rest).contains("ADDED"));
    }
    assert!(TcpStream::connect(site.address).await.is_err(), "nobody listens");
}
