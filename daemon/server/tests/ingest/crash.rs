//! SIGKILL during ingestion.

use std::process::{Command, Stdio};
use std::time::Duration;

use longhaul_daemon::ingest::Limits;
use longhaul_store::Store;

use crate::rig::{Rig, WAIT, limits, name, session, thread, turn_of};

const CHILD: &str = "LONGHAUL_INGEST_CRASH_CHILD";

/// Runs in a child of the test below and ingests until it is killed. Without the variable it does nothing.
#[tokio::test]
async fn crash_child() {
    let Ok(folder) = std::env::var(CHILD) else {
        return;
    };
    let roots = longhaul_daemon::ingest::Root::of(
        longhaul_core::fold::Source::Codex,
        &std::path::Path::new(&folder).join("home"),
    );
    let (store, _) =
        Store::open(&std::path::Path::new(&folder).join("longhaul.db"), 1).await.unwrap();
    let ingest = crate::rig::ingest(store, roots, small());
    ingest.settle(WAIT).await.unwrap();
    std::future::pending::<()>().await;
}

fn small() -> Limits {
    Limits { batch_bytes: 1 << 10, ..limits() }
}

#[tokio::test]
async fn a_kill_at_any_time_leads_to_the_same_final_state() {
    let rig = Rig::new().await;
    rig.ingest.stop().await;
    let base = session(&thread(1), 300);
    rig.write(&name(1), &base);
    let more = format!(
        ",\"history_base\":{{\"thread_id\":\"{}\",\"end_ordinal_exclusive\":100}}",
        thread(1)
    );
    let mut fork = crate::rig::meta(&thread(2), &more);
    (0..200).for_each(|turn| fork.push_str(&turn_of("t", turn)));
    rig.write(&name(2), fork.trim_end());
    rig.write(
        &format!("{}.zst", name(3)),
        zstd::encode_all(session(&thread(3), 200).as_bytes(), 3).unwrap(),
    );
    rig.store.database.close().await;

    let (mut last, mut kills) = (0, 0);
    loop {
        let folder = rig.folder.path();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::crash_child"])
            .env(CHILD, folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Killed as soon as a little more than last time is stored.
        let (store, _) = Store::open(&folder.join("longhaul.db"), 1).await.unwrap();
        let seen = async {
            loop {
                let files = store.files.after(longhaul_store::FileId(0)).await.unwrap();
                let stored: u64 = files.iter().map(|file| file.cursor.offset).sum();
                let is_done = files.len() == 3 && files.iter().all(|file| file.stat.size > 0);
                if is_done || stored > last {
                    break (stored, is_done);
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let (stored, is_done) = tokio::time::timeout(WAIT, seen).await.unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        store.database.close().await;
        last = stored;
        kills += 1;
        if is_done {
            break;
        }
    }
    assert!(kills >= 2, "it was never killed in between");
    let rig = Rig::over(rig.folder, small()).await;
    rig.settle().await;
    rig.assert_same_from_scratch().await;
}
