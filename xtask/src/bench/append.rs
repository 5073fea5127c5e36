//! Compares one durable `thread/append` with one durable bare SQLite insert on the same disk.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection as _, Executor as _};

use super::report::{Report, Times};
use crate::daemon::Daemon;
use crate::stopwatch::Stopwatch;

const WARM_UP: usize = 20;

/// Length of an ordinary message.
const TEXT_BYTES: usize = 600;

pub(super) fn measure(longhauld: &Path, rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let daemon = Daemon::start(longhauld, home.path())?;
    let mut wire = daemon.connect()?;
    let params = json!({ "cwd": "/", "originator": "bench" });
    let thread = wire.call("thread/open", &params)?["thread_id"].take();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // In the daemon's folder, so that both write to one disk.
    let mut sqlite = runtime.block_on(Sqlite::open(&daemon.folder().join("bare.db")))?;
    let mut answer = Vec::new();
    let [appends, inserts] = Times::in_turn((WARM_UP, rounds), |round| {
        let content = [json!({ "type": "input_text", "text": "x".repeat(TEXT_BYTES) })];
        let item = json!({ "type": "message", "role": "user", "content": content });
        let items = [json!({ "client_item_id": round.to_string(), "item": item })];
        let request =
            wire.request("thread/append", &json!({ "thread_id": thread, "items": items }));
        let watch = Stopwatch::start();
        wire.round_trip(&request, &mut answer)?;
        let append = watch.elapsed();
        ensure!(answer.windows(9).any(|part| part == b"\"result\":"), "an append was rejected");
        Ok([append, runtime.block_on(sqlite.insert(round.to_string()))?])
    })?;
    let ratio = appends.percentile_us(50) / inserts.percentile_us(50);
    report.add("bare SQLite insert and sync", inserts.show(), "");
    report.add("thread/append, durable", appends.show(), "");
    report.add("thread/append against the insert", format!("{ratio:.2} x"), "<= 1.5 x");
    daemon.stop()
}

struct Sqlite(SqliteConnection);

impl Sqlite {
    async fn open(database: &Path) -> anyhow::Result<Self> {
        // The fastest settings with each commit on disk.
        let options = SqliteConnectOptions::new()
            .filename(database)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        let table =
            "CREATE TABLE item (seq INTEGER PRIMARY KEY, client_item_id TEXT UNIQUE, body TEXT)";
        connection.execute(table).await?;
        Ok(Self(connection))
    }

    async fn insert(&mut self, id: String) -> anyhow::Result<Duration> {
        let insert = sqlx::query("INSERT INTO item (client_item_id, body) VALUES (?, ?)")
            .bind(id)
            .bind("x".repeat(TEXT_BYTES));
        let watch = Stopwatch::start();
        insert.execute(&mut self.0).await?;
        Ok(watch.elapsed())
    }
}
