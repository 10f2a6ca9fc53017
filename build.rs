//! Tells the program which reader of manifests it has: a digest of the sources that decide what a manifest says.
//!
//! Readings that are kept beside a mirror are used only by the reader that made them, and no number has to be remembered.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What decides: the reader with its defaulting, the digests, and the versions of the libraries below.
const DECIDE: [&str; 3] = ["src/manifest", "src/revision", "Cargo.lock"];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for path in DECIDE {
        println!("cargo::rerun-if-changed={path}");
        list(Path::new(path), &mut files)?;
    }
    files.sort();
    // FNV-1a, of names, lengths and contents.
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let content = fs::read(&file)?;
        let length = content.len().to_le_bytes();
        for byte in file.to_string_lossy().bytes().chain(length).chain(content) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=PHASELINE_READER={digest:016x}");
    Ok(())
}

fn list(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    // A package that is installed from elsewhere may come without a lock file.
    if !path.exists() {
        return Ok(());
    }
    if path.is_file() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        list(&entry?.path(), files)?;
    }
    Ok(())
}
