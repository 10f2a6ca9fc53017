//! The deploy repository that is walked: made by `git fast-import`, the same bytes every time.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tower::BoxError;

/// One commit of a side branch and its merge, after so many plain ones: 1,500 merges among 20,000 commits.
const PLAIN_BETWEEN_MERGES: usize = 11;

/// A bare repository that grows.
pub(crate) struct Repository {
    folder: PathBuf,
    sets: usize,
    /// What each set's template is at.
    versions: Vec<u32>,
    commits: usize,
    since_merge: usize,
    random: u64,
}

impl Repository {
    /// An empty one.
    pub(crate) fn new(folder: &Path, sets: usize) -> Result<Self, BoxError> {
        git(&["init", "-q", "--bare", "-b", "main", &folder.to_string_lossy()], &[])?;
        Ok(Self { folder: folder.to_owned(), sets, versions: vec![1; sets], commits: 0, since_merge: 0, random: 1 })
    }

    /// Adds so many commits, side branches and merges counted.
    pub(crate) fn grow(&mut self, commits: usize) -> Result<(), BoxError> {
        let mut stream = String::new();
        let end = self.commits + commits;
        if self.commits == 0 {
            self.commit(&mut stream, "refs/heads/main", "", (0..self.sets).collect());
        }
        while self.commits < end {
            // The first commit of a stream goes on from what is there; marks live only as long as the stream.
            let first = stream.is_empty();
            let from = if first { "from refs/heads/main^0\n" } else { "" };
            let set = self.pick();
            self.versions[set] += 1;
            if self.since_merge < PLAIN_BETWEEN_MERGES || self.commits + 2 > end || first {
                self.since_merge += 1;
                let mut sets = vec![set];
                if set.is_multiple_of(4) {
                    let other = self.pick();
                    self.versions[other] += 1;
                    sets.push(other);
                }
                self.commit(&mut stream, "refs/heads/main", from, sets);
            } else {
                self.since_merge = 0;
                self.commit(&mut stream, "refs/heads/side", "from refs/heads/main\n", vec![set]);
                self.commit(&mut stream, "refs/heads/main", "merge refs/heads/side\n", vec![set]);
            }
        }
        git(&["--git-dir", &self.folder.to_string_lossy(), "fast-import", "--quiet", "--force"], stream.as_bytes())?;
        Ok(())
    }

    fn commit(&mut self, stream: &mut String, branch: &str, from: &str, sets: Vec<usize>) {
        self.commits += 1;
        let subject = format!("{}: release {}", name(sets[0]), self.commits);
        let when = 1_500_000_000 + self.commits * 600;
        // Writing to a string does not fail.
        let _ = write!(
            stream,
            "commit {branch}\ncommitter Ada Author <ada@example.org> {when} +0100\ndata {}\n{subject}\n{from}",
            subject.len()
        );
        for set in sets {
            let manifest = manifest(set, self.versions[set]);
            let _ = writeln!(stream, "M 644 inline {}\ndata {}\n{manifest}", path(set), manifest.len());
        }
    }

    /// A set by chance, the first ones more often.
    fn pick(&mut self) -> usize {
        let mut next = || {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.random >> 33) as usize % self.sets
        };
        let (a, b) = (next(), next());
        if a % 3 == 0 { a.min(b) } else { a }
    }
}

/// The name of a set by its number.
pub(crate) fn name(set: usize) -> String {
    format!("app-{set}")
}

/// Where a set's manifest is.
pub(crate) fn path(set: usize) -> String {
    format!("clusters/prod-{}/team-{}/{}/statefulset.yaml", set % 2, set % 20 / 2, name(set))
}

/// Some fifty lines, as people write them.
fn manifest(set: usize, version: u32) -> String {
    let name = name(set);
    format!(
        "# {name}, kept by team {}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {name}
  namespace: team-{}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: platform
spec:
  serviceName: {name}
  replicas: {}
  podManagementPolicy: OrderedReady
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {name}
      annotations:
        prometheus.io/scrape: \"true\"
        example.org/config-sha: \"{:08x}{:08x}\"
    spec:
      terminationGracePeriodSeconds: 60
      containers:
        - name: main
          image: registry.example.org/platform/{name}:1.{}.{}
          ports:
            - name: http
              containerPort: 8080
            - name: metrics
              containerPort: 9090
          env:
            - name: LOG_LEVEL
              value: info
            - name: RELEASE
              value: \"{version}\"
          readinessProbe:
            httpGet:
              path: /ready
              port: http
            periodSeconds: 5
          resources:
            requests:
              cpu: 250m
              memory: 512Mi
            limits:
              memory: 1Gi
          volumeMounts:
            - name: data
              mountPath: /var/lib/{name}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 20Gi
",
        set % 20 / 2,
        set % 20 / 2,
        3 + set % 5,
        version.wrapping_mul(2_654_435_761),
        version.wrapping_mul(40_503).wrapping_add(set as u32),
        version / 10,
        version % 10,
    )
}

/// Runs `git`, cut off from the user's settings, and gives what it printed.
pub(crate) fn git(args: &[&str], input: &[u8]) -> Result<Vec<u8>, BoxError> {
    let mut child = Command::new("git")
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("git {} failed", args.join(" ")).into());
    }
    Ok(output.stdout)
}
