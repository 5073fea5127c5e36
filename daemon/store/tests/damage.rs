//! Databases that are damaged, newer, locked, or not databases.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use longhaul_store::{RetryClass, SCHEMA_VERSION, Store, StoreError};
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::sample::{Temp, file, file_count, thread_count};

async fn filled() -> Temp {
    let (temp, store) = Temp::opened().await;
    for n in 0..40 {
        let given = file(&format!("/{n}"), &format!("t{n}"), n, 300);
        store.projection.commit(&[given]).await.unwrap();
    }
    store.database.close().await;
    temp
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

async fn assert_rebuilt(temp: &Temp, what: &str) {
    let damaged = fs::read(temp.path()).unwrap();
    let (store, opened) = Store::open(&temp.path(), 77).await.unwrap();
    let moved = opened.moved_aside.unwrap();
    assert!(moved.to_string_lossy().ends_with("longhaul.db.corrupt-77"), "{what}");
    assert_eq!(fs::read(moved).unwrap(), damaged, "{what}: the old file was changed");
    assert!(opened.created, "{what}");
    assert_eq!(file_count(&store).await, 0, "{what}");
    store.projection.commit(&[file("/new", "t", 1, 1)]).await.unwrap();
}

#[tokio::test]
async fn a_damaged_file_is_moved_aside_and_replaced_by_an_empty_one() {
    type Damage = fn(&Path);
    let cases: [(&str, Damage); 4] = [
        ("header", |path| overwrite(path, 0, b"this is no database, not at all")),
        ("middle", |path| {
            let bytes = fs::metadata(path).unwrap().len();
            overwrite(path, bytes / 2 / 4_096 * 4_096, &[0xa5; 3 * 4_096]);
        }),
        ("truncated", |path| {
            let bytes = fs::metadata(path).unwrap().len();
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(bytes / 2).unwrap();
        }),
        ("text file", |path| fs::write(path, "hello\n".repeat(1_000)).unwrap()),
    ];
    for (what, damage) in cases {
        let temp = filled().await;
        damage(&temp.path());
        assert_rebuilt(&temp, what).await;
    }
}

#[tokio::test]
async fn an_empty_file_is_a_new_database() {
    let temp = Temp::new();
    fs::write(temp.path(), b"").unwrap();
    let (_, opened) = temp.open().await;
    assert!(opened.created && opened.moved_aside.is_none());
}

#[tokio::test]
async fn damage_found_while_running_is_recovered() {
    let temp = filled().await;
    let (store, _) = temp.open().await;
    assert_eq!(store.database.recover(5).await.unwrap(), None, "a sound database is kept");
    let bytes = fs::metadata(temp.path()).unwrap().len();
    for at in (4_096..bytes - 4_096).step_by(8_192) {
        overwrite(&temp.path(), at, &[0xa5; 4_096]);
    }
    let clone = store.clone();
    let (first, second) = tokio::join!(store.database.recover(6), clone.database.recover(6));
    let moved: Vec<_> = [first.unwrap(), second.unwrap()].into_iter().flatten().collect();
    assert_eq!(moved.len(), 1, "one recovery serves both");
    assert_eq!(file_count(&store).await, 0);
    store.projection.commit(&[file("/new", "t", 1, 1)]).await.unwrap();
    assert_eq!(file_count(&clone).await, 1, "clones see the new database");
}

async fn run(path: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_newer_schema_is_rejected_and_unchanged() {
    let temp = filled().await;
    run(&temp.path(), "PRAGMA user_version = 99").await;
    let before = fs::read(temp.path()).unwrap();
    let error = Store::open(&temp.path(), 1).await.unwrap_err();
    assert_eq!(error.retry_class(), RetryClass::Never);
    assert!(
        matches!(error, StoreError::SchemaTooNew { found: 99, known: SCHEMA_VERSION, .. }),
        "{error}"
    );
    assert_eq!(fs::read(temp.path()).unwrap(), before);
}

#[tokio::test]
async fn the_database_of_another_program_is_moved_not_overwritten() {
    let temp = Temp::new();
    run(&temp.path(), "PRAGMA application_id = 12345; CREATE TABLE theirs (x)").await;
    let (_, opened) = temp.open().await;
    run(&opened.moved_aside.unwrap(), "INSERT INTO theirs VALUES (1)").await;
}

#[tokio::test]
async fn a_missing_folder_or_a_folder_in_place_of_the_file_is_an_access_error() {
    let temp = Temp::new();
    for path in [temp.folder.path().join("no/where.db"), temp.folder.path().to_path_buf()] {
        let error = Store::open(&path, 1).await.unwrap_err();
        assert!(matches!(error, StoreError::Access { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn two_daemons_on_one_file_do_not_lose_a_write() {
    let (temp, one) = Temp::opened().await;
    let (two, _) = temp.open().await;
    let write = |store: Store, base: i64| async move {
        for n in base..base + 50 {
            let given = file(&format!("/{n}"), &format!("t{n}"), n, 3);
            store.projection.commit(&[given]).await.unwrap();
        }
    };
    tokio::join!(write(one.clone(), 0), write(two.clone(), 100));
    assert_eq!(thread_count(&one).await, 100);
    assert_eq!(thread_count(&two).await, 100);
}
