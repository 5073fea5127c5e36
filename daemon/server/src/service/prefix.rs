//! Completes an id by its prefix.

use super::error::ServiceError;

/// Maximum ids fetched for one prefix.
pub(super) const CANDIDATES_MAX: u32 = 500;

/// The only id, or `named` itself if that is one of several or there is none.
///
/// # Errors
/// [`ServiceError::Ambiguous`].
pub(super) fn only(
    what: &'static str,
    named: &str,
    mut ids: Vec<String>,
) -> Result<String, ServiceError> {
    if ids.len() > 1 && !ids.iter().any(|id| id == named) {
        return Err(ServiceError::Ambiguous { what, named: named.to_owned(), candidates: ids });
    }
    match ids.pop() {
        Some(id) if ids.is_empty() => Ok(id),
        _ => Ok(named.to_owned()),
    }
}
