//! Completes abbreviated ids and handles in params before a method reads them.
//!
//! The beginning of an id stands for the id, and `#747` for a line of the thread named in the same params, so whatever
//! is printed can be used as a param. The gate for agents then sees whole ids.

use jsonrpsee::types::Params;
use longhaul_protocol::{Method, message_history, thread};
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::agent_params::work_folder;
use super::error::Failure;
use crate::peer::{CallContext, Caller};
use crate::service::projects::ProjectSubject;
use crate::service::resolve::Resolver;

/// Methods that write under an id, which may be new: their ids are used literally.
const LITERAL: &[&str] =
    &[message_history::Append::NAME, thread::Append::NAME, thread::Close::NAME, thread::Open::NAME];

/// What params contain that name something: the fields of [`Named`], which may be written with escapes.
const NAMES: [&str; 4] = ["\"thread_id\"", "\"compaction_id\"", "\"handle\"", "\\u"];

/// The references in params; other fields are skipped.
#[derive(Deserialize)]
struct Named {
    thread_id: Option<String>,
    compaction_id: Option<String>,
    handle: Option<String>,
}

pub(super) struct References {
    pub(super) resolver: Resolver,
}

impl References {
    /// The params with complete references; `None` if they are already complete, or are not valid params, which the
    /// strict reader then reports.
    pub(super) async fn complete(
        &self,
        method: &'static str,
        context: &CallContext,
        params: &Params<'_>,
    ) -> Result<Option<String>, Failure> {
        let text = params.as_str().filter(|_| !LITERAL.contains(&method));
        let Some(text) = text.filter(|text| may_name(text)) else { return Ok(None) };
        let Ok(named) = serde_json::from_str::<Named>(text) else { return Ok(None) };
        let own = match context.peer.caller {
            Caller::Agent if named.is_any() => {
                let folder = work_folder(context)?;
                self.resolver.projects.of(ProjectSubject::Folder(folder)).await?
            }
            Caller::Agent | Caller::Person => None,
        };
        let own = own.as_deref();
        let mut changes = Vec::new();
        if let Some(id) = &named.thread_id {
            changes.push(("thread_id", id, self.resolver.thread(id, own).await?));
        }
        if let Some(id) = &named.compaction_id {
            changes.push(("compaction_id", id, self.resolver.compaction(id, own).await?));
        }
        if let Some(handle) = &named.handle {
            let thread = named.thread_id.as_deref();
            changes.push(("handle", handle, self.resolver.handle(handle, thread, own).await?));
        }
        changes.retain(|(_, given, whole)| *given != whole);
        if changes.is_empty() {
            return Ok(None);
        }
        let mut map: Map<String, Value> = serde_json::from_str(text).map_err(Failure::internal)?;
        for (name, _, whole) in changes {
            map.insert(name.to_owned(), whole.into());
        }
        Ok(Some(Value::Object(map).to_string()))
    }
}

impl Named {
    fn is_any(&self) -> bool {
        self.thread_id.is_some() || self.compaction_id.is_some() || self.handle.is_some()
    }
}

/// Whether params may name something: searching a history of megabytes is much faster than parsing it.
fn may_name(params: &str) -> bool {
    NAMES.iter().any(|name| memmem::find(params.as_bytes(), name.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_that_name_something_are_recognized_however_they_are_written() {
        for (params, expected) in [
            (r#"{"thread_id":"0199"}"#, true),
            (r#"{ "handle" : "0199#4" }"#, true),
            (r#"{"thread\u005fid":"0199"}"#, true),
            (r#"{"items":[{"role":"user"}]}"#, false),
        ] {
            assert_eq!(may_name(params), expected, "{params}");
            let named: Named = serde_json::from_str(params).unwrap();
            assert!(expected || !named.is_any(), "{params}");
        }
    }
}
