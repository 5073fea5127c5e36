//! Selects the thread or job of a command. The daemon completes id prefixes.

use longhaul_client::{Client, ClientError};
use longhaul_protocol::limit::PAGE_ROWS_MAX;
use longhaul_protocol::thread::{
    Sync, SyncParams, ThreadGet, ThreadGetParams, ThreadList, ThreadListParams, ThreadSummary,
};
use longhaul_protocol::{ErrorKind, job};

use crate::failure::{Failure, REFUSED, USAGE};
use crate::session::Session;

/// Maximum jobs listed for an ambiguous prefix.
const CANDIDATES_SHOWN: usize = 5;

/// Threads to inspect for the newest with activity.
const NEWEST_INSPECTED: u32 = 20;

/// The named thread, else the newest of the current folder, else the newest of all. Skips continuations that were not
/// resumed yet, which are newest but have no content.
pub(crate) async fn thread(client: &Client, named: Option<&str>) -> Result<ThreadSummary, Failure> {
    let Some(named) = named else { return newest(client).await };
    Ok(client.call::<ThreadGet>(ThreadGetParams { thread_id: named.to_owned() }).await?.thread)
}

/// As [`thread`], after syncing its transcript.
pub(crate) async fn synced_thread(
    client: &Client,
    named: Option<&str>,
    session: &Session,
) -> Result<ThreadSummary, Failure> {
    let thread = thread(client, named).await?;
    catch_up(client, &thread, session).await;
    Ok(thread)
}

/// The full id of a thread that a filter names, if any.
pub(crate) async fn thread_id(
    client: &Client,
    named: Option<&str>,
) -> Result<Option<String>, Failure> {
    match named {
        Some(named) => Ok(Some(thread(client, Some(named)).await?.thread_id)),
        None => Ok(None),
    }
}

/// The folder as transcripts name it: absolute, without `.`, and without links if it exists.
pub(crate) fn folder(named: &str) -> Result<String, Failure> {
    let path = std::path::absolute(named)?;
    let path = path.canonicalize().unwrap_or(path);
    Ok(path.to_string_lossy().into_owned())
}

/// Parses an item's number, also with the `#` of a view.
pub(crate) fn seq(text: &str) -> Result<u64, std::num::ParseIntError> {
    text.trim_start_matches('#').parse()
}

/// Syncs the thread's transcript; a stale answer is better than none.
pub(crate) async fn catch_up(client: &Client, thread: &ThreadSummary, session: &Session) {
    let params = SyncParams { thread_id: Some(thread.thread_id.clone()), ..Default::default() };
    if let Err(error) = client.call::<Sync>(params).await {
        session.note(&format!("note: the transcript was not read to its end: {error}"));
    }
}

/// Completes a job name; a kind alone is enough if it has one job. Returns an unknown name unchanged, since some jobs
/// are created on request.
pub(crate) async fn job(client: &Client, named: &str) -> Result<String, Failure> {
    let (kind, subject) = named.split_once('/').unwrap_or((named, ""));
    let whole = format!("{kind}/{subject}");
    let params =
        job::JobListParams { kind: Some(kind.to_owned()), state: None, limit: Some(PAGE_ROWS_MAX) };
    let jobs = match client.call::<job::JobList>(params).await {
        Ok(found) => found.jobs,
        // The name does not begin with a kind.
        Err(ClientError::Refused(error)) if error.kind() == ErrorKind::InvalidParams => {
            let kinds = error.message.rsplit_once("one of ").map_or("", |(_, kinds)| kinds);
            return Err(Failure::new(USAGE, format!("{named:?} is not a job"))
                .with_hint(format!("a name is KIND or KIND/SUBJECT; the kinds are {kinds}")));
        }
        Err(error) => return Err(error.into()),
    };
    let mut found: Vec<String> = jobs.into_iter().map(|job| job.job).collect();
    found.retain(|name| name.starts_with(&whole));
    if found.is_empty() && kind == "extract" && !subject.is_empty() {
        // The daemon can explain why this thread has no job.
        return Ok(format!("{kind}/{}", thread(client, Some(subject)).await?.thread_id));
    }
    if found.is_empty() || found.contains(&whole) {
        return Ok(whole);
    }
    only(found, named)
}

async fn newest(client: &Client) -> Result<ThreadSummary, Failure> {
    let here =
        std::env::current_dir().ok().and_then(|path| path.into_os_string().into_string().ok());
    for cwd in [here, None] {
        let params = ThreadListParams { cwd, limit: Some(NEWEST_INSPECTED), ..Default::default() };
        let threads = client.call::<ThreadList>(params).await?.threads;
        if let Some(thread) = worked_in(threads) {
            return Ok(thread);
        }
    }
    Err(Failure::new(REFUSED, "no thread has been read yet")
        .with_hint("longhaul doctor shows where the daemon looks"))
}

/// The first with activity; else the first of all.
fn worked_in(mut threads: Vec<ThreadSummary>) -> Option<ThreadSummary> {
    /// Lines of a new continuation: its header, and the history it begins with.
    const LINES_OF_CONTINUATION: u64 = 2;
    let is_fresh = |thread: &ThreadSummary| {
        thread.continues.is_some() && thread.lines <= LINES_OF_CONTINUATION
    };
    let at = threads.iter().position(|thread| !is_fresh(thread)).unwrap_or(0);
    (at < threads.len()).then(|| threads.swap_remove(at))
}

/// The only job with the prefix `named`.
fn only(mut found: Vec<String>, named: &str) -> Result<String, Failure> {
    if found.len() > 1 {
        let shown = found[..found.len().min(CANDIDATES_SHOWN)].join(", ");
        let more = if found.len() > CANDIDATES_SHOWN { " …" } else { "" };
        let failure = format!("{} jobs match {named:?}", found.len());
        return Err(
            Failure::new(USAGE, failure).with_hint(format!("use a longer prefix: {shown}{more}"))
        );
    }
    found.pop().ok_or_else(|| {
        Failure::new(REFUSED, format!("there is no job {named:?}"))
            .with_hint("longhaul job list shows the names")
    })
}

/// Length of prefixes that distinguish these ids, with spare characters for others.
pub(crate) fn short_len(ids: &[&str]) -> usize {
    /// A UUIDv7 begins with its time; 13 characters include the milliseconds.
    const CHARS_MIN: usize = 13;
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    let shared = |pair: &[&str]| {
        pair[0].chars().zip(pair[1].chars()).take_while(|(one, other)| one == other).count()
    };
    let longest = sorted.windows(2).map(shared).max().map_or(0, |shared| shared + 1);
    let prefix = sorted.first().and_then(|id| id.find('_')).map_or(0, |at| at + 1);
    longest.max(prefix + CHARS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_stay_distinct() {
        assert_eq!(short_len(&["01980000-0000-7000", "01990000-0000-7000"]), 13);
        assert_eq!(short_len(&["01980000-0000-7001", "01980000-0000-7000"]), 18);
        assert_eq!(short_len(&["cmp_01980000-0000-7000"]), 17);
        assert_eq!(short_len(&[]), 13);
    }
}
