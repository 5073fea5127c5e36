//! Compares the archived texts with their transcripts at the end of the run.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::wire::Wire;

/// Restores every text whose transcript is a plain file and compares the two, after verifying the archive; returns their
/// number. `folder` is for the restored files.
pub(super) fn compare(daemon: &Daemon, folder: &Path) -> anyhow::Result<usize> {
    daemon.wait_idle(1)?;
    daemon.wait_archived()?;
    let mut wire = daemon.connect()?;
    let verified = wire.call("archive/verify", &json!({}))?;
    ensure!(verified["damaged"] == 0, "the archive is damaged: {verified}");
    let mut compared = 0;
    for row in wire.rows("archive/list", json!({ "gone": false }), "threads")? {
        compared += usize::from(is_equal(&mut wire, &row, folder)?);
    }
    ensure!(compared > 0, "nothing was archived");
    Ok(compared)
}

/// Whether a text was compared, and is equal; of a thread with several transcripts only the longest is compared.
fn is_equal(wire: &mut Wire, row: &Value, folder: &Path) -> anyhow::Result<bool> {
    let path = Path::new(row["path"].as_str().context("a row without a path")?);
    if path.extension().is_none_or(|end| end != "jsonl") {
        return Ok(false);
    }
    let to =
        folder.join(format!("restored-{}.jsonl", row["thread_id"].as_str().unwrap_or_default()));
    let restored =
        wire.call("archive/restore", &json!({ "thread_id": row["thread_id"], "to": to }))?;
    let (text, transcript) = (fs::read(&to)?, fs::read(path)?);
    fs::remove_file(&to)?;
    if restored["files"][0]["bytes"] != row["bytes"] {
        return Ok(false);
    }
    // A torn last line is not archived before it is complete.
    ensure!(
        transcript.starts_with(&text) && !transcript[text.len()..].contains(&b'\n'),
        "the archived text of {} is not its transcript",
        path.display()
    );
    Ok(true)
}
