//! A server that answers every line with some rows of a database, and nothing else.
//!
//! It runs in the soak's own process and its answers cost the same all day, so they slow down only with the machine.
//! The times of the daemon are judged as multiples of its times. It takes the daemon's steps (a socket, the same
//! runtime, the thread of a SQLite connection), because each hand-over to another thread waits for a processor.

use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Executor as _};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};

use crate::wire::Wire;

const ROWS: u64 = 1_000;

/// Rows of an answer: about as much work as a call of the daemon.
const ROWS_OF_AN_ANSWER: u64 = 50;

pub(super) struct Floor {
    socket: PathBuf,
    /// Serves until dropped.
    _runtime: Runtime,
}

impl Floor {
    /// Starts it, with its socket and database in the folder.
    pub(super) fn start(folder: &Path) -> anyhow::Result<Self> {
        let (socket, database) = (folder.join("floor.sock"), folder.join("floor.db"));
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(create(&database))?;
        let listener = runtime.block_on(async { UnixListener::bind(&socket) })?;
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let database = database.clone();
                // The client reports a connection that ends early.
                tokio::spawn(async move { serve(stream, &database).await.ok() });
            }
        });
        Ok(Self { socket, _runtime: runtime })
    }

    pub(super) fn connect(&self) -> anyhow::Result<Wire> {
        Wire::connect(&self.socket)
    }
}

async fn create(database: &Path) -> anyhow::Result<()> {
    let options = SqliteConnectOptions::new().filename(database).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    connection.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT NOT NULL)").await?;
    sqlx::query(
        "WITH RECURSIVE id(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM id WHERE id < ?)
         INSERT INTO row SELECT id, hex(randomblob(500)) FROM id",
    )
    .bind(ROWS.cast_signed())
    .execute(&mut connection)
    .await?;
    Ok(connection.close().await?)
}

async fn serve(mut stream: UnixStream, database: &Path) -> anyhow::Result<()> {
    let options = SqliteConnectOptions::new().filename(database).read_only(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    let mut id = 0;
    while lines.next_line().await?.is_some() {
        id = id % ROWS + 1;
        let rows: Vec<(String,)> = sqlx::query_as("SELECT text FROM row WHERE id >= ? LIMIT ?")
            .bind(id.cast_signed())
            .bind(ROWS_OF_AN_ANSWER.cast_signed())
            .fetch_all(&mut connection)
            .await?;
        let mut answer = serde_json::json!({ "result": rows }).to_string();
        answer.push('\n');
        write.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_answers_every_line_with_rows() {
        let folder = tempfile::tempdir().unwrap();
        let floor = Floor::start(folder.path()).unwrap();
        let mut wire = floor.connect().unwrap();
        let mut answer = Vec::new();
        for _ in 0..=ROWS {
            wire.round_trip(b"{}\n", &mut answer).unwrap();
            let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
            let rows = answer["result"].as_array().unwrap();
            assert!(!rows.is_empty() && rows.len() <= 50, "{}", rows.len());
        }
    }
}
