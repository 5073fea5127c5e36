//! Transcripts that are one JSON document, as written by Codex's first command line.

use std::fs;

use longhaul_core::item::ItemKind;
use serde_json::{Value, json};

use super::rig::{Rig, items, thread};

/// A session of `turns` turns, pretty-printed.
fn document(id: &str, turns: usize) -> String {
    let mut items = Vec::new();
    for turn in 0..turns {
        let text = format!("Please do step {turn}.");
        items.push(json!({
            "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }],
        }));
        items.push(json!({
            "type": "function_call", "id": "fc_1", "call_id": format!("call_{turn}"), "name": "shell",
            "arguments": json!({ "command": ["bash", "-lc", "npm test"], "workdir": "." }).to_string(),
        }));
        items.push(json!({
            "type": "function_call_output", "call_id": format!("call_{turn}"),
            "output": json!({ "output": "ok\n", "metadata": { "exit_code": 0 } }).to_string(),
        }));
    }
    let session = json!({ "timestamp": "2025-04-20T08:00:00.000Z", "id": id, "instructions": "" });
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    format!(
        "{{\n\"session\": {},\n\"items\": {}\n}}",
        pretty(&session),
        pretty(&Value::Array(items))
    )
}

fn name(n: u32) -> String {
    format!("rollout-2025-04-20-{}.json", thread(n))
}

#[tokio::test]
async fn a_document_is_a_thread_and_each_item_a_line() {
    let rig = Rig::new().await;
    let text = document(&thread(1), 40);
    let path = rig.write(&name(1), &text);
    rig.settle().await;
    let row = rig.file(&path).await;
    let head = row.head.clone().unwrap();
    assert_eq!(row.thread_id, Some(thread(1)));
    assert_eq!((head.items, head.malformed, head.unknown), (120, 0, 0));
    assert_eq!(head.title.as_deref(), Some("Please do step 0."));
    assert_eq!(head.created_at_ms, 1_745_136_000_000);
    let rows = items(&rig.store, &row).await;
    assert_eq!(rows[0].kind, ItemKind::UserMessage);
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), (1..=120).collect::<Vec<_>>());
    let fold = rig.ingest.fold(&thread(1)).await.unwrap().unwrap();
    assert_eq!(fold.checkpoint().requests.active().unwrap().text, "Please do step 39.");
    let past = rig.ingest.fold_as_of(&thread(1), 3).await.unwrap().unwrap();
    assert_eq!(past.head().items, 3, "the session is line 0");
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn a_longer_replacement_is_read_on_and_a_torn_one_keeps_what_was_read() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), document(&thread(1), 2));
    rig.settle().await;
    let first = rig.file(&path).await;
    rig.settle().await;
    assert_eq!(rig.file(&path).await.cursor, first.cursor, "nothing was read again");
    let longer = document(&thread(1), 3);
    fs::write(&path, &longer).unwrap();
    rig.settle().await;
    let second = rig.file(&path).await;
    assert_eq!(second.cursor.generation, first.cursor.generation);
    assert_eq!(second.head.as_ref().unwrap().items, 9);
    // The writer is in the middle of its next write.
    fs::write(&path, &longer[..longer.len() - 40]).unwrap();
    rig.settle().await;
    assert_eq!(rig.file(&path).await.cursor, second.cursor);
    let errors = rig.ingest.progress().errors;
    assert!(errors[0].1.contains("not complete"), "{errors:?}");
    fs::write(&path, document(&thread(1), 4)).unwrap();
    rig.settle().await;
    assert_eq!(rig.file(&path).await.head.unwrap().items, 12);
    assert!(rig.ingest.progress().errors.is_empty());
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn a_document_of_another_format_is_empty_and_harmless() {
    let rig = Rig::new().await;
    for (n, text) in ["[]", "5", "not json", "{\"items\": 5}"].into_iter().enumerate() {
        rig.write(&name(u32::try_from(n).unwrap() + 1), text);
    }
    let path = rig.write(&name(9), document(&thread(9), 1));
    rig.settle().await;
    assert_eq!(rig.file(&path).await.head.unwrap().items, 3);
    assert!(rig.ingest.progress().errors.is_empty());
}
