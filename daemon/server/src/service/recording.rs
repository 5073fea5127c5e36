//! `thread/open`, `thread/append`, `thread/close`: checks what a client writes, and converts it to lines.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use longhaul_core::redact::{redact, redact_value};
use longhaul_core::rollout::accept;
use longhaul_core::rollout::compose::{self, Marker, Opening};
use longhaul_protocol::limit::{APPEND_ITEM_BYTES_MAX, APPEND_ITEMS_MAX, CLIENT_ID_BYTES_MAX};
use serde_json::Value;

use super::error::ServiceError;
use super::threads::{SYNC_TIMEOUT_DEFAULT, Threads};
use crate::ingest::{Ingest, LISTED_WITHIN, SyncPoint, SyncTarget};
use crate::recorder::{AppendReport, Key, Line, OpenThread, Recorder};

const CWD_BYTES_MAX: usize = 4_096;

const TITLE_BYTES_MAX: usize = 1_024;

#[derive(Debug, Clone, PartialEq)]
pub struct Addition {
    /// The client's own id for it.
    pub client_item_id: String,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Item(Value),
    /// State without an item.
    Marker(Marker),
    /// Both or neither were given.
    Unclear,
}

pub struct Recordings {
    pub(super) recorder: Arc<Recorder>,
    pub(super) ingest: Arc<Ingest>,
    pub(super) threads: Arc<Threads>,
}

impl Recordings {
    /// Creates or reopens a thread. A new one is listed when this returns, unless ingestion is far behind.
    ///
    /// # Errors
    /// A name over its limit, a folder that is not absolute, no such thread, or an I/O error.
    pub async fn open(&self, key: Key, opening: Opening) -> Result<OpenThread, ServiceError> {
        if let Key::Client(name) = &key {
            bounded("client_thread_id", name, CLIENT_ID_BYTES_MAX)?;
        }
        check_opening(&opening)?;
        let opened = self.recorder.open(key, redacted(opening)).await?;
        if opened.created {
            let target = SyncTarget::Path(opened.path.clone());
            if let Err(error) = self.ingest.sync(target, None, LISTED_WITHIN).await {
                tracing::debug!(%error, "a new thread is not listed yet");
            }
        }
        Ok(opened)
    }

    /// Appends to a thread opened here, all or nothing.
    ///
    /// # Errors
    /// [`ServiceError::BadItem`] for the first invalid addition, [`ServiceError::Limit`], a stale `expected_seq`,
    /// no such thread, or an I/O error.
    pub async fn append(
        &self,
        thread_id: &str,
        additions: Vec<Addition>,
        expected_seq: Option<u64>,
    ) -> Result<AppendReport, ServiceError> {
        if additions.len() > APPEND_ITEMS_MAX {
            return Err(ServiceError::Limit {
                limit: "items",
                max: APPEND_ITEMS_MAX as u64,
                given: additions.len() as u64,
            });
        }
        self.recorder.append(thread_id, expected_seq, |at_ms| lines(additions, at_ms)).await
    }

    /// Waits until everything appended is ingested, and releases the thread.
    pub async fn close(&self, thread_id: &str) -> Result<OpenThread, ServiceError> {
        let closed = self.recorder.close(thread_id).await?;
        let target = SyncTarget::Path(closed.path.clone());
        let reach = SyncPoint { offset: None, seq: Some(closed.seq) };
        self.threads.sync(target, reach, SYNC_TIMEOUT_DEFAULT).await?;
        Ok(closed)
    }
}

fn check_opening(opening: &Opening) -> Result<(), ServiceError> {
    if !opening.cwd.starts_with('/') {
        return Err(ServiceError::invalid("cwd", "must be an absolute path"));
    }
    bounded("cwd", &opening.cwd, CWD_BYTES_MAX)?;
    bounded("originator", &opening.originator, CLIENT_ID_BYTES_MAX)?;
    let optional = [
        ("version", &opening.version, CLIENT_ID_BYTES_MAX),
        ("model", &opening.model, CLIENT_ID_BYTES_MAX),
        ("parent_thread_id", &opening.parent_thread_id, CLIENT_ID_BYTES_MAX),
        ("title", &opening.title, TITLE_BYTES_MAX),
    ];
    for (field, value, max) in optional {
        if let Some(value) = value {
            bounded(field, value, max)?;
        }
    }
    Ok(())
}

fn bounded(field: &'static str, value: &str, max: usize) -> Result<(), ServiceError> {
    if value.is_empty() {
        return Err(ServiceError::invalid(field, "must not be empty"));
    }
    if value.chars().any(char::is_control) {
        return Err(ServiceError::invalid(field, "must not contain control characters"));
    }
    match value.len() <= max {
        true => Ok(()),
        false => {
            Err(ServiceError::Limit { limit: field, max: max as u64, given: value.len() as u64 })
        }
    }
}

fn redacted(opening: Opening) -> Opening {
    let clean = |text: String| redact(&text).text.into_owned();
    Opening {
        cwd: clean(opening.cwd),
        originator: clean(opening.originator),
        client_thread_id: opening.client_thread_id.map(clean),
        version: opening.version.map(clean),
        title: opening.title.map(clean),
        model: opening.model.map(clean),
        parent_thread_id: opening.parent_thread_id.map(clean),
        ..opening
    }
}

/// The redacted lines of a batch.
fn lines(additions: Vec<Addition>, at_ms: i64) -> Result<Vec<Line>, ServiceError> {
    let mut ids = HashSet::with_capacity(additions.len());
    let mut lines = Vec::with_capacity(additions.len());
    for (index, addition) in additions.into_iter().enumerate() {
        let id = addition.client_item_id;
        let bad = |reason: String| ServiceError::BadItem {
            index,
            client_item_id: longhaul_core::text::prefix(&id, CLIENT_ID_BYTES_MAX).to_owned(),
            reason,
        };
        check_id(&id).map_err(bad)?;
        if !ids.insert(id.clone()) {
            return Err(bad("duplicate client_item_id in batch".to_owned()));
        }
        let (kind, mut payload) = payload(addition.body).map_err(bad)?;
        let redacted = u64::from(redact_value(&mut payload));
        let text = compose::line(at_ms, kind, &payload, Some(&id));
        if text.len() > APPEND_ITEM_BYTES_MAX {
            return Err(ServiceError::ItemTooLong {
                index,
                client_item_id: id,
                max: APPEND_ITEM_BYTES_MAX as u64,
                given: text.len() as u64,
            });
        }
        lines.push(Line { client_item_id: id, text, redacted });
    }
    Ok(lines)
}

fn check_id(id: &str) -> Result<(), String> {
    match bounded("client_item_id", id, CLIENT_ID_BYTES_MAX) {
        Err(error) => Err(error.to_string()),
        Ok(()) if redact(id).hits > 0 => Err("client_item_id looks like a credential".to_owned()),
        Ok(()) => Ok(()),
    }
}

fn payload(body: Body) -> Result<(&'static str, Value), String> {
    match body {
        Body::Unclear => Err("give either item or marker".to_owned()),
        Body::Item(item) => {
            accept::check(&item)?;
            Ok(("response_item", accept::canonical(item)))
        }
        Body::Marker(marker) => {
            match &marker {
                Marker::Settings { cwd: Some(cwd), .. } if !cwd.starts_with('/') => {
                    return Err("cwd must be an absolute path".to_owned());
                }
                Marker::Compacted { replacement_history, .. } => {
                    for (at, item) in replacement_history.iter().enumerate() {
                        let place = |reason| format!("replacement_history[{at}]: {reason}");
                        accept::check(item).map_err(place)?;
                    }
                }
                _ => {}
            }
            Ok(marker.payload())
        }
    }
}

/// The folder of recorded transcripts.
pub(super) fn folder(state_dir: &std::path::Path) -> PathBuf {
    // Links resolved, as in the listing of transcripts.
    std::fs::canonicalize(state_dir).unwrap_or_else(|_| state_dir.to_owned()).join("threads")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(id: &str, text: &str) -> Addition {
        let content = json!([{ "type": "input_text", "text": text }]);
        let body = Body::Item(json!({ "type": "message", "role": "user", "content": content }));
        Addition { client_item_id: id.to_owned(), body }
    }

    /// Index and reason of the item that rejects the batch.
    fn rejected(additions: Vec<Addition>) -> (usize, String) {
        match lines(additions, 0).unwrap_err() {
            ServiceError::BadItem { index, reason, .. } => (index, reason),
            error => panic!("{error}"),
        }
    }

    #[test]
    fn one_bad_item_rejects_its_batch_by_its_index() {
        let unclear = Addition { client_item_id: "b".to_owned(), body: Body::Unclear };
        assert_eq!(rejected(vec![item("a", "hi"), unclear]).0, 1);
        let (index, reason) = rejected(vec![item("a", "hi"), item("b", "hi"), item("a", "ho")]);
        assert_eq!((index, reason.as_str()), (2, "duplicate client_item_id in batch"));
        assert_eq!(rejected(vec![item("", "hi")]).0, 0);
        let settings = Marker::Settings { cwd: Some("relative".to_owned()), model: None };
        let marker = Addition { client_item_id: "a".to_owned(), body: Body::Marker(settings) };
        assert_eq!(rejected(vec![marker]), (0, "cwd must be an absolute path".to_owned()));
        assert!(matches!(
            lines(vec![item("a", &"x".repeat(APPEND_ITEM_BYTES_MAX))], 0),
            Err(ServiceError::ItemTooLong { index: 0, .. })
        ));
    }

    #[test]
    fn a_line_is_redacted_and_has_its_clients_id() {
        let key = ["sk-", "proj-", "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"].concat();
        let written = lines(vec![item("a", "hi"), item("b", &format!("use {key}"))], 0).unwrap();
        assert_eq!(written.iter().map(|line| line.redacted).collect::<Vec<_>>(), [0, 1]);
        assert!(!written[1].text.contains(&key), "{}", written[1].text);
        let ids = written.iter().map(|line| compose::client_item_id(&line.text));
        assert_eq!(ids.collect::<Vec<_>>(), [Some("a".to_owned()), Some("b".to_owned())]);
    }

    #[test]
    fn an_opening_needs_a_folder_and_bounded_names() {
        let good = Opening { cwd: "/w".into(), originator: "test".into(), ..Opening::default() };
        check_opening(&good).unwrap();
        let field = |opening: Opening| match check_opening(&opening).unwrap_err() {
            ServiceError::Invalid { field, .. } | ServiceError::Limit { limit: field, .. } => field,
            error => panic!("{error}"),
        };
        assert_eq!(field(Opening { cwd: "w".into(), ..good.clone() }), "cwd");
        assert_eq!(field(Opening { originator: String::new(), ..good.clone() }), "originator");
        assert_eq!(field(Opening { title: Some("a\nb".into()), ..good.clone() }), "title");
        assert_eq!(field(Opening { model: Some("m".repeat(10_000)), ..good }), "model");
    }
}
