//! Who asks: user and host, for the log and the hold.

use std::env;
use std::fs;

use crate::cli::output::text;

/// The most characters of it: a request has to stay small.
const MOST: usize = 80;

/// `user@host`, as far as the environment says.
pub(super) fn asks() -> String {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| set(name)).unwrap_or_else(|| "somebody".into());
    let who = match host() {
        Some(host) => format!("{user}@{host}"),
        None => user,
    };
    text::line(&who).chars().take(MOST).collect()
}

/// The name of the machine, or of the pod.
pub(crate) fn host() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| fs::read_to_string("/etc/hostname"))
        .ok()
        .map(|host| host.trim().to_owned())
        .filter(|host| !host.is_empty())
        .or_else(|| set("HOSTNAME"))
}

fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
