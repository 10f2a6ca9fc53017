//! Kills the daemon after every write of its, as soon as the audit log shows it.

use std::{
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::controlplane::AuditEntry;

/// A thread that watches the audit log; it ends when dropped.
pub(crate) struct Killer {
    /// The process to kill; 0 while there is none.
    target: Arc<AtomicU32>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Killer {
    /// Watches what is written from now on.
    #[track_caller]
    pub(crate) fn on(log: &Path, namespace: &str, user: &str) -> Self {
        let (target, over) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let mut log = BufReader::new(File::open(log).expect("an audit log"));
        log.seek(SeekFrom::End(0)).expect("a file");
        let thread = std::thread::spawn({
            let (target, over) = (target.clone(), over.clone());
            let (namespace, user) = (namespace.to_owned(), user.to_owned());
            move || {
                let mut line = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let read = log.read_until(b'\n', &mut line).expect("an audit log");
                    if read == 0 || !line.ends_with(b"\n") {
                        // As fast as can be: the next write must not be quicker.
                        std::thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                    if is_write(&line, &namespace, &user) {
                        kill(target.swap(0, Ordering::SeqCst));
                    }
                    line.clear();
                }
            }
        });
        Self { target, over, thread: Some(thread) }
    }

    /// Whom to kill next.
    pub(crate) fn aim(&self, process: Option<u32>) {
        self.target.store(process.unwrap_or(0), Ordering::SeqCst);
    }
}

impl Drop for Killer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn is_write(line: &[u8], namespace: &str, user: &str) -> bool {
    // Most lines are somebody else's: no need to take them apart.
    if !String::from_utf8_lossy(line).contains(user) {
        return false;
    }
    let Some(entry) = AuditEntry::parse(line) else { return false };
    // Its Lease is written all the time, and says nothing that a death could lose.
    let ours = entry.user == user && entry.namespace == namespace && entry.resource != "leases";
    ours && entry.is_write() && !entry.is_dry_run() && entry.succeeded()
}

fn kill(process: u32) {
    if process > 0 {
        let killed = Command::new("kill").args(["-KILL", &process.to_string()]).status();
        assert!(killed.is_ok_and(|it| it.success()), "the daemon has ended by itself");
    }
}
