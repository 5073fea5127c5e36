//! The library of `shim.c` and its control file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of `struct control`.
const CONTROL_BYTES: usize = 48 + 2 * 1_024;

/// A control file: the fault, its call, its repetitions (0: for ever), and its folder.
pub fn control((fault, at, length): (u32, u64, u64), root: &Path, is_recorded: bool) -> Vec<u8> {
    let mut bytes = vec![0; CONTROL_BYTES];
    bytes[4..8].copy_from_slice(&fault.to_ne_bytes());
    bytes[8..16].copy_from_slice(&at.to_ne_bytes());
    bytes[16..24].copy_from_slice(&length.to_ne_bytes());
    bytes[40..44].copy_from_slice(&u32::from(is_recorded).to_ne_bytes());
    let root = root.to_str().unwrap().as_bytes();
    bytes[48..48 + root.len()].copy_from_slice(root);
    bytes
}

/// Builds the library with the C compiler used for SQLite.
pub fn build(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/shim.c");
    fs::create_dir_all(folder).unwrap();
    let made = folder.join(format!("faults-{}.so", std::process::id()));
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    compiler.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]);
    let built = compiler.arg("-o").arg(&made).arg(source).status().unwrap();
    assert!(built.success(), "shim.c does not compile");
    // Renamed, so that two test processes never load a partial file.
    let library = folder.join("faults.so");
    fs::rename(made, &library).unwrap();
    library
}
