//! Writes the part before a cut where the private daemon reads it, and requests the view.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longhaul_client::Client;
use longhaul_eval::{Cut, is_claude};
use longhaul_protocol::checkpoint::{View, ViewParams};
use longhaul_protocol::thread::{Sync, SyncParams};
use tokio::runtime::Handle;

use super::daemon::PrivateDaemon;

/// Holds one session at a time.
pub(super) struct Stage {
    /// For sessions of Codex and of Claude Code.
    folders: [PathBuf; 2],
    pub(super) client: Client,
    pub(super) runtime: Handle,
    stop: Arc<AtomicBool>,
    placed: Option<StagedSession>,
    /// Sessions so far: each gets its own folder, so that equal file names do not collide.
    sessions: usize,
}

/// The part of a session that the daemon has.
struct StagedSession {
    session: String,
    path: PathBuf,
    bytes: usize,
    thread_id: String,
}

impl Stage {
    pub(super) fn new(daemon: &PrivateDaemon, stop: Arc<AtomicBool>) -> Self {
        Self {
            folders: daemon.folders(),
            client: daemon.client.clone(),
            runtime: Handle::current(),
            stop,
            placed: None,
            sessions: 0,
        }
    }

    /// The daemon's view of a cut, within `budget` tokens. Call it from outside the runtime's threads.
    pub(super) fn view(&mut self, cut: &Cut<'_>, budget: u64) -> Result<String, String> {
        let thread_id = self.thread(cut)?;
        let params = ViewParams { thread_id, max_tokens: Some(budget), ..ViewParams::default() };
        let answer = self.runtime.block_on(self.client.call::<View>(params));
        answer.map(|view| view.text.0).map_err(|error| error.to_string())
    }

    /// The thread with the part before a cut, fully ingested.
    pub(super) fn thread(&mut self, cut: &Cut<'_>) -> Result<String, String> {
        if self.stop.load(Ordering::Relaxed) {
            return Err("interrupted".to_owned());
        }
        if let Some(placed) = &self.placed
            && placed.session == cut.session
            && placed.bytes == cut.bytes.len()
        {
            return Ok(placed.thread_id.clone());
        }
        let path = self.write(cut).map_err(|error| format!("writing the transcript: {error}"))?;
        let params = SyncParams {
            path: Some(path.to_string_lossy().into_owned()),
            min_offset: Some(cut.bytes.len() as u64),
            ..SyncParams::default()
        };
        let synced = self.runtime.block_on(self.client.call::<Sync>(params));
        let thread_id = synced.map_err(|error| error.to_string())?.thread_id;
        self.placed = Some(StagedSession {
            session: cut.session.to_owned(),
            path,
            bytes: cut.bytes.len(),
            thread_id: thread_id.clone(),
        });
        Ok(thread_id)
    }

    /// Appends to the file of the same session, or starts the next one and removes the previous.
    fn write(&mut self, cut: &Cut<'_>) -> std::io::Result<PathBuf> {
        if let Some(placed) = self.placed.take() {
            if placed.session == cut.session && placed.bytes <= cut.bytes.len() {
                let mut file = OpenOptions::new().append(true).open(&placed.path)?;
                file.write_all(&cut.bytes[placed.bytes..])?;
                return Ok(placed.path);
            }
            fs::remove_file(&placed.path)?;
        }
        self.sessions += 1;
        let folder =
            self.folders[usize::from(is_claude(cut.bytes))].join(self.sessions.to_string());
        fs::create_dir_all(&folder)?;
        let name = cut.session.rsplit('/').next().unwrap_or(cut.session);
        // Written uncompressed, even if the source was compressed.
        let name = name.strip_suffix(".zst").unwrap_or(name);
        let path = folder.join(name);
        fs::write(&path, cut.bytes)?;
        Ok(path)
    }
}
