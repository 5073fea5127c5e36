//! A snapshot of a thread: gathered once for a request, then only read.

use std::sync::Arc;
use std::time::Duration;

use longhaul_core::checkpoint::file_standing::Disk;
use longhaul_core::checkpoint::semantic::{AcceptedUpdate, Semantics, StoredUpdate, Update};
use longhaul_core::checkpoint::view::ViewInputs;
use longhaul_core::choice::{Choice, Choices};
use longhaul_core::fold::Fold;
use longhaul_store::{FileRow, Observation, ThreadTable, UpdateRow, UpdateTable};

use super::disk::{self, HashCache};
use super::error::ServiceError;
use crate::ingest::{Ingest, SyncError, may_continue};

/// How long a request waits for a thread's newest lines to be ingested. Afterwards the answer is made from the
/// stored lines, and states its seq.
const CATCH_UP: Duration = Duration::from_millis(1_500);

#[derive(Debug, Clone)]
pub struct StoredChoice {
    pub update_id: i64,
    /// The thread it was made in: this one, or one that it continues.
    pub thread_id: String,
    pub created_at_ms: i64,
    pub choice: Choice,
}

#[derive(Debug)]
pub struct Snapshot {
    pub thread_id: String,
    pub file: FileRow,
    pub fold: Arc<Fold>,
    pub semantics: Semantics,
    /// The person's pins and drops, in the order they were made.
    pub choices: Vec<StoredChoice>,
    /// Number of the newest update; 0 if there is none.
    pub last_update: i64,
    pub disk: Disk,
}

impl Snapshot {
    pub fn view_inputs(&self) -> ViewInputs<'_> {
        ViewInputs {
            thread_id: Some(&self.thread_id),
            state: self.fold.checkpoint(),
            semantics: &self.semantics,
            disk: &self.disk,
            focus: "",
        }
    }

    /// Seq of its last line.
    pub fn seq(&self) -> u64 {
        self.fold.next_seq().saturating_sub(1)
    }
}

fn read(row: &UpdateRow) -> Result<StoredUpdate, ServiceError> {
    serde_json::from_str(&row.body).map_err(ServiceError::undecodable("update"))
}

fn placed(thread_id: &str, row: &UpdateRow, choice: Choice) -> StoredChoice {
    let UpdateRow { update_id, created_at_ms, .. } = *row;
    StoredChoice { update_id, thread_id: thread_id.to_owned(), created_at_ms, choice }
}

pub struct Snapshots {
    threads: ThreadTable,
    updates: UpdateTable,
    ingest: Arc<Ingest>,
    hashes: Arc<HashCache>,
}

impl Snapshots {
    pub fn new(threads: ThreadTable, updates: UpdateTable, ingest: Arc<Ingest>) -> Self {
        Self { threads, updates, ingest, hashes: Arc::default() }
    }

    /// Gathers a thread as it is now, or as it was after line `as_of`. A past snapshot omits the files on disk,
    /// which are current.
    pub async fn of(&self, thread_id: &str, as_of: Option<u64>) -> Result<Snapshot, ServiceError> {
        self.catch_up(thread_id).await?;
        let not_found = || ServiceError::ThreadNotFound(thread_id.to_owned());
        let (row, rows, seen) = tokio::try_join!(
            self.threads.get(thread_id),
            self.updates.of_thread(thread_id),
            self.threads.observations(thread_id),
        )?;
        let row = row.ok_or_else(not_found)?;
        let fold = match as_of {
            Some(seq) => self.ingest.fold_as_of(thread_id, seq).await?,
            None => self.ingest.fold(thread_id).await?,
        };
        let fold = fold.filter(|fold| fold.next_seq() > 0);
        let fold = fold.ok_or_else(|| ServiceError::CheckpointNotFound(thread_id.to_owned()))?;
        let last_update = rows.last().map_or(0, |row| row.update_id);
        let mut choices = self.inherited_choices(&row.thread_id, &row.file).await?;
        let mut accepted = Vec::with_capacity(rows.len());
        for stored in rows {
            let seq = stored.seq;
            match read(&stored)? {
                StoredUpdate::Update(update) if as_of.is_none_or(|as_of| seq <= as_of) => {
                    accepted.push(AcceptedUpdate { seq, update });
                }
                StoredUpdate::Update(_) => {}
                StoredUpdate::Choice(choice) => {
                    choices.push(placed(&row.thread_id, &stored, choice));
                }
            }
        }
        choices.retain(|stored| as_of.is_none_or(|seq| !stored.choice.is_after(seq)));
        let in_force = Choices::of(choices.iter().map(|stored| stored.choice.clone()));
        let semantics = Semantics { choices: in_force, ..Semantics::of(&accepted) };
        let disk = match as_of {
            Some(_) => Disk::new(),
            None => self.disk(&fold, &semantics, seen).await?,
        };
        Ok(Snapshot {
            thread_id: row.thread_id,
            file: row.file,
            fold,
            semantics,
            choices,
            last_update,
            disk,
        })
    }

    /// The fold of a thread, up to its ingested lines.
    pub async fn fold(&self, thread_id: &str) -> Result<Option<Arc<Fold>>, ServiceError> {
        Ok(self.ingest.fold(thread_id).await?)
    }

    /// Pins and drops of the threads that this one continues, up to the cut, oldest first.
    async fn inherited_choices(
        &self,
        thread_id: &str,
        file: &FileRow,
    ) -> Result<Vec<StoredChoice>, ServiceError> {
        let base_of =
            |file: &FileRow| file.head.as_ref().and_then(|head| head.history_base.clone());
        let (mut base, mut end) = (base_of(file), u64::MAX);
        let (mut visited, mut inherited) = (vec![thread_id.to_owned()], Vec::new());
        while let Some(at) = base.take().filter(|_| may_continue(visited.len())) {
            if visited.contains(&at.thread_id) {
                break;
            }
            end = end.min(at.end_ordinal_exclusive);
            let mut own = Vec::new();
            for row in
                self.updates.of_thread(&at.thread_id).await?.iter().filter(|row| row.seq < end)
            {
                if let StoredUpdate::Choice(choice) = read(row)? {
                    own.push(placed(&at.thread_id, row, choice));
                }
            }
            own.append(&mut inherited);
            inherited = own;
            let row = self.threads.get(&at.thread_id).await?;
            base = row.and_then(|row| base_of(&row.file));
            visited.push(at.thread_id);
        }
        Ok(inherited)
    }

    /// Gathers a thread as it was after line `seq`, a moment ago, with the current files on disk. Later lines are
    /// omitted, so that a retry finds the same history.
    pub async fn as_requested(&self, thread_id: &str, seq: u64) -> Result<Snapshot, ServiceError> {
        let now = self.of(thread_id, None).await?;
        if now.seq() <= seq {
            return Ok(now);
        }
        let then = self.of(thread_id, Some(seq)).await?;
        let seen = self.threads.observations(thread_id).await?;
        let disk = self.disk(&then.fold, &then.semantics, seen).await?;
        Ok(Snapshot { disk, ..then })
    }

    /// Ingests new lines. If the file cannot be read now, the answer is made from the stored lines.
    async fn catch_up(&self, thread_id: &str) -> Result<(), ServiceError> {
        match self.ingest.read_thread(thread_id, CATCH_UP).await {
            Ok(()) => Ok(()),
            Err(SyncError::NotFound(_)) => Err(ServiceError::ThreadNotFound(thread_id.to_owned())),
            Err(error) => {
                tracing::debug!(error = %error, "answering from earlier lines");
                Ok(())
            }
        }
    }

    async fn disk(
        &self,
        fold: &Fold,
        semantics: &Semantics,
        seen: Vec<Observation>,
    ) -> Result<Disk, ServiceError> {
        let state = fold.checkpoint();
        let Some(cwd) = state.cwd.clone() else { return Ok(Disk::new()) };
        let key = |path: &str| longhaul_core::paths::absolute(path, Some(&cwd));
        let mut keys: Vec<String> = seen.iter().map(|observation| key(&observation.path)).collect();
        let hashed = state.files.iter().filter(|(_, file)| file.hash.is_some());
        keys.extend(hashed.map(|(key, _)| key.to_owned()));
        for (_, update) in semantics.facts.values() {
            if let Update::Fact { depends_on, .. } = update {
                keys.extend(depends_on.iter().map(|dependency| key(&dependency.uri)));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            return Ok(Disk::new());
        }
        self.files_now(cwd, keys, seen).await
    }

    /// The current state on disk of the files `keys` in the folder `cwd`, with earlier observations in `seen`.
    pub async fn files_now(
        &self,
        cwd: String,
        keys: Vec<String>,
        seen: Vec<Observation>,
    ) -> Result<Disk, ServiceError> {
        let hashes = Arc::clone(&self.hashes);
        Ok(tokio::task::spawn_blocking(move || disk::look(&hashes, &cwd, &keys, &seen)).await?)
    }
}
