//! Compares cycles of the job table (claim, heartbeat, complete) over the socket with the same three commits in bare
//! SQLite, on the same disk in the same run.
//!
//! The bare form is the minimum for a lease: one row per job, one conditional update per step. The daemon adds the
//! socket and JSON, the core's decisions on the whole row, and the history of each job.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection as _, Executor as _};

use super::report::{Report, Times};
use crate::daemon::Daemon;
use crate::stopwatch::Stopwatch;
use crate::wire::Wire;

/// Pending jobs while cycles are timed.
const OWED: usize = 1_000;

/// Leaves compactions to external workers, so that only this benchmark claims them.
const CONFIG: &str = "[jobs.compact]\noutside = true\n[memory]\nenabled = false\n";

pub(super) fn measure(longhauld: &Path, rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    let rounds = rounds.min(OWED - 1);
    let home = tempfile::tempdir()?;
    let nowhere = Path::new("/nonexistent");
    let daemon = Daemon::start_with(longhauld, home.path(), nowhere, CONFIG)?;
    let mut wire = daemon.connect()?;
    for number in 0..OWED {
        let text = format!("job {number}");
        let content = json!([{ "type": "input_text", "text": text }]);
        let items = json!([{ "type": "message", "role": "user", "content": content }]);
        wire.call("compaction/start", &json!({ "items": items }))?;
    }
    let folder = tempfile::tempdir_in(daemon.folder())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut bare = runtime.block_on(BareLease::open(&folder.path().join("bare.db")))?;

    let [ours, theirs] =
        Times::in_turn((0, rounds), |_| Ok([cycle(&mut wire)?, runtime.block_on(bare.cycle())?]))?;
    let second = |times: &Times| 1e6 / times.percentile_us(50);
    let ratio = ours.percentile_us(50) / theirs.percentile_us(50);
    report.add("claim + heartbeat + complete in bare SQLite", theirs.show(), "");
    report.add(format!("the same over the socket, {OWED} jobs owed"), ours.show(), "");
    let cycles = format!("{:.0} against {:.0}", second(&ours), second(&theirs));
    report.add("cycles a second against bare SQLite", cycles, "");
    report.add("a cycle against bare SQLite", format!("{ratio:.1} x"), "<= 10 x");
    daemon.stop()
}

fn cycle(wire: &mut Wire) -> anyhow::Result<Duration> {
    let watch = Stopwatch::start();
    let claimed = wire.call("job/claim", &json!({ "kind": "compact", "worker": "bench" }))?;
    let claim: &Value = &claimed["claim"];
    let held = json!({ "job": claim["job"]["job"], "token": claim["token"] });
    wire.call("job/heartbeat", &held)?;
    let done = wire.call("job/complete", &held)?;
    let took = watch.elapsed();
    ensure!(done["job"]["state"] == "done", "a job was not done: {done}");
    Ok(took)
}

struct BareLease(SqliteConnection);

impl BareLease {
    async fn open(path: &Path) -> anyhow::Result<Self> {
        // As the daemon's own database.
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        connection
            .execute("CREATE TABLE job (id INTEGER PRIMARY KEY, state INT, epoch INT, lease INT)")
            .await?;
        connection.execute("CREATE INDEX job_by_state ON job (state)").await?;
        for _ in 0..OWED {
            connection.execute("INSERT INTO job (state, epoch, lease) VALUES (0, 0, 0)").await?;
        }
        Ok(Self(connection))
    }

    async fn cycle(&mut self) -> anyhow::Result<Duration> {
        let watch = Stopwatch::start();
        let (id,): (i64,) = sqlx::query_as(
            "UPDATE job SET state = 1, epoch = epoch + 1, lease = 9 \
             WHERE id = (SELECT id FROM job WHERE state = 0 LIMIT 1) RETURNING id",
        )
        .fetch_optional(&mut self.0)
        .await?
        .context("no bare job is left")?;
        for step in [
            "UPDATE job SET lease = 10 WHERE id = ?1 AND state = 1 AND epoch = 1",
            "UPDATE job SET state = 2 WHERE id = ?1 AND state = 1 AND epoch = 1",
        ] {
            let changed = sqlx::query(step).bind(id).execute(&mut self.0).await?;
            ensure!(changed.rows_affected() == 1, "a bare lease was lost");
        }
        Ok(watch.elapsed())
    }
}
