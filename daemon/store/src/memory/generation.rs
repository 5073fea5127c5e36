//! Published sets of memory files.

use longhaul_core::job::Fence;
use longhaul_core::memory::Files;
use longhaul_core::memory::edits::Edits;
use serde::{Deserialize, Serialize};

use super::{lost, passage};
use crate::error::StoreError;
use crate::job::fenced;
use crate::pool::Connections;
use crate::row::{get, unsigned};

/// Generations kept: a person may still have a file of the last one open.
pub const GENERATIONS_KEPT: u32 = 2;

/// A published set of files. In its written form it has neither `input` nor `found`, so the next build is compared with
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    /// Its number, from 1.
    pub generation: u64,
    /// Publication time, Unix milliseconds.
    pub at_ms: i64,
    #[serde(skip)]
    pub input: String,
    pub threads: u64,
    /// The memory as values, as JSON.
    pub handbook: String,
    /// All changes of the person in it.
    pub edits: Edits,
    pub files: Files,
    /// Its files as found when the next one was made.
    #[serde(skip)]
    pub found: Option<Files>,
}

/// A set of files to publish.
#[derive(Debug, Clone, Copy)]
pub struct NewGeneration<'a> {
    /// The set, numbered one above its predecessor; its `found` is ignored.
    pub generation: &'a Generation,
    /// The predecessor's files as found.
    pub found: &'a Files,
    pub passages: &'a [passage::Passage],
    /// Proof of ownership, if a job made it.
    pub fence: Option<&'a Fence>,
}

/// Published memory files, with their searchable passages.
#[derive(Debug, Clone)]
pub struct GenerationTable(pub(crate) Connections);

impl GenerationTable {
    /// The newest generations, newest first, at most [`GENERATIONS_KEPT`].
    pub async fn newest(&self) -> Result<Vec<Generation>, StoreError> {
        let newest = sqlx::query(
            "SELECT generation, at_ms, input, threads, handbook, edits, files, found \
             FROM memory_generation ORDER BY generation DESC LIMIT ?1",
        )
        .bind(GENERATIONS_KEPT)
        .try_map(|row| {
            let found: Option<&str> = get(&row, "found")?;
            Ok(Generation {
                generation: unsigned(&row, "generation")?,
                at_ms: get(&row, "at_ms")?,
                input: get(&row, "input")?,
                threads: unsigned(&row, "threads")?,
                handbook: get(&row, "handbook")?,
                edits: decoded(get(&row, "edits")?)?,
                files: decoded(get(&row, "files")?)?,
                found: found.map(decoded).transpose()?,
            })
        });
        self.0.pools().read(async |pool| newest.fetch_all(&pool).await).await
    }

    pub async fn purge(&self, generation: u64) -> Result<(), StoreError> {
        let earlier = sqlx::query("DELETE FROM memory_generation WHERE generation < ?1");
        self.0.pools().execute(earlier.bind(generation.cast_signed())).await.map(drop)
    }

    /// Records the current generation with its searchable passages. Returns `false`, storing nothing, if another
    /// was recorded since its predecessor: the run was taken over.
    /// Fails with `Fenced` if the run lost its job.
    pub async fn put(&self, new: NewGeneration<'_>) -> Result<bool, StoreError> {
        let pools = self.0.pools();
        let classify = |error| pools.classify(error);
        let set = new.generation;
        let (edits, files, found) = (
            encoded(&set.edits).map_err(classify)?,
            encoded(&set.files).map_err(classify)?,
            encoded(new.found).map_err(classify)?,
        );
        let mut transaction = pools.begin().await?;
        fenced(&mut transaction, new.fence).await?;
        let stored = sqlx::query(
            "INSERT INTO memory_generation (generation, at_ms, input, threads, handbook, edits, files) \
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE \
             (SELECT coalesce(max(generation), 0) FROM memory_generation) = ?1 - 1",
        )
        .bind(set.generation.cast_signed())
        .bind(set.at_ms)
        .bind(set.input.as_str())
        .bind(set.threads.cast_signed())
        .bind(set.handbook.as_str())
        .bind(edits)
        .bind(files);
        if transaction.execute(stored).await?.rows_affected() == 0 {
            return Ok(false);
        }
        let number = set.generation.cast_signed();
        let last = sqlx::query("UPDATE memory_generation SET found = ?2 WHERE generation = ?1 - 1");
        transaction.execute(last.bind(number).bind(found)).await?;
        let old = sqlx::query("DELETE FROM memory_generation WHERE generation <= ?1 - ?2");
        transaction.execute(old.bind(number).bind(GENERATIONS_KEPT)).await?;
        transaction.execute(sqlx::query(lost::MARK)).await?;
        transaction.run(async |it| passage::replace(it, new.passages).await).await?;
        transaction.commit_durably().await?;
        Ok(true)
    }
}

fn decoded<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, sqlx::Error> {
    serde_json::from_str(json).map_err(|error| sqlx::Error::Decode(error.into()))
}

pub(super) fn encoded<T: Serialize>(value: &T) -> Result<String, sqlx::Error> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(error.into()))
}
