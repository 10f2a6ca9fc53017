//! The real `kubectl` on a cluster, through a proxy of ours that writes down what it asks.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    task::JoinHandle,
    time::timeout,
};

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// `kubectl` for one cluster.
pub(super) struct Kubectl {
    binary: PathBuf,
    client: kube::Client,
}

/// A `kubectl` that runs beside the steps of a script.
pub(super) struct Running {
    child: Child,
    proxy: Proxy,
    args: String,
}

/// A listener of one command, with its home folder; gone when dropped.
struct Proxy {
    home: tempfile::TempDir,
    asked: Arc<Mutex<Vec<Value>>>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Kubectl {
    pub(super) fn new(binary: &Path, client: kube::Client) -> Self {
        Self { binary: binary.to_owned(), client }
    }

    /// Runs a command to its end.
    pub(super) async fn run(
        &self,
        namespace: &str,
        args: &str,
        stdin: Option<String>,
        subset: bool,
    ) -> Result<Value, String> {
        let proxy = Proxy::start(self.client.clone()).await?;
        let mut child = self.command(&proxy, namespace, args).spawn().map_err(|it| it.to_string())?;
        let mut input = child.stdin.take().ok_or("no pipe")?;
        // A command that does not read its input closes it: no reason to fail.
        let _ = input.write_all(stdin.unwrap_or_default().as_bytes()).await;
        drop(input);
        let output = timeout(PATIENCE, child.wait_with_output()).await;
        let output = output.map_err(|_| format!("kubectl {args} does not end"))?.map_err(|it| it.to_string())?;
        let lines =
            |bytes: &[u8]| -> Vec<String> { String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect() };
        let mut came = json!({
            "exit": output.status.code(),
            "out": lines(&output.stdout),
            "err": lines(&output.stderr),
        });
        if subset {
            came["subset"] = true.into();
        } else {
            came["requests"] = proxy.asked().into();
        }
        Ok(came)
    }

    /// Starts a command that runs until it is stopped.
    pub(super) async fn start(&self, namespace: &str, args: &str) -> Result<Running, String> {
        let proxy = Proxy::start(self.client.clone()).await?;
        let child = self.command(&proxy, namespace, args).spawn().map_err(|it| it.to_string())?;
        Ok(Running { child, proxy, args: args.to_owned() })
    }

    fn command(&self, proxy: &Proxy, namespace: &str, args: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("--kubeconfig").arg(proxy.home.path().join("config")).args(["-n", namespace]);
        command.args(args.split_whitespace());
        command.env_remove("KUBECONFIG").env("KUBECACHEDIR", proxy.home.path()).env("HOME", proxy.home.path());
        command.env("TZ", "UTC").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Running {
    /// Ends it; its arguments, and what it printed.
    pub(super) async fn stop(mut self) -> Result<(String, Value), String> {
        self.child.start_kill().map_err(|it| it.to_string())?;
        let output = self.child.wait_with_output().await.map_err(|it| it.to_string())?;
        let out: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        Ok((self.args.clone(), json!({"beside": out, "requests": self.proxy.asked()})))
    }
}

impl Proxy {
    async fn start(client: kube::Client) -> Result<Self, String> {
        let text = |it: std::io::Error| it.to_string();
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(text)?;
        let address = listener.local_addr().map_err(text)?;
        let home = tempfile::tempdir().map_err(text)?;
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        std::fs::write(home.path().join("config"), config.to_string()).map_err(text)?;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (client, log) = (client.clone(), log.clone());
                // A connection that breaks is the client's business: it shows in its output.
                tokio::spawn(async move { serve(stream, &client, &log).await });
            }
        });
        Ok(Self { home, asked, task })
    }

    fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(|it| it.into_inner()))
    }
}

/// Hands one request on, and its answer back as it comes.
async fn serve(stream: TcpStream, client: &kube::Client, log: &Mutex<Vec<Value>>) -> Result<(), String> {
    let text = |it: std::io::Error| it.to_string();
    let (read, mut write) = stream.into_split();
    let mut reader = BufReader::new(read);
    let mut line = String::new();
    reader.read_line(&mut line).await.map_err(text)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(()) };
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut request = http::Request::builder().method(method.as_str()).uri(target.as_str());
    let (mut length, mut media) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.map_err(text)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(|_| line.clone())?,
            "content-type" => {
                media = value.to_owned();
                request = request.header(name, value);
            }
            "accept" | "user-agent" => request = request.header(name, value),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.map_err(text)?;
    if !is_discovery(&target) {
        let mut asked = json!({"request": format!("{method} {}", target.replace("%3D", "=").replace("%2C", ","))});
        if !body.is_empty() {
            asked["media"] = media.into();
            asked["body"] = serde_json::from_slice(&body).unwrap_or_else(|_| Value::from(format!("{length} bytes")));
        }
        log.lock().unwrap_or_else(|it| it.into_inner()).push(asked);
    }
    let request = request.body(Body::from(body)).map_err(|it| it.to_string())?;
    let answer = match client.send(request).await {
        Ok(answer) => answer,
        Err(why) => {
            let head = "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n";
            write.write_all(head.as_bytes()).await.map_err(text)?;
            return Err(why.to_string());
        }
    };
    let mut head = format!("HTTP/1.1 {}\r\nConnection: close\r\n", answer.status());
    for name in ["content-type", "warning", "retry-after"] {
        for value in answer.headers().get_all(name) {
            head.push_str(&format!("{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes())));
        }
    }
    head.push_str("\r\n");
    write.write_all(head.as_bytes()).await.map_err(text)?;
    let mut chunks = answer.into_body().into_data_stream();
    while let Some(chunk) = chunks.next().await {
        write.write_all(&chunk.map_err(|it| it.to_string())?).await.map_err(text)?;
    }
    write.shutdown().await.map_err(text)
}

/// What every command asks first, depending on what the cluster serves besides.
fn is_discovery(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    matches!(parts.as_slice(), ["openapi", ..] | ["api" | "apis"] | ["api", _] | ["apis", _, _] | ["apis", _])
}
