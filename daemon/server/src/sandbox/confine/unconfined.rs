//! Other systems than Linux: nothing confines a process here yet, so nothing is run.

use std::path::Path;

/// Refuses.
///
/// # Errors
/// Always.
pub fn confine(_: &Path) -> Result<(), String> {
    Err("only Linux has Landlock and seccomp".to_owned())
}

/// Does nothing: what is refused needs no bounds.
///
/// # Errors
/// None.
pub fn bound() -> Result<(), String> {
    Ok(())
}
