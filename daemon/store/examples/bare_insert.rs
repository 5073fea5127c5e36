//! One durable SQLite insert for each line of stdin, timed: the baseline to which `cargo xtask bench` compares a durable
//! append. `bare_insert DATABASE BYTES` prints the nanoseconds of each, one per line.

#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::io::BufRead as _;
use std::path::PathBuf;
use std::time::Instant;

use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::disallowed_methods, reason = "measuring is what it is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path: PathBuf = arguments.next().ok_or("no database")?.into();
    let bytes: usize =
        arguments.next().and_then(|n| n.into_string().ok()).ok_or("no size")?.parse()?;
    // SQLite's fastest settings with each commit on disk.
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    sqlx::query(
        "CREATE TABLE item (seq INTEGER PRIMARY KEY, client_item_id TEXT UNIQUE, body TEXT)",
    )
    .execute(&mut connection)
    .await?;
    let body = "x".repeat(bytes);
    for (seq, line) in std::io::stdin().lock().lines().enumerate() {
        line?;
        let start = Instant::now();
        sqlx::query("INSERT INTO item (client_item_id, body) VALUES (?, ?)")
            .bind(seq.to_string())
            .bind(&body)
            .execute(&mut connection)
            .await?;
        println!("{}", start.elapsed().as_nanos());
    }
    Ok(connection.close().await?)
}
