//! Why a target cannot be installed.

use std::path::Path;

use crate::failure::{CONFIG, Failure};

pub(super) fn missing(program: &str, hint: &str) -> Failure {
    Failure::new(CONFIG, format!("{program} was not found")).with_hint(hint)
}

pub(super) fn unreadable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(CONFIG, format!("{} cannot be edited: {why}", path.display()))
        .with_hint("fix the file by hand first; nothing was changed")
}
