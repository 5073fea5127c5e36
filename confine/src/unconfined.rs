//! Systems other than Linux: a process cannot be confined yet, so nothing is run.

use super::Reach;

const MISSING: &str = "only Linux has Landlock and seccomp";

/// Fails.
///
/// # Errors
/// Always.
pub fn confine_client() -> Result<(), String> {
    Err(MISSING.to_owned())
}

/// Fails.
///
/// # Errors
/// Always.
pub fn confine_reader(_: &Reach) -> Result<(), String> {
    Err(MISSING.to_owned())
}

/// Does nothing: no process runs that would need limits.
pub fn bound_reader() -> Result<(), String> {
    Ok(())
}

/// Does nothing: no process runs that would need limits.
pub fn bound_client() -> Result<(), String> {
    Ok(())
}
