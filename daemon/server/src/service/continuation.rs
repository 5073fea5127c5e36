//! `thread/continue`: writes a new transcript of one agent that continues a compacted thread of any agent.
//!
//! # Theory of operation
//! *Steps.* If Codex is to continue its own thread, make sure that it does not have it open; check the
//! working tree; compact; compose the new transcript; publish it in the agent's own folder, like all
//! transcripts that we write ([`crate::new_file`]). The old transcript is only read.
//!
//! *A crash* before publishing leaves an unused compaction and at most a hidden file. That file
//! stays: in another program's folder we remove nothing by its name. After publishing, the thread exists and
//! is read like any other.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::checkpoint::disk_check::DiskCheck;
use longhaul_core::rollout;
use longhaul_core::rollout::continuation::{Continuation, NewTranscript};
use longhaul_core::rollout::source::Continue;
use longhaul_core::thread::{HistoryBase, Source};
use longhaul_protocol::thread::ResumePrice;
use longhaul_store::FileRow;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use super::compaction::{Compaction, Compactor, Request, Subject};
use super::context::resume;
use super::error::ServiceError;
use super::history::{Histories, HistoryQuery};
use super::snapshot::{Snapshot, Snapshots};
use crate::archive::Archive;
use crate::clock::Clock;
use crate::config::Live;
use crate::ingest::{Ingest, LISTED_WITHIN, SyncTarget};
use crate::new_file;
use crate::transcript::{Fallback, Transcript};

/// The most bytes read of a first line; Codex writes none that is longer.
const FIRST_LINE_BYTES: u64 = 4 << 20;

/// Bytes of the history that are searched for context.
const CONTEXT_BYTES: u64 = 1 << 20;

/// By this line a thread's first turn has started, with its context.
const BEGINNING_SEQ: u64 = 16;

#[derive(Debug, Clone)]
pub struct NewThread {
    pub thread_id: String,
    pub path: PathBuf,
    /// The agent that resumes it.
    pub agent: Source,
    pub compaction: Compaction,
    /// How far the disk confirms what the old thread knows; `None` for an earlier moment.
    pub checked: Option<DiskCheck>,
    /// What resuming the old thread would cost instead.
    pub resume: Option<ResumePrice>,
}

pub struct Continuations {
    pub(super) compactor: Arc<Compactor>,
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) histories: Arc<Histories>,
    pub(super) ingest: Arc<Ingest>,
    pub(super) archive: Arc<Archive>,
    pub(super) config: Live,
    pub(super) clock: Clock,
}

impl Continuations {
    pub fn has_model(&self) -> bool {
        self.compactor.ladder.has_model()
    }

    /// Compacts a thread and starts a new one from the result: a thread of the agent `to`, else of the thread's
    /// own agent where it accepts transcripts that we write, else of Codex.
    ///
    /// # Errors
    /// As [`Compactor::run`]; [`ServiceError::ThreadBusy`] while the agent that is to continue the thread is
    /// working on it; and whatever the disk refuses.
    pub async fn begin(
        &self,
        request: Request,
        to: Option<Source>,
    ) -> Result<NewThread, ServiceError> {
        let Subject::Thread { thread_id, as_of } = &request.subject else {
            return Err(ServiceError::invalid("thread_id", "only a thread can be continued"));
        };
        let snapshot = self.snapshots.of(thread_id, *as_of).await?;
        let checked = as_of.is_none().then(|| DiskCheck::of(&snapshot.view_inputs()));
        let (agent, compose) = agent_of(to, snapshot.file.source)?;
        // Another agent does not touch the thread that the running one writes to.
        if agent == snapshot.file.source && self.is_at_work(&snapshot.thread_id) {
            let others = accepting().filter(|other| *other != agent).map(Source::name).collect();
            return Err(ServiceError::ThreadBusy { thread_id: snapshot.thread_id, others });
        }
        let (first_line, mut history) = match agent {
            Source::Codex => self.context_of_codex(&snapshot).await?,
            _ => (None, Vec::new()),
        };
        let compaction = self.compactor.run(request).await?;
        history.extend(compaction.history.iter().cloned());
        let id = self.clock.new_id();
        let base = HistoryBase {
            thread_id: snapshot.thread_id.clone(),
            end_ordinal_exclusive: snapshot.fold.next_seq(),
            end_byte_offset: None,
        };
        let transcript = compose(&Continuation {
            thread_id: &id,
            first_line: first_line.as_deref(),
            cwd: snapshot.fold.checkpoint().cwd.as_deref(),
            title: snapshot.fold.head().title.as_deref(),
            base: &base,
            at_ms: self.clock.now_ms(),
            local_ms: self.clock.local_ms(),
            view: &compaction.view,
            history: &history,
        });
        let config = self.config.now();
        let (now_ms, replacement) = (self.clock.now_ms(), compaction.tokens.1);
        let resume = resume::price(&config, &snapshot.fold, now_ms, replacement);
        let home = config.home(agent).to_owned();
        let path = publish(home, transcript).await?;
        if let Err(error) =
            self.ingest.sync(SyncTarget::Path(path.clone()), None, LISTED_WITHIN).await
        {
            tracing::debug!(%error, "a continuation is not listed yet");
        }
        Ok(NewThread { thread_id: id, path, agent, compaction, checked, resume })
    }

    /// Whether a running Codex writes to a thread.
    fn is_at_work(&self, thread_id: &str) -> bool {
        let lock = format!("thread-writer-locks/{thread_id}.lock");
        is_held(&self.config.now().home(Source::Codex).join(lock))
    }

    /// The start of a Codex transcript that continues a thread: the first line of the old transcript if Codex
    /// wrote it, and the context that this version of Codex leaves to the history.
    async fn context_of_codex(
        &self,
        snapshot: &Snapshot,
    ) -> Result<(Option<String>, Vec<Value>), ServiceError> {
        let first_line = match snapshot.file.source {
            source if !source.spec().has_session_meta => None,
            _ => self.first_line(&snapshot.file).await?,
        };
        let context = match rollout::carries_context(first_line.as_deref()) {
            true => self.standing_context(snapshot).await?,
            false => Vec::new(),
        };
        Ok((first_line, context))
    }

    async fn first_line(&self, file: &FileRow) -> Result<Option<String>, ServiceError> {
        let (source, path) = (file.source, PathBuf::from(&file.path));
        let archive = Arc::clone(&self.archive);
        let fallback = Fallback::of(archive, file);
        let read = move || -> io::Result<Option<String>> {
            Transcript::read_or_archived(source, &path, Some(&fallback), |transcript| {
                let mut line = Vec::new();
                let text = transcript.text_from(0)?.take(FIRST_LINE_BYTES);
                BufReader::new(text).read_until(b'\n', &mut line)?;
                Ok(String::from_utf8(line).ok())
            })
        };
        // The transcript has been moved away since: the new thread does without it.
        Ok(tokio::task::spawn_blocking(read).await?.unwrap_or_default())
    }

    /// What the harness says at the start of every turn: its present form, and for what a compaction has
    /// removed, its form at the start of the thread.
    async fn standing_context(&self, snapshot: &Snapshot) -> Result<Vec<Value>, ServiceError> {
        let mut items = Vec::new();
        for as_of in [BEGINNING_SEQ, snapshot.seq()] {
            let query = HistoryQuery::as_is(&snapshot.thread_id, Some(as_of), CONTEXT_BYTES);
            items.extend(self.histories.visible(query).await?.items);
        }
        let items = items.iter().filter_map(|item| serde_json::from_str(item.get()).ok());
        Ok(rollout::context_of(items))
    }
}

/// Whether a running Codex holds the lock of a thread it writes to; without a lock file, it does not.
fn is_held(lock: &Path) -> bool {
    let Ok(file) = File::open(lock) else { return false };
    matches!(
        flock(&file, FlockOperation::NonBlockingLockShared),
        Err(error) if error == rustix::io::Errno::WOULDBLOCK
    )
}

/// The agents that accept transcripts that we write.
fn accepting() -> impl Iterator<Item = Source> {
    Source::ALL.iter().copied().filter(|agent| agent.spec().continuation.is_some())
}

/// The agent to continue in, and how its transcript is composed.
fn agent_of(to: Option<Source>, own: Source) -> Result<(Source, Continue), ServiceError> {
    let takes = |agent: Source| Some((agent, agent.spec().continuation?));
    let found = match to {
        Some(agent) => takes(agent),
        None => takes(own).or_else(|| takes(Source::Codex)),
    };
    found.ok_or_else(not_accepting)
}

/// The error for an agent that is unknown, or accepts no transcripts that we write.
pub fn not_accepting() -> ServiceError {
    let agents: Vec<&str> = accepting().map(Source::name).collect();
    let reason = format!("a thread can continue in one of: {}", agents.join(", "));
    ServiceError::invalid("to", reason)
}

async fn publish(home: PathBuf, transcript: NewTranscript) -> Result<PathBuf, ServiceError> {
    let NewTranscript { folder, name, text } = transcript;
    let path = home.join(folder).join(name);
    let target = path.clone();
    let publish = move || new_file::publish(&target, |file| file.write_all(text.as_bytes()));
    let published = tokio::task::spawn_blocking(publish).await?;
    published.map_err(|error| ServiceError::file(&path, error))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_continues_in_the_named_agent_or_its_own_or_codex() {
        let agent = |to, own| agent_of(to, own).map(|(agent, _)| agent);
        assert_eq!(agent(None, Source::Claude).unwrap(), Source::Claude);
        assert_eq!(
            agent(None, Source::Gemini).unwrap(),
            Source::Codex,
            "Gemini takes no transcript"
        );
        assert_eq!(agent(Some(Source::Codex), Source::Claude).unwrap(), Source::Codex);
        match agent(Some(Source::Gemini), Source::Claude).unwrap_err() {
            ServiceError::Invalid { field: "to", reason } => {
                assert!(reason.contains("codex") && reason.contains("claude"), "{reason}");
            }
            error => panic!("{error}"),
        }
    }

    #[test]
    fn only_a_lock_that_is_held_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(!is_held(&path), "there is no lock file");
        let file = File::create(&path).unwrap();
        assert!(!is_held(&path), "no process holds it");
        flock(&file, FlockOperation::LockExclusive).unwrap();
        assert!(is_held(&path));
    }
}
