//! Migrates databases of every earlier version: no data that exists only in the store is lost.

use std::path::Path;

use longhaul_store::Store;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::sample::Temp;

/// Rows, each with the first version of its table or column.
const ROWS: &[(u32, &str)] = &[
    (
        1,
        "INSERT INTO source_file VALUES \
         (1, 'codex', '/1', 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, x'', 0, x'', x'', '', 't', 1, \
         '{\"compactions\":3}', x''), \
         (2, 'codex', '/2', 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, x'', 0, x'', x'', '', 'u', 1, 'torn', x'')",
    ),
    (1, "INSERT INTO thread VALUES ('t', 1, 'codex', NULL, 5), ('u', 2, 'codex', NULL, 6)"),
    (1, "INSERT INTO semantic_update VALUES (7, 't', 3, 11, '{\"kind\":\"fact\"}')"),
    (
        1,
        "INSERT INTO compaction (compaction_id, thread_id, created_at_ms, strategy_used, phase, cause, \
         tokens_before, tokens_after, seq, duration_ms, undone_at_ms, result, preimage) \
         VALUES ('cmp_1', 't', 12, 'checkpoint', 'standalone', 'manual', 900, 90, 5, 2, 13, x'7b7d', x'01')",
    ),
    (2, "INSERT INTO model_usage VALUES (20000, 'p', 'm', 'summary', 4, 1, 100, 50, 25)"),
    (2, "INSERT INTO model_answer VALUES ('d', 14, x'02')"),
    (3, "INSERT INTO job VALUES ('compact', 'cmp_2', 'queued', 1, 15, '{}')"),
    (3, "INSERT INTO job_event VALUES (1, 'compact', 'cmp_2', 15, 0, 'queued', '')"),
    (
        4,
        "INSERT INTO memory_note (note_id, project, at_ms, text) VALUES ('n1', '/w', 16, 'Never.')",
    ),
    (4, "INSERT INTO memory_exclusion VALUES ('thread', 'gone', 17)"),
    (4, "INSERT INTO memory_usage VALUES ('MEMORY.md', 3, 18)"),
    (
        4,
        "INSERT INTO memory_generation VALUES (2, 19, 'i', 1, '{}', '{}', '{\"MEMORY.md\":\"x\"}', NULL)",
    ),
    (
        4,
        "INSERT INTO memory_thread (thread_id, next_seq, version, extracted_at_ms, updated_at_ms, outcome, \
         learnings, uses) VALUES ('t', 9, 1, 20, 21, 'success', 0, 2)",
    ),
    (5, "INSERT INTO policy_watcher VALUES ('t', 22, '{}')"),
    (5, "INSERT INTO policy_settings VALUES ('s', '{}')"),
    (5, "INSERT INTO policy_decision VALUES (3, 't', 'p', 's', 0, 23, 4, 1, 'wait', NULL, '{}')"),
    (6, "UPDATE compaction SET reason = 'context_limit', requests = 2, tokens_spent = 30"),
    (7, "INSERT INTO memory_agent VALUES (1, '{}', 'done', '', 'full', 2, 40, 24)"),
    (8, "INSERT INTO memory_note VALUES ('n2', NULL, 25, 'Always.', 'person')"),
    (10, "UPDATE policy_decision SET compaction_id = 'c', not_made = 'a turn is running'"),
    (11, "INSERT INTO agent_gauge VALUES ('t', 26, '{}')"),
];

/// Tables that cannot be rebuilt from transcripts.
const TABLES: &[&str] = &[
    "semantic_update",
    "compaction",
    "model_usage",
    "model_answer",
    "job",
    "job_event",
    "memory_note",
    "memory_exclusion",
    "memory_usage",
    "memory_generation",
    "memory_thread",
    "policy_watcher",
    "policy_settings",
    "policy_decision",
    "memory_agent",
    "agent_gauge",
];

async fn connect(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    options.connect().await.unwrap()
}

/// The shipped migrations, in order.
fn migrations() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

async fn make(path: &Path, version: u32) {
    let mut connection = connect(path).await;
    for (number, migration) in (1..=version).zip(migrations()) {
        sqlx::raw_sql(AssertSqlSafe(migration)).execute(&mut connection).await.unwrap();
        for (_, row) in ROWS.iter().filter(|(first, _)| *first == number) {
            sqlx::raw_sql(*row).execute(&mut connection).await.unwrap();
        }
    }
    let stamp = format!("PRAGMA user_version = {version}; PRAGMA application_id = 1818772546");
    sqlx::raw_sql(AssertSqlSafe(stamp)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The columns of a table; empty if it does not exist.
async fn columns(connection: &mut SqliteConnection, table: &str) -> Vec<String> {
    let names = "SELECT name FROM pragma_table_info(?1) ORDER BY cid";
    let names: Vec<(String,)> =
        sqlx::query_as(names).bind(table).fetch_all(connection).await.unwrap();
    names.into_iter().map(|name| name.0).collect()
}

/// All rows of a table, with these columns.
async fn rows(connection: &mut SqliteConnection, table: &str, columns: &[String]) -> Vec<String> {
    let quoted: Vec<String> = columns.iter().map(|name| format!("quote({name})")).collect();
    let sql = format!("SELECT {} AS line FROM {table} ORDER BY line", quoted.join(" || ',' || "));
    let lines: Vec<(String,)> =
        sqlx::query_as(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap();
    lines.into_iter().map(|line| line.0).collect()
}

#[tokio::test]
async fn data_that_exists_only_here_survives_the_migration_from_every_version() {
    let newest = u32::try_from(migrations().len()).unwrap();
    for version in 1..=newest {
        let temp = Temp::new();
        let path = temp.path();
        make(&path, version).await;
        let mut before = Vec::new();
        let mut connection = connect(&path).await;
        for table in TABLES {
            let columns = columns(&mut connection, table).await;
            if !columns.is_empty() {
                let rows = rows(&mut connection, table, &columns).await;
                assert!(!rows.is_empty(), "{table} of version {version} has no rows");
                before.push((table, columns, rows));
            }
        }
        connection.close().await.unwrap();

        let (store, opened) = Store::open(&path, 1).await.unwrap();
        assert_eq!(
            (opened.created, opened.moved_aside, opened.schema_version),
            (false, None, newest)
        );
        let (row, _) = store.compactions.get("cmp_1").await.unwrap().unwrap();
        assert_eq!((row.seq, row.undone_at_ms), (5, Some(13)));
        assert_eq!(row.requests, if version < 6 { 0 } else { 2 });
        assert_eq!(store.threads.compacted(9).await.unwrap(), [("t".to_owned(), 3)]);
        let notes = store.notes.list().await.unwrap();
        assert_eq!(notes.len(), [0, 1, 2][usize::from(version > 3) + usize::from(version > 7)]);
        store.database.close().await;

        let mut connection = connect(&path).await;
        for (table, columns, expected) in before {
            let found = rows(&mut connection, table, &columns).await;
            assert_eq!(found, expected, "{table} of version {version}");
        }
        connection.close().await.unwrap();
    }
}
