//! Folders as the daemon names them.

use crate::failure::Failure;

/// A folder as the daemon names it: absolute, without `.`, and without links if it exists.
pub(super) fn folder(named: &str) -> Result<String, Failure> {
    let path = std::path::absolute(named)?;
    let path = path.canonicalize().unwrap_or(path);
    Ok(path.to_string_lossy().into_owned())
}
