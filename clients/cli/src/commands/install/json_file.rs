//! Edits JSON in place: keeps the order, spaces and comments of everything else.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstObject, CstRootNode};

use super::error::unreadable;
use crate::failure::Failure;

/// Edits the object in a file; a missing or blank file counts as an empty object.
pub(super) fn edit(
    path: &Path,
    text: Option<&str>,
    change: impl FnOnce(&CstObject) -> Result<(), String>,
) -> Result<String, Failure> {
    let text = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    let root = CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| unreadable(path, error))?;
    let object = root.object_value().ok_or_else(|| unreadable(path, "it is not an object"))?;
    change(&object).map_err(|why| unreadable(path, why))?;
    Ok(root.to_string())
}

pub(super) fn is_empty(text: &str) -> bool {
    text.split_whitespace().collect::<String>() == "{}"
}
