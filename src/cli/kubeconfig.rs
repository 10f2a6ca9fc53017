//! The kubeconfig of an embedded cluster: written for its owner alone, never over somebody else's.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::error::{CliError, Kind};
use crate::sim::serve::token;

/// What everything in it is called; a file with nothing else in it is ours.
const NAME: &str = "phaseline-embedded";

/// The user that it is for.
const USER: &str = "admin";

/// Readable and writable for its owner alone, as kubectl wants it.
const MODE: u32 = 0o600;

/// A kubeconfig is small; what is larger is none of ours.
const MOST_BYTES: u64 = 64 * 1024;

/// Makes sure that a file may be written: it is not there, or it is one of ours.
///
/// # Errors
/// Where it is somebody else's, or cannot be looked at.
pub(super) fn check(path: &Path) -> Result<(), CliError> {
    let failed = |why: io::Error| CliError::new(Kind::Io, format!("cannot read {}: {why}", path.display()));
    let size = match fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(failed(why)),
    };
    if size <= MOST_BYTES && is_ours(&fs::read_to_string(path).map_err(failed)?) {
        return Ok(());
    }
    let message = format!("{} is not a kubeconfig of an embedded cluster: it is left alone", path.display());
    Err(CliError::new(Kind::Refused, message).hint("name a file of its own with --kubeconfig-out"))
}

/// Writes the kubeconfig of the cluster at that address: at once or not at all.
///
/// # Errors
/// Where it is somebody else's, or cannot be written.
pub(super) fn write(path: &Path, address: SocketAddr) -> Result<(), CliError> {
    check(path)?;
    let failed = |why: io::Error| CliError::new(Kind::Io, format!("cannot write {}: {why}", path.display()));
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = write_new(&beside, &text(address)).and_then(|()| fs::rename(&beside, path));
    written.map_err(|why| {
        // It may not be there at all.
        let _ = fs::remove_file(&beside);
        failed(why)
    })
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The file. JSON is YAML: kubectl reads it, and rewrites it in its own way if it is told to.
fn text(address: SocketAddr) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": format!("http://{address}")}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "namespace": "default", "user": NAME}}],
        "users": [{"name": NAME, "user": {"token": token(USER)}}],
        "current-context": NAME,
    });
    format!("# An embedded cluster of phaseline: a simulation, nothing in it is real.\n{config:#}\n")
}

/// Whether a kubeconfig has an embedded cluster in it and nothing else.
fn is_ours(text: &str) -> bool {
    let Ok(config) = serde_yaml::from_str::<Value>(text) else { return false };
    let named = |list: &str| config[list].as_array().filter(|it| !it.is_empty());
    ["clusters", "contexts", "users"]
        .into_iter()
        .all(|list| named(list).is_some_and(|entries| entries.iter().all(|entry| entry["name"] == NAME)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::{check, write};

    #[test]
    fn it_is_written_for_its_owner_and_over_its_like_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        write(&path, "127.0.0.1:1".parse().unwrap()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        write(&path, "127.0.0.1:2".parse().unwrap()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("http://127.0.0.1:2") && text.contains("phaseline-user:admin"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        let two = text.replace("\"clusters\": [", "\"clusters\": [{\"name\": \"production\"}, ");
        for other in ["", "mine\n", "apiVersion: v1\nkind: Config\nclusters: []\n", two.as_str()] {
            fs::write(&path, other).unwrap();
            assert!(check(&path).is_err(), "{other}");
            assert!(write(&path, "127.0.0.1:3".parse().unwrap()).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), other, "it is left as it was");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/config");
        let error = write(&path, "127.0.0.1:1".parse().unwrap()).unwrap_err();
        assert!(error.message.starts_with("cannot write "), "{}", error.message);
    }
}
