//! `archive/*`.

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_protocol::archive as wire;

use super::error::Failure;
use super::{Table, TableError, convert, cursor};
use crate::service::archive::{ArchiveKeeper, ArchivedThread};

pub(super) fn register(table: &mut Table, keeper: &Arc<ArchiveKeeper>) -> Result<(), TableError> {
    let mut on = table.of(keeper);
    on.on_async::<wire::Overview, _>(|keeper, _| async move { Ok(keeper.state().await?) })?;
    on.on_async::<wire::ArchiveList, _>(list)?;
    on.on_async::<wire::Verify, _>(|keeper, params| async move {
        Ok(keeper.check(params.thread_id.as_deref()).await?)
    })?;
    on.on_async::<wire::Restore, _>(restore)?;
    on.on_async::<wire::Forget, _>(forget)
}

async fn list(
    keeper: Arc<ArchiveKeeper>,
    params: wire::ArchiveListParams,
) -> Result<wire::ArchiveListResult, Failure> {
    let mut threads = keeper.threads(params.thread_id.as_deref()).await?;
    threads.retain(|thread| params.gone.is_none_or(|gone| gone == thread.is_gone));
    if let Some((updated_ms, path)) = params.cursor.as_deref().map(cursor::read).transpose()? {
        let place = |thread: &ArchivedThread| {
            (-thread.transcript.updated_ms, thread.transcript.path.clone())
        };
        threads.retain(|thread| place(thread) > (-updated_ms, path.clone()));
    }
    let rows = convert::page_rows(params.limit) as usize;
    let words = params.words.unwrap_or_default().to_lowercase();
    let (mut rest, mut found) = (threads.into_iter(), Vec::new());
    // Look up only as many titles as the page needs.
    while found.len() <= rows {
        let next: Vec<ArchivedThread> = rest.by_ref().take(rows + 1).collect();
        if next.is_empty() {
            break;
        }
        let next = keeper.with_titles(next).await?;
        found.extend(next.into_iter().filter(|thread| has_words(thread, &words)));
    }
    let (found, next_cursor) = convert::page(found, params.limit, |last| {
        cursor::show(last.transcript.updated_ms, &last.transcript.path)
    });
    Ok(wire::ArchiveListResult { threads: found.into_iter().map(row).collect(), next_cursor })
}

/// Whether the title or the folder contains each of `words`, which are in lower case.
fn has_words(thread: &ArchivedThread, words: &str) -> bool {
    let texts = [thread.title.as_ref(), thread.transcript.cwd.as_ref()];
    let texts = texts.map(|text| text.map_or_else(String::new, |text| text.to_lowercase()));
    words.split_whitespace().all(|word| texts.iter().any(|text| text.contains(word)))
}

fn row(thread: ArchivedThread) -> wire::ArchivedThread {
    let ArchivedThread { transcript, is_gone, title } = thread;
    wire::ArchivedThread {
        thread_id: transcript.thread_id,
        source: transcript.source.name().to_owned(),
        path: transcript.path,
        cwd: transcript.cwd,
        title,
        bytes: transcript.text_bytes,
        updated_at: transcript.updated_ms,
        gone: is_gone,
        redacted: transcript.is_redacted,
    }
}

async fn restore(
    keeper: Arc<ArchiveKeeper>,
    params: wire::RestoreParams,
) -> Result<wire::RestoreResult, Failure> {
    Ok(keeper.restore(&params.thread_id, params.to.map(PathBuf::from)).await?)
}

async fn forget(
    keeper: Arc<ArchiveKeeper>,
    params: wire::ForgetParams,
) -> Result<wire::ForgetResult, Failure> {
    let thread_id = keeper.thread_to_forget(&params.thread_id).await?;
    Ok(keeper.forget(&thread_id).await?)
}
