//! Other systems than Linux: nothing confines a process here yet, so nothing is run.

use std::path::PathBuf;

const MISSING: &str = "only Linux has Landlock and seccomp";

/// What a program that reads is left.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Files and folders to read.
    pub read: Vec<PathBuf>,
    pub run: Vec<PathBuf>,
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn confine_client() -> Result<(), String> {
    Err(MISSING.to_owned())
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn confine_reader(_: &Reach) -> Result<(), String> {
    Err(MISSING.to_owned())
}

/// Does nothing: what is refused needs no bounds.
///
/// # Errors
/// None.
pub fn bound_reader() -> Result<(), String> {
    Ok(())
}

/// Does nothing: what is refused needs no bounds.
///
/// # Errors
/// None.
pub fn bound_client() -> Result<(), String> {
    Ok(())
}
