//! Undo inside Codex, through an app server.
//!
//! Works if the compaction was a separate turn and the last one, and the session is idle. The session then continues
//! from before it. An open session is reached through the user's app server. For a closed one we start a server of our
//! own, but not while any process has the transcript open for writing: Codex does not notice what another process does
//! to its session.

use std::fs;
use std::path::Path;
use std::time::Duration;

use longhaul_client::Client;
use longhaul_protocol::thread::{Items, ItemsParams, ThreadGet, ThreadGetParams};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::commands::app_server::{AppServer, ServerFault};

/// Items to inspect for Codex's own record of the compaction.
const ITEMS_INSPECTED: u32 = 50;
/// Turns per page, and maximum pages: an undo concerns a recent turn.
const TURNS_PER_PAGE: u32 = 20;
const PAGES_MAX: usize = 50;
/// Wait for the turn of a compaction that was just made.
const TURN_END_TIMEOUT: Duration = Duration::from_secs(5);
/// In `/proc/PID/fdinfo/FD`: the access mode of a descriptor, in octal, and the bits that allow writing.
const FLAGS: &str = "flags:";
const WRITABLE: u32 = 0o3;

/// The turn in which Codex compacted.
struct Turn {
    id: String,
    is_compaction_alone: bool,
    is_last: bool,
}

/// A session that continues from before a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodexSession {
    Open,
    Closed,
}

/// Undoes the compaction of the items up to `seq` in the session, or says why that is impossible.
pub(super) async fn undo(
    client: &Client,
    thread_id: &str,
    seq: u64,
) -> Result<CodexSession, String> {
    let at = compacted_at(client, thread_id, seq).await?;
    let fault = match open(thread_id).await {
        Ok((mut server, is_working)) => {
            if is_working && !has_rested(&mut server).await? {
                return Err("the session is in the middle of a turn".to_owned());
            }
            revert(&mut server, at).await?;
            return Ok(CodexSession::Open);
        }
        Err(fault) => fault,
    };
    if !fault.is_not_open() {
        return Err(fault.into());
    }
    undo_closed(client, thread_id, at).await?;
    Ok(CodexSession::Closed)
}

/// The user's app server, and whether the thread is active in it.
async fn open(thread_id: &str) -> Result<(AppServer, bool), ServerFault> {
    let mut server = AppServer::connect(thread_id).await?;
    let is_working = server.is_working().await?;
    Ok((server, is_working))
}

async fn undo_closed(client: &Client, thread_id: &str, at: i64) -> Result<(), String> {
    let thread = ThreadGetParams { thread_id: thread_id.to_owned() };
    let thread = client.call::<ThreadGet>(thread).await.map_err(|error| error.to_string())?;
    for file in thread.files.iter().filter(|file| !file.gone) {
        match writer_of(Path::new(&file.path)) {
            Ok(None) => {}
            Ok(Some(pid)) => {
                return Err(format!(
                    "process {pid} has the session open outside Codex's app server; close it and try again"
                ));
            }
            Err(error) => return Err(format!("cannot tell whether the session is open: {error}")),
        }
    }
    let folder = thread.thread.cwd.as_deref().map(Path::new);
    let mut server = AppServer::of_closed(thread_id, folder).await?;
    let reverted = revert(&mut server, at).await;
    server.close().await;
    reverted
}

/// Has the session continue from before the compaction that was made at that time.
async fn revert(server: &mut AppServer, at: i64) -> Result<(), String> {
    let turn = turn_at(server, at).await?;
    if !(turn.is_compaction_alone && turn.is_last) {
        return Err("the compaction was not the session's last turn".to_owned());
    }
    server.call_thread("thread/revert", json!({ "beforeTurnId": turn.id })).await?;
    Ok(())
}

/// A process of the user's that has the file open for writing.
fn writer_of(file: &Path) -> std::io::Result<Option<u32>> {
    let file = file.canonicalize()?;
    let is_writer = |pid: u32| {
        // A process of another user, or one that has ended.
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        descriptors.flatten().any(|descriptor| {
            let is_it = fs::read_link(descriptor.path()).is_ok_and(|behind| behind == file);
            let number = descriptor.file_name();
            is_it && is_writable(pid, &number.to_string_lossy())
        })
    };
    let processes = fs::read_dir("/proc")?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(pids.find(|pid| is_writer(*pid)))
}

fn is_writable(pid: u32, descriptor: &str) -> bool {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix(FLAGS));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & WRITABLE != 0)
}

/// Waits briefly for the end of the running turn: a compaction is recorded before its own turn ends.
async fn has_rested(server: &mut AppServer) -> Result<bool, String> {
    Ok(timeout(TURN_END_TIMEOUT, server.wait_idle()).await.unwrap_or(Ok(false))?)
}

/// The time of Codex's own record of the compaction, Unix milliseconds.
async fn compacted_at(client: &Client, thread_id: &str, seq: u64) -> Result<i64, String> {
    let params = ItemsParams {
        thread_id: thread_id.to_owned(),
        from_seq: Some(seq + 1),
        limit: Some(ITEMS_INSPECTED),
        ..Default::default()
    };
    let page = client.call::<Items>(params).await.map_err(|error| error.to_string())?;
    let compacted = page.items.iter().find(|item| item.kind == "compaction");
    let none = "Codex has not recorded this compaction";
    compacted.and_then(|item| item.at).ok_or_else(|| none.to_owned())
}

/// The turn whose compaction was running or ended at that time.
async fn turn_at(server: &mut AppServer, at: i64) -> Result<Turn, String> {
    let mut cursor = Value::Null;
    let mut is_newest = true;
    for _ in 0..PAGES_MAX {
        let page = json!({ "sortDirection": "desc", "itemsView": "full", "limit": TURNS_PER_PAGE, "cursor": cursor });
        let page = server.call_thread("thread/turns/list", page).await?;
        let turns = page["data"].as_array().map_or(&[][..], Vec::as_slice);
        for (place, turn) in turns.iter().enumerate() {
            if let Some(is_compaction_alone) = compacts_at(turn, at) {
                return Ok(Turn {
                    id: turn["id"].as_str().ok_or("Codex sent a turn without an id")?.to_owned(),
                    is_compaction_alone,
                    is_last: is_newest && place == 0,
                });
            }
        }
        is_newest = false;
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    Err("Codex has no such compaction".to_owned())
}

/// Whether a turn that compacted at that time did nothing else; `None` if it did not compact then.
fn compacts_at(turn: &Value, at: i64) -> Option<bool> {
    let items = turn["items"].as_array()?;
    let compacts = |item: &&Value| item["type"] == "contextCompaction";
    let is_then = |item: &Value| {
        let time = |field: &str| item[field].as_i64();
        time("startedAtMs").is_some_and(|from| from <= at)
            && time("completedAtMs").is_some_and(|to| at <= to)
    };
    let is_alone = items.iter().filter(compacts).count() == items.len();
    items.iter().filter(compacts).any(is_then).then_some(is_alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_can_write_a_file_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("rollout.jsonl");
        let writing = fs::File::create(&file).unwrap();
        assert_eq!(writer_of(&file).unwrap(), Some(std::process::id()));
        drop(writing);
        let _reading = fs::File::open(&file).unwrap();
        assert_eq!(writer_of(&file).unwrap(), None);
    }

    #[test]
    fn compaction_turn_is_found_by_its_time() {
        let compaction =
            json!({ "type": "contextCompaction", "startedAtMs": 168, "completedAtMs": 244 });
        let alone = json!({ "items": [compaction] });
        let among = json!({ "items": [{ "type": "userMessage" }, compaction] });
        assert_eq!(compacts_at(&alone, 232), Some(true));
        assert_eq!(compacts_at(&among, 168), Some(false));
        assert_eq!(compacts_at(&among, 245), None);
        assert_eq!(compacts_at(&json!({ "items": [{ "type": "userMessage" }] }), 200), None);
    }
}
