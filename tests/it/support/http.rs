//! A small HTTP server that runs `git http-backend`, and misbehaves when told to.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::repo::hermetic;

/// How the server behaves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manners {
    /// The `Authorization` header that it wants, `Basic ..`.
    pub(crate) wants: Option<String>,
    /// Answers everything with a redirect to this address, the rest of the path appended.
    pub(crate) redirect: Option<String>,
    /// Redirects only who has given the `Authorization` that it wants.
    pub(crate) asks_first: bool,
    /// Cuts packs off after so many bytes.
    pub(crate) cut: Option<usize>,
    /// Never answers a request whose path holds this.
    pub(crate) hangs_at: Option<&'static str>,
}

/// A running server on a port of its own.
pub(crate) struct Server {
    address: SocketAddr,
    manners: Arc<Mutex<Manners>>,
    seen: Arc<Mutex<Vec<Request>>>,
}

/// One request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Server {
    /// Serves the repositories in a folder.
    pub(crate) fn start(root: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), manners: Arc::default(), seen: Arc::default() };
        let (manners, seen, root) = (server.manners.clone(), server.seen.clone(), root.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (manners, seen, root) = (manners.lock().unwrap().clone(), seen.clone(), root.clone());
                thread::spawn(move || serve(stream, &manners, &seen, &root));
            }
        });
        server
    }

    /// `http://127.0.0.1:port/path`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Changes the server's behaviour from the next connection on.
    pub(crate) fn behave(&self, manners: Manners) {
        *self.manners.lock().unwrap() = manners;
    }

    /// What came in so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, manners: &Manners, seen: &Mutex<Vec<Request>>, root: &Path) {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let Some(request) = read_request(&stream) else { return };
    seen.lock().unwrap().push(request.clone());
    if manners.hangs_at.is_some_and(|part| request.target.contains(part)) {
        thread::sleep(Duration::from_secs(30));
        return;
    }
    let known = manners.wants.is_some() && request.headers.get("authorization") == manners.wants.as_ref();
    if let Some(place) = manners.redirect.as_ref().filter(|_| known || !manners.asks_first) {
        let _ = write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: {place}{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            request.target
        );
        return;
    }
    if manners.wants.is_some() && request.headers.get("authorization") != manners.wants.as_ref() {
        let _ = stream.write_all(
            b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
        return;
    }
    let (mut head, mut body) = backend(&request, root);
    if let Some(cut) = manners.cut
        && request.method == "POST"
        && body.len() > cut
    {
        head = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        body.truncate(cut);
    } else {
        head = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    }
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&body);
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|value| value == "chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; length + 2];
            reader.read_exact(&mut chunk).ok()?;
            if length == 0 {
                break;
            }
            body.extend(&chunk[..length]);
        }
    } else if let Some(length) = headers.get("content-length").and_then(|length| length.parse().ok()) {
        body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
    }
    Some(Request { method, target, headers, body })
}

/// Runs `git http-backend`; gives the status line with the headers, and the body.
fn backend(request: &Request, root: &Path) -> (String, Vec<u8>) {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let mut command = hermetic(root);
    command
        .args(["-c", "safe.directory=*", "http-backend"])
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &request.method)
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for (header, name) in [("content-type", "CONTENT_TYPE"), ("content-encoding", "HTTP_CONTENT_ENCODING")] {
        if let Some(value) = request.headers.get(header) {
            command.env(name, value);
        }
    }
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let body = request.body.clone();
    let feeder = thread::spawn(move || drop(stdin.write_all(&body)));
    let output = child.wait_with_output().unwrap().stdout;
    feeder.join().unwrap();
    let split = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(0);
    let (mut status, mut headers) = ("200 OK".to_owned(), String::new());
    for line in String::from_utf8_lossy(&output[..split]).lines() {
        match line.split_once(": ") {
            Some(("Status", value)) => status = value.to_owned(),
            Some((name, value)) => headers += &format!("{name}: {value}\r\n"),
            None => {}
        }
    }
    (format!("HTTP/1.1 {status}\r\n{headers}"), output.get(split + 4..).unwrap_or_default().to_vec())
}
