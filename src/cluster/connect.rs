//! Finds the cluster and builds the client that everything else uses.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderValue, Request, Response, header::USER_AGENT};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use tower::{BoxError, Service, ServiceBuilder};

use super::fence::{Fence, Guarded, guarded};
use super::time::ServerTime;

/// How long a TCP connection to the API server may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often an idle connection is probed, so that a dead peer is noticed by the operating system.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Where the cluster is and who we are there.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// The kubeconfig file; `$KUBECONFIG` or `~/.kube/config` without it.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it; its current one without it.
    pub context: Option<String>,
    /// Whether to use the service account of the pod that we run in, and no kubeconfig at all.
    pub in_cluster: bool,
    /// The `User-Agent` header: `phaseline/<version>` or `phaseline-cli/<version>`.
    pub user_agent: String,
}

impl ConnectOptions {
    /// The `User-Agent` of the daemon.
    pub const DAEMON_AGENT: &'static str = concat!("phaseline/", env!("CARGO_PKG_VERSION"));
    /// The `User-Agent` of commands.
    pub const CLI_AGENT: &'static str = concat!("phaseline-cli/", env!("CARGO_PKG_VERSION"));
}

/// A cluster that can be asked.
#[derive(Clone)]
pub struct Cluster {
    /// The client; it retries nothing.
    pub client: kube::Client,
    /// The namespace of the kubeconfig's context, or `default`; in a pod `default`, for what Git says must not depend on
    /// where the daemon was put.
    pub default_namespace: String,
    /// The namespace of the pod that we run in, where we go by its service account.
    pub pod_namespace: Option<String>,
    /// The API server's address, without credentials.
    pub server: String,
    /// What time it is there.
    pub time: ServerTime,
    /// Whether writes may be sent now. Open where no Lease is asked for.
    pub fence: Fence,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("server", &self.server)
            .field("default_namespace", &self.default_namespace)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Connects as the options say. Nothing is sent yet.
    ///
    /// The stack is kube's own but for its retries: a write whose answer is lost has to be looked at, not repeated.
    /// There is no read timeout either; every request has its own, and a watch may be silent for minutes.
    ///
    /// # Errors
    /// See [`ConnectError`]; each one has a [`ConnectError::hint`].
    pub async fn connect(options: &ConnectOptions) -> Result<Self, ConnectError> {
        let (config, in_cluster) = config(options).await?;
        let (default_namespace, pod_namespace) = match in_cluster {
            true => ("default".to_owned(), Some(config.default_namespace.clone())),
            false => (config.default_namespace.clone(), None),
        };
        if let Some(proxy) = &config.proxy_url {
            return Err(ConnectError::Proxy { host: proxy.host().unwrap_or_default().to_owned() });
        }
        let agent = HeaderValue::from_str(&options.user_agent)
            .map_err(|error| ConnectError::UserAgent { source: Cause::of(&error) })?;
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        http.set_keepalive(Some(KEEPALIVE));
        let https = config
            .rustls_https_connector_with_connector(http)
            .map_err(|error| ConnectError::Tls { source: Cause::of(&error) })?;
        let credentials = |error: kube::Error| ConnectError::Credentials { source: Cause::of(&error) };
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer().map_err(credentials)?)
            .layer(config.extra_headers_layer().map_err(credentials)?)
            .map_request(move |mut request: Request<Body>| {
                request.headers_mut().insert(USER_AGENT, agent.clone());
                guarded(request)
            })
            .map_err(BoxError::from)
            .service(legacy::Client::builder(TokioExecutor::new()).build::<_, Guarded>(https));
        let url = &config.cluster_url;
        Ok(Self {
            server: format!(
                "{}://{}{}",
                url.scheme_str().unwrap_or("https"),
                url.authority().map_or("", |authority| authority.as_str().rsplit('@').next().unwrap_or_default()),
                url.path().trim_end_matches('/')
            ),
            client: kube::Client::new(service, &default_namespace),
            default_namespace,
            pod_namespace,
            fence: Fence::default(),
            time: ServerTime::default(),
        })
    }

    /// The same behind a fence: its writes are sent only while that lets them.
    #[must_use]
    pub fn behind(self, fence: Fence) -> Self {
        Self { fence, ..self }
    }

    /// A cluster in this process: the embedded one, or a test's script.
    pub fn from_service<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self {
            client: kube::Client::new(service, "default"),
            default_namespace: "default".into(),
            pod_namespace: None,
            server: "in-process".into(),
            time: ServerTime::default(),
            fence: Fence::default(),
        }
    }
}

/// The kubeconfig, or the service account; and whether it is that.
async fn config(options: &ConnectOptions) -> Result<(kube::Config, bool), ConnectError> {
    let in_cluster = || match kube::Config::incluster() {
        Ok(config) => Ok((config, true)),
        Err(error) => Err(ConnectError::InCluster { source: Cause::of(&error) }),
    };
    if options.in_cluster {
        return in_cluster();
    }
    let read = match &options.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = match read {
        Ok(kubeconfig) => kubeconfig,
        // Nobody named a file or a context: in a pod there is none, and the service account is meant.
        Err(KubeconfigError::ReadConfig(..) | KubeconfigError::FindPath)
            if options.kubeconfig.is_none()
                && options.context.is_none()
                && std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() =>
        {
            return in_cluster();
        }
        Err(error) => return Err(unreadable(error)),
    };
    let contexts: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let wanted = options.context.clone().or_else(|| kubeconfig.current_context.clone()).unwrap_or_default();
    if !contexts.contains(&wanted) {
        return Err(match wanted.is_empty() {
            true => ConnectError::NoContext { contexts },
            false => ConnectError::UnknownContext { context: wanted, contexts },
        });
    }
    let choice = KubeConfigOptions { context: Some(wanted), ..KubeConfigOptions::default() };
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &choice).await.map_err(unreadable)?;
    Ok((config, false))
}

fn unreadable(error: KubeconfigError) -> ConnectError {
    match error {
        KubeconfigError::ReadConfig(source, path) => ConnectError::KubeconfigMissing { path, source },
        KubeconfigError::FindPath => ConnectError::NoKubeconfig,
        // The parser's message shows the lines around the mistake, and a token may be in one of them.
        KubeconfigError::Parse(error) => ConnectError::Kubeconfig {
            source: Cause(error.location().map_or_else(
                || "it is not the YAML of a kubeconfig".to_owned(),
                |at| format!("not the YAML of a kubeconfig at line {}, column {}", at.line(), at.column()),
            )),
        },
        other => ConnectError::Kubeconfig { source: Cause::of(&other) },
    }
}

/// Why there is no cluster to ask.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Neither `$KUBECONFIG` nor a home directory.
    #[error("there is no kubeconfig")]
    NoKubeconfig,
    /// The file cannot be read.
    #[error("cannot read the kubeconfig {}", path.display())]
    KubeconfigMissing {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file makes no sense.
    #[error("cannot use the kubeconfig")]
    Kubeconfig {
        /// Why.
        source: Cause,
    },
    /// It has no current context, and none was named.
    #[error("the kubeconfig has no current context")]
    NoContext {
        /// The ones there are.
        contexts: Vec<String>,
    },
    /// There is no such context.
    #[error("the kubeconfig has no context {context:?}")]
    UnknownContext {
        /// What was asked for.
        context: String,
        /// The ones there are.
        contexts: Vec<String>,
    },
    /// We do not run in a pod, or it has no service account.
    #[error("cannot use the pod's service account")]
    InCluster {
        /// Why.
        source: Cause,
    },
    /// Token, certificate or credential plug-in cannot be used.
    #[error("cannot use the credentials of the kubeconfig")]
    Credentials {
        /// Why.
        source: Cause,
    },
    /// A certificate cannot be used.
    #[error("cannot set up TLS")]
    Tls {
        /// Why.
        source: Cause,
    },
    /// The kubeconfig asks for a proxy.
    #[error("the kubeconfig asks for the proxy {host}, which is not supported")]
    Proxy {
        /// Its host.
        host: String,
    },
    /// The `User-Agent` is no header value.
    #[error("cannot use the User-Agent")]
    UserAgent {
        /// Why.
        source: Cause,
    },
}

impl ConnectError {
    /// What to do about it; may be empty.
    pub fn hint(&self) -> String {
        let known = |contexts: &[String]| match contexts {
            [] => "it has no contexts at all".to_owned(),
            _ => format!("use --context with one of: {}", contexts.join(", ")),
        };
        match self {
            Self::NoKubeconfig | Self::KubeconfigMissing { .. } => {
                "name one with --kubeconfig or $KUBECONFIG; inside a pod use --cluster in-cluster".into()
            }
            Self::Kubeconfig { .. } => "`kubectl config view` shows how kubectl reads it".into(),
            Self::NoContext { contexts } | Self::UnknownContext { contexts, .. } => known(contexts),
            Self::InCluster { .. } => {
                "--cluster in-cluster works in a pod with a mounted service account; elsewhere use --kubeconfig".into()
            }
            Self::Credentials { .. } => "try `kubectl auth whoami` with the same kubeconfig".into(),
            Self::Tls { .. } => "check certificate-authority and client-certificate in the kubeconfig".into(),
            Self::Proxy { .. } => "take proxy-url out of the kubeconfig, or run inside the cluster".into(),
            Self::UserAgent { .. } => String::new(),
        }
    }
}

/// A foreign error in words: its chain joined once, nothing said twice, and nothing that a credential plug-in printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause(String);

impl Cause {
    /// The most characters kept.
    const MAX_CHARS: usize = 500;

    /// Puts an error and its sources into words.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        if let Some(error) = chain(error).find_map(|error| error.downcast_ref::<kube::client::AuthError>()) {
            return Self(credentials(error));
        }
        let mut words = String::new();
        for text in chain(error).map(ToString::to_string) {
            if !words.contains(&text) {
                if !words.is_empty() {
                    words.push_str(": ");
                }
                words.push_str(&text);
            }
        }
        Self::text(&words)
    }

    /// Words of our own, or of a server; cut where they are long.
    pub fn text(words: &str) -> Self {
        Self(words.chars().take(Self::MAX_CHARS).collect())
    }
}

/// An error and its sources.
pub(crate) fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| (*error).source())
}

/// The words for an error of the credentials, without what a plug-in was called with or wrote: a token may be in it.
fn credentials(error: &kube::client::AuthError) -> String {
    use kube::client::AuthError;
    match error {
        AuthError::AuthExecRun { cmd: _, out } => format!("the credential plug-in failed with {}", out.status),
        AuthError::AuthExecParse(_) => "the credential plug-in printed no ExecCredential".into(),
        AuthError::ParseTokenKey(_) => "the token cannot be read".into(),
        other => other.to_string(),
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Cause {}

#[cfg(test)]
mod tests {
    use super::*;

    async fn with(kubeconfig: &str, context: Option<&str>) -> Result<Cluster, ConnectError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, kubeconfig).unwrap();
        let user_agent = ConnectOptions::CLI_AGENT.to_owned();
        let context = context.map(str::to_owned);
        let options = ConnectOptions { kubeconfig: Some(path), context, user_agent, in_cluster: false };
        Cluster::connect(&options).await
    }

    const GOOD: &str = "
clusters: [{name: c, cluster: {server: 'https://user:secret@example.test:6443/k8s/'}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: c, user: u, namespace: prod}}]
current-context: a
";

    #[tokio::test]
    async fn the_context_says_where() {
        let cluster = with(GOOD, None).await.unwrap();
        assert_eq!(
            (cluster.default_namespace.as_str(), cluster.server.as_str()),
            ("default", "https://example.test:6443/k8s")
        );
        assert_eq!(with(GOOD, Some("b")).await.unwrap().default_namespace, "prod");
    }

    #[tokio::test]
    async fn every_trouble_has_a_name_and_a_way_out() {
        let error = with(GOOD, Some("z")).await.unwrap_err();
        assert_eq!(error.to_string(), "the kubeconfig has no context \"z\"");
        assert_eq!(error.hint(), "use --context with one of: a, b");
        assert!(matches!(with("{}", None).await.unwrap_err(), ConnectError::NoContext { .. }));
        let proxy = GOOD.replace("cluster: {", "cluster: {proxy-url: 'http://me:secret@proxy.test:3128', ");
        let error = with(&proxy, None).await.unwrap_err();
        assert_eq!(error.to_string(), "the kubeconfig asks for the proxy proxy.test, which is not supported");
        let missing = ConnectOptions { kubeconfig: Some("/nowhere/config".into()), ..ConnectOptions::default() };
        let error = Cluster::connect(&missing).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot read the kubeconfig /nowhere/config");
        assert!(error.source().is_some() && error.hint().contains("--kubeconfig"));
    }

    #[tokio::test]
    async fn no_error_shows_a_secret() {
        for kubeconfig in [
            GOOD.replace("token: secret", "token: [secret"),
            GOOD.replace("token: secret", "client-key-data: secret, client-certificate-data: secret"),
            GOOD.replace("token: secret", "exec: {command: /bin/sh, args: ['-c', 'echo secret; exit 1'], apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
            GOOD.replace("token: secret", "exec: {command: echo, args: [secret], apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
        ] {
            let error = with(&kubeconfig, None).await.unwrap_err();
            let words = format!("{} {error:?}", Cause::of(&error));
            assert!(!words.contains("secret"), "{words}");
        }
    }
}
