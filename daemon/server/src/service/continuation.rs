//! `thread/continue`: a new transcript of an agent that goes on from a compacted thread of any agent.
//!
//! # Theory of operation
//! *Steps.* See that the thread's own agent is not at work, where it is to go on; check the working tree; compact; compose the new transcript; publish it
//! in the agent's own folder, as all transcripts of ours are ([`crate::new_file`]). The one gone on from is only read.
//!
//! *A crash* before that leaves a compaction nobody uses and at most a hidden file, which stays: in
//! another program's folder nothing is removed by its name. After it the thread is there, and is read like any
//! other.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::checkpoint::disk_check::DiskCheck;
use longhaul_core::rollout;
use longhaul_core::rollout::continuation::{Continuation, NewTranscript};
use longhaul_core::rollout::source::Continue;
use longhaul_core::thread::{HistoryBase, Source};
use longhaul_store::FileRow;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use super::compaction::{Compaction, Compactor, Request, Subject};
use super::context::resume::ResumePrice;
use super::error::ServiceError;
use super::history::{Histories, HistoryQuery, Opaque, Position};
use super::snapshot::{Snapshot, Snapshots};
use crate::archive::Archive;
use crate::clock::Clock;
use crate::config::Live;
use crate::ingest::{Ingest, SyncTarget};
use crate::new_file;
use crate::transcript::{Fallback, Transcript};

/// Bytes of a first line; longer ones are of no Codex.
const FIRST_LINE_BYTES: u64 = 4 << 20;

/// Bytes of the history that are looked through for context.
const CONTEXT_BYTES: u64 = 1 << 20;

/// By this line a thread's first turn has begun, with its context.
const BEGINNING_SEQ: u64 = 16;

/// How long the new thread is waited for. It stands on the disk all the same.
const LISTED_WITHIN: Duration = Duration::from_millis(1_500);

/// A thread that goes on from another.
#[derive(Debug, Clone)]
pub struct NewThread {
    pub thread_id: String,
    pub path: PathBuf,
    /// The agent that resumes it.
    pub agent: Source,
    pub compaction: Compaction,
    /// What the disk confirms of what the old thread knows; `None` of an earlier moment.
    pub checked: Option<DiskCheck>,
    /// What resuming the old thread costs, beside this one.
    pub resume: Option<ResumePrice>,
}

/// Begins threads that go on from others.
pub struct Continuations {
    compactor: Arc<Compactor>,
    snapshots: Arc<Snapshots>,
    histories: Arc<Histories>,
    ingest: Arc<Ingest>,
    archive: Arc<Archive>,
    config: Live,
    clock: Clock,
}

impl Continuations {
    #[must_use]
    pub fn new(
        compactor: Arc<Compactor>,
        (snapshots, histories): (Arc<Snapshots>, Arc<Histories>),
        (ingest, archive): (Arc<Ingest>, Arc<Archive>),
        config: Live,
        clock: Clock,
    ) -> Self {
        Self { compactor, snapshots, histories, ingest, archive, config, clock }
    }

    /// Whether a model could be asked for a summary.
    #[must_use]
    pub fn has_model(&self) -> bool {
        self.compactor.has_model()
    }

    /// Compacts a thread and begins a new one of an agent with what came of it: of `to`, else of its own agent where that
    /// takes a transcript of ours, else of Codex.
    ///
    /// # Errors
    /// As [`Compactor::run`]; [`ServiceError::ThreadBusy`] while the agent that is to go on is at work on it,
    /// and what the disk refuses.
    pub async fn begin(
        &self,
        request: Request,
        to: Option<Source>,
    ) -> Result<NewThread, ServiceError> {
        let Subject::Thread { thread_id, as_of } = &request.subject else {
            let reason = "only a thread can be gone on from".to_owned();
            return Err(ServiceError::Invalid { field: "thread_id", reason });
        };
        let snapshot = self.snapshots.of(thread_id, *as_of).await?;
        let checked = as_of.is_none().then(|| DiskCheck::of(&snapshot.view_inputs()));
        let (agent, compose) = agent_of(to, snapshot.file.source)?;
        // Another agent leaves the one that is at work its thread.
        if agent == snapshot.file.source && self.is_at_work(&snapshot.thread_id) {
            return Err(ServiceError::ThreadBusy(snapshot.thread_id));
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
        let resume = ResumePrice::of(&config, &snapshot.fold, now_ms, replacement);
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

    /// What a transcript of Codex begins with that goes on from a thread: the first line of one of Codex, and the context
    /// that its version leaves to the history.
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
        let fallback = Fallback { archive, generation: file.cursor.generation };
        let read = move || -> io::Result<Option<String>> {
            let transcript = Transcript::open_or_archived(source, &path, Some(&fallback))?;
            let mut line = Vec::new();
            let text = transcript.text_from(0)?.take(FIRST_LINE_BYTES);
            BufReader::new(text).read_until(b'\n', &mut line)?;
            Ok(String::from_utf8(line).ok())
        };
        // A transcript that was moved away since: its thread goes on without it.
        Ok(tokio::task::spawn_blocking(read).await?.unwrap_or_default())
    }

    /// What the harness says at the beginning of every turn: as it stands now, and what a compaction has
    /// taken away as it stood at the thread's beginning.
    async fn standing_context(&self, snapshot: &Snapshot) -> Result<Vec<Value>, ServiceError> {
        let mut items = Vec::new();
        for as_of in [BEGINNING_SEQ, snapshot.seq()] {
            let query = HistoryQuery {
                thread_id: snapshot.thread_id.clone(),
                as_of: Some(as_of),
                from: Position::default(),
                max_bytes: CONTEXT_BYTES,
                opaque: Opaque::AsIs,
            };
            items.extend(self.histories.visible(query).await?.items);
        }
        let items = items.iter().filter_map(|item| serde_json::from_str(item.get()).ok());
        Ok(rollout::context_of(items))
    }
}

/// Whether a running Codex holds the lock of a thread it writes to; one that does not say so is not asked.
fn is_held(lock: &Path) -> bool {
    let Ok(file) = File::open(lock) else { return false };
    matches!(
        flock(&file, FlockOperation::NonBlockingLockShared),
        Err(error) if error == rustix::io::Errno::WOULDBLOCK
    )
}

/// The agent that goes on, and how its transcript is composed.
fn agent_of(to: Option<Source>, own: Source) -> Result<(Source, Continue), ServiceError> {
    let takes = |agent: Source| Some((agent, agent.spec().continuation?));
    let found = match to {
        Some(agent) => takes(agent),
        None => takes(own).or_else(|| takes(Source::Codex)),
    };
    found.ok_or_else(|| {
        let agents = Source::ALL.iter().filter_map(|agent| takes(*agent));
        let agents: Vec<&str> = agents.map(|(agent, _)| agent.name()).collect();
        let reason = format!("a thread goes on in one of: {}", agents.join(", "));
        ServiceError::Invalid { field: "to", reason }
    })
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
