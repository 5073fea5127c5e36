//! kill -9 between and inside commits.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::sample::{Temp, file};

const CHILD: &str = "LONGHAUL_STORE_CRASH_CHILD";

/// Runs in a child of the test below: commits growing batches until it is killed. Without the
/// variable there is nothing to do.
#[tokio::test]
async fn crash_child() {
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    let (store, _) = longhaul_store::Store::open(path.as_ref(), 1).await.unwrap();
    for items in (64..1_000_000).step_by(64) {
        let files = vec![file("/a", "t1", 1, items), file("/b", "t2", 1, items)];
        store.projection.commit(&files).await.unwrap();
        println!("committed {items}");
    }
}

#[tokio::test]
async fn a_killed_writer_leaves_each_batch_whole_or_absent() {
    for kill_after in [1, 3, 9] {
        let temp = Temp::new();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::crash_child", "--nocapture"])
            .env(CHILD, temp.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let acknowledged: Vec<u64> = lines
            .filter_map(|line| Some(line.split_once("committed ")?.1.trim().parse().unwrap()))
            .take(kill_after)
            .collect();
        child.kill().unwrap();
        child.wait().unwrap();

        let (store, opened) = temp.open().await;
        assert_eq!(opened.moved_aside, None);
        let rows = store.files.after(longhaul_store::FileId(0)).await.unwrap();
        assert_eq!(rows.len(), 2);
        let items = rows[0].head.as_ref().unwrap().items;
        assert!(items >= *acknowledged.last().unwrap(), "a committed batch was lost");
        for row in rows {
            assert_eq!(row.head.unwrap().items, items, "half a batch");
            assert_eq!(row.cursor.offset, items * 100);
            let heads = store.pages.heads(row.file_id, 1).await.unwrap();
            assert_eq!(heads.iter().map(|head| head.items).sum::<u64>(), items);
        }
    }
}
