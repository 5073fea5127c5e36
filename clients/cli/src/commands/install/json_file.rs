//! Editing JSON in place: what is not touched keeps its order, its spaces and its comments.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstObject, CstRootNode};

use super::error::unreadable;
use crate::failure::Failure;

/// Edits the object a file holds; a file that is not there or blank counts as an empty object.
pub(super) fn edit(
    path: &Path,
    text: Option<&str>,
    change: impl FnOnce(&CstObject) -> Result<(), String>,
) -> Result<String, Failure> {
    let text = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    let root = CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| unreadable(path, error))?;
    let object = root.object_value().ok_or_else(|| unreadable(path, "it is no object"))?;
    change(&object).map_err(|why| unreadable(path, why))?;
    Ok(root.to_string())
}

/// Whether nothing is left in it.
pub(super) fn is_empty(text: &str) -> bool {
    text.split_whitespace().collect::<String>() == "{}"
}
