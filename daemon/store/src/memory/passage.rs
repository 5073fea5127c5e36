//! Passages of the published files and their full-text search.

use longhaul_core::search::word;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::generation::GenerationTable;
use crate::error::StoreError;
use crate::row::{get, unsigned};

/// Maximum passages considered by a search.
const MATCHES_MAX: u32 = 400;

/// A few lines of a memory file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Path below the memory folder.
    pub path: String,
    /// First line, from 1.
    pub line_start: u64,
    pub line_end: u64,
    /// `None` is global.
    pub project: Option<String>,
    pub thread_id: Option<String>,
    /// Time of its newest entry, Unix milliseconds.
    pub at_ms: i64,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PassageMatch {
    pub passage: Passage,
    /// BM25, larger is better.
    pub relevance: f64,
}

/// Whose passages to find.
#[derive(Debug, Clone, Copy)]
pub struct PassageScope<'a> {
    pub projects: &'a [String],
    /// Files whose passages without a project count, too. Earlier versions stored such passages for other files, without
    /// knowing which project they were about.
    pub general_files: &'a [&'a str],
}

impl GenerationTable {
    /// Passages that match `expression` (of [`longhaul_core::search::query`]), the most relevant first.
    /// With `scope`, only those of its projects and global ones.
    /// `Internal` means an invalid expression.
    pub async fn passages(
        &self,
        expression: &str,
        scope: Option<PassageScope<'_>>,
    ) -> Result<Vec<PassageMatch>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT p.path, p.line_start, p.line_end, p.project, p.thread_id, p.at_ms, p.text, \
             -bm25(memory_text, 1.0, 0.5) AS relevance FROM memory_text t \
             JOIN memory_passage p ON p.passage = t.rowid WHERE memory_text MATCH ",
        );
        query.push_bind(expression);
        if let Some(scope) = scope {
            query.push(" AND ((p.project IS NULL AND p.path IN (");
            let mut paths = query.separated(", ");
            for path in scope.general_files {
                paths.push_bind(*path);
            }
            query.push("))");
            for project in scope.projects {
                query.push(" OR p.project = ").push_bind(project);
            }
            query.push(")");
        }
        query.push(" ORDER BY relevance DESC, p.passage LIMIT ").push_bind(MATCHES_MAX);
        let found = query.build().try_map(|row| {
            let passage = Passage {
                path: get(&row, "path")?,
                line_start: unsigned(&row, "line_start")?,
                line_end: unsigned(&row, "line_end")?,
                project: get(&row, "project")?,
                thread_id: get(&row, "thread_id")?,
                at_ms: get(&row, "at_ms")?,
                text: get(&row, "text")?,
            };
            Ok(PassageMatch { passage, relevance: get(&row, "relevance")? })
        });
        self.0.pools().read(async |pool| found.fetch_all(&pool).await).await
    }
}

pub(super) async fn replace(
    connection: &mut SqliteConnection,
    passages: &[Passage],
) -> Result<(), sqlx::Error> {
    for emptied in [
        "DELETE FROM memory_passage",
        "INSERT INTO memory_text (memory_text) VALUES ('delete-all')",
    ] {
        sqlx::query(emptied).execute(&mut *connection).await?;
    }
    for (number, passage) in (1_i64..).zip(passages) {
        sqlx::query(
            "INSERT INTO memory_passage (passage, path, line_start, line_end, project, thread_id, \
             at_ms, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )
        .bind(number)
        .bind(passage.path.as_str())
        .bind(passage.line_start.cast_signed())
        .bind(passage.line_end.cast_signed())
        .bind(passage.project.as_deref())
        .bind(passage.thread_id.as_deref())
        .bind(passage.at_ms)
        .bind(passage.text.as_str())
        .execute(&mut *connection)
        .await?;
        let words = word::spread(&passage.text);
        sqlx::query("INSERT INTO memory_text (rowid, pieces, names) VALUES (?1, ?2, ?3)")
            .bind(number)
            .bind(words.pieces)
            .bind(words.names)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
