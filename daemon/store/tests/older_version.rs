//! A database of a version before the first migration is replaced: no data that exists only in the store is lost.

use std::collections::BTreeMap;
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::sample::Temp;

async fn connect(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    options.connect().await.unwrap()
}

async fn texts(connection: &mut SqliteConnection, sql: String) -> Vec<String> {
    let rows: Vec<(String,)> =
        sqlx::query_as(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap();
    rows.into_iter().map(|row| row.0).collect()
}

/// The columns of each table, as one SQL expression.
async fn tables(connection: &mut SqliteConnection) -> BTreeMap<String, String> {
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut tables = BTreeMap::new();
    for name in texts(connection, names.to_owned()).await {
        let columns = format!("SELECT 'quote(' || name || ')' FROM pragma_table_info('{name}')");
        tables.insert(name, texts(connection, columns).await.join(" || ',' || "));
    }
    tables.remove("meta");
    tables
}

async fn rows(
    connection: &mut SqliteConnection,
    tables: &BTreeMap<String, String>,
) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (name, columns) in tables {
        let sql = format!("SELECT {columns} AS line FROM {name} ORDER BY line");
        found.push((name.clone(), texts(connection, sql).await));
    }
    found
}

#[tokio::test]
async fn data_that_exists_only_here_is_taken_over_from_an_older_version() {
    let temp = Temp::new();
    let mut connection = connect(&temp.path()).await;
    sqlx::raw_sql(include_str!("version_9.sql")).execute(&mut connection).await.unwrap();
    let tables = tables(&mut connection).await;
    let before = rows(&mut connection, &tables).await;
    assert!(before.len() == 10 && before.iter().all(|(_, rows)| !rows.is_empty()), "{before:?}");
    connection.close().await.unwrap();

    let (store, opened) = temp.open().await;
    let older = opened.moved_aside.unwrap();
    assert!(older.ends_with("longhaul.db.older-1000"), "{}", older.display());
    assert!(opened.created);
    assert!(opened.salvaged.unwrap().complete);
    assert!(store.database.rebuilt().unwrap().is_of_older_version());
    let (row, _) = store.compactions.get("cmp_1").await.unwrap().unwrap();
    assert_eq!((row.seq, row.undone_at_ms, row.requests), (5, Some(13), 2));
    assert_eq!(store.notes.list().await.unwrap().len(), 2);
    store.database.close().await;

    let mut connection = connect(&temp.path()).await;
    assert_eq!(rows(&mut connection, &tables).await, before);
    connection.close().await.unwrap();

    let (store, opened) = temp.open().await;
    assert_eq!((opened.moved_aside, store.database.rebuilt()), (None, None));
    store.database.remove_aside().unwrap();
    assert!(!older.exists());
}
