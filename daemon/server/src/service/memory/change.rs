//! What a person or an agent tells memory: notes, use, and what to forget.

use std::collections::BTreeSet;

use longhaul_core::memory::cite;
use longhaul_core::memory::usage::UsageKind;
use longhaul_core::redact::redact;
use longhaul_protocol::limit::NOTE_BYTES_MAX;
use longhaul_store::{Exclusion, NoteRow};

use super::project::project_or_folder;
use super::publish::Purge;
use crate::service::{ServiceError, Services};

/// A note that was taken.
#[derive(Debug)]
pub struct Remembered {
    /// It.
    pub note: NoteRow,
    /// Number of the memory that holds it.
    pub generation: u64,
}

/// What was counted as used.
#[derive(Debug)]
pub struct Cited {
    /// Kinds of file.
    pub kinds: Vec<String>,
    /// Threads.
    pub thread_ids: Vec<String>,
    /// The answer without citations.
    pub answer: Option<String>,
}

/// What was forgotten.
#[derive(Debug)]
pub struct Forgotten {
    /// Extractions and notes that went.
    pub gone: u64,
    /// Number of the memory without it.
    pub generation: u64,
}

impl Services {
    /// Takes a note and publishes it.
    ///
    /// # Errors
    /// It is blank or too long; those of the store and of the folder.
    pub async fn add_note(
        &self,
        text: &str,
        cwd: Option<String>,
    ) -> Result<Remembered, ServiceError> {
        let invalid = |reason: String| ServiceError::Invalid { field: "text", reason };
        let text = text.trim();
        if text.is_empty() {
            return Err(invalid("not blank".to_owned()));
        }
        if text.len() > NOTE_BYTES_MAX {
            return Err(invalid(format!("at most {NOTE_BYTES_MAX} bytes, not {}", text.len())));
        }
        let note = NoteRow {
            note_id: format!("note_{}", self.deps.clock.new_id()),
            project: cwd.as_deref().map(project_or_folder),
            at_ms: self.deps.clock.now_ms(),
            text: redact(text).text.into_owned(),
        };
        self.store.note_add(&note).await?;
        let (generation, _) = self.publish_memory(Purge::No).await?;
        Ok(Remembered { note, generation })
    }

    /// Counts what an answer used.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn cite(
        &self,
        answer: Option<&str>,
        thread_ids: Vec<String>,
        paths: Vec<String>,
    ) -> Result<Cited, ServiceError> {
        let cited = answer.map(cite::parse).unwrap_or_default();
        let mut paths: BTreeSet<String> = paths.into_iter().collect();
        paths.extend(cited.entries.into_iter().map(|entry| entry.path));
        let mut threads: BTreeSet<String> = thread_ids.into_iter().collect();
        threads.extend(cited.thread_ids);
        let published = self.published_memory().await?;
        let tasks = published.handbook.projects.values().flat_map(|project| &project.tasks);
        let mut known = BTreeSet::new();
        for task in tasks {
            if threads.contains(&task.thread_id) || paths.contains(&task.summary_path) {
                known.insert(task.thread_id.clone());
            }
        }
        let kinds: BTreeSet<&str> =
            paths.iter().filter_map(|path| UsageKind::of(path)).map(UsageKind::name).collect();
        let (kinds, thread_ids): (Vec<&str>, Vec<String>) =
            (kinds.into_iter().collect(), known.into_iter().collect());
        self.store.memory_use(&kinds, &thread_ids, self.deps.clock.now_ms()).await?;
        let kinds = kinds.into_iter().map(str::to_owned).collect();
        Ok(Cited { kinds, thread_ids, answer: answer.map(cite::strip) })
    }

    /// Forgets, and publishes without it before it returns.
    ///
    /// # Errors
    /// There is no such thread; those of the store and of the folder.
    pub async fn forget(&self, what: Exclusion) -> Result<Forgotten, ServiceError> {
        let what = match what {
            Exclusion::Project(cwd) => Exclusion::Project(project_or_folder(&cwd)),
            Exclusion::Thread(id) => {
                let is_known = self.store.thread_get(&id).await?.is_some()
                    || self.store.extraction_get(&id).await?.is_some();
                if !is_known {
                    return Err(ServiceError::ThreadNotFound(id));
                }
                Exclusion::Thread(id)
            }
            what => what,
        };
        let summary = match &what {
            Exclusion::Thread(id) => self.summary_path(id).await?,
            _ => None,
        };
        let gone = self.store.forget(&what, self.deps.clock.now_ms()).await?;
        if gone == 0 && matches!(what, Exclusion::Note(_)) {
            let reason = "no such note".to_owned();
            return Err(ServiceError::Invalid { field: "note_id", reason });
        }
        let (generation, _) = self.publish_memory(Purge::Yes(summary)).await?;
        Ok(Forgotten { gone, generation })
    }

    /// The file with the summary of a thread.
    async fn summary_path(&self, thread_id: &str) -> Result<Option<String>, ServiceError> {
        let published = self.published_memory().await?;
        let mut tasks = published.handbook.projects.values().flat_map(|project| &project.tasks);
        let task = tasks.find(|task| task.thread_id == thread_id);
        Ok(task.map(|task| task.summary_path.clone()))
    }
}
