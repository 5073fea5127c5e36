//! An undo that arrives in Codex, by the app server of the open terminals.
//!
//! Where the compaction was a turn of its own and the last one, and the session is open and rests, the session itself
//! goes on from before it.

use std::time::Duration;

use longhaul_client::Client;
use longhaul_protocol::thread::{Items, ItemsParams};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::commands::app_server::AppServer;

/// Items after what was compacted among which Codex's own compaction stands.
const ITEMS_LOOKED_AT: u32 = 50;
/// Turns a page, and pages: who undoes goes back a little.
const TURNS_PER_PAGE: u32 = 20;
const PAGES_MAX: usize = 50;
/// Wait for the turn of a compaction that was just made.
const TURN_END_TIMEOUT: Duration = Duration::from_secs(5);

/// The turn in which Codex compacted.
struct Turn {
    id: String,
    is_compaction_alone: bool,
    is_last: bool,
}

/// Takes the compaction of what goes up to `seq` back in the open session, or says why it cannot be.
pub(super) async fn undo(client: &Client, thread_id: &str, seq: u64) -> Result<(), String> {
    let at = compacted_at(client, thread_id, seq).await?;
    let mut server = AppServer::running(thread_id).await?;
    if server.is_working().await? && !has_rested(&mut server).await? {
        return Err("a turn of the session runs".to_owned());
    }
    let turn = turn_at(&mut server, at).await?;
    if !(turn.is_compaction_alone && turn.is_last) {
        return Err("the compaction was not the session's last turn".to_owned());
    }
    server.ask("thread/revert", json!({ "beforeTurnId": turn.id })).await?;
    Ok(())
}

/// Waits a little for the end of the running turn: a compaction is recorded before its own turn ends.
async fn has_rested(server: &mut AppServer) -> Result<bool, String> {
    match timeout(TURN_END_TIMEOUT, server.rests()).await {
        Ok(rested) => Ok(rested?),
        Err(_) => Ok(false),
    }
}

/// When Codex itself compacted what was compacted here, Unix milliseconds.
async fn compacted_at(client: &Client, thread_id: &str, seq: u64) -> Result<i64, String> {
    let params = ItemsParams {
        thread_id: thread_id.to_owned(),
        from_seq: Some(seq + 1),
        limit: Some(ITEMS_LOOKED_AT),
        ..Default::default()
    };
    let page = client.call::<Items>(params).await.map_err(|error| error.to_string())?;
    let compacted = page.items.iter().find(|item| item.kind == "compaction");
    let none = "Codex compacted nothing there itself";
    compacted.and_then(|item| item.at).ok_or_else(|| none.to_owned())
}

/// The turn whose compaction ended or went on at that time.
async fn turn_at(server: &mut AppServer, at: i64) -> Result<Turn, String> {
    let mut cursor = Value::Null;
    let mut is_newest = true;
    for _ in 0..PAGES_MAX {
        let page = json!({ "sortDirection": "desc", "itemsView": "full", "limit": TURNS_PER_PAGE });
        let page = server.ask("thread/turns/list", merged(page, "cursor", cursor)).await?;
        let turns = page["data"].as_array().map_or(&[][..], Vec::as_slice);
        for (place, turn) in turns.iter().enumerate() {
            if let Some(is_compaction_alone) = compacts_at(turn, at) {
                return Ok(Turn {
                    id: turn["id"].as_str().ok_or("Codex named no turn")?.to_owned(),
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
    Err("Codex tells of no such compaction".to_owned())
}

/// Whether a turn compacted then, and did nothing else; `None` where it did not compact then.
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

fn merged(mut params: Value, field: &str, value: impl Into<Value>) -> Value {
    params[field] = value.into();
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_of_a_compaction_is_known_by_its_time() {
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
