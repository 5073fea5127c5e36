//! All kinds of lines.

use super::rig::{Rig, append, items, meta, name, session, thread, turn_of};

/// Ingests `text` and returns (lines, malformed, oversized, items, bytes not folded).
async fn check(text: &[u8], expected: (u64, u64, u64, usize, u64)) {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), text);
    rig.settle().await;
    let row = rig.file(&path).await;
    let head = row.head.clone().unwrap();
    let counted = (
        head.lines,
        head.malformed,
        head.oversized,
        items(&rig.store, &row).await.len(),
        text.len() as u64 - row.cursor.offset,
    );
    let shown = String::from_utf8_lossy(&text[..text.len().min(300)]);
    assert_eq!(counted, expected, "{shown}");
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn every_kind_of_line_is_counted_and_none_ends_the_file() {
    let plain = session("t", 2);
    let torn = format!("{plain}{}", r#"{"type":"response_item","payl"#);
    let whole = plain.trim_end().to_owned();
    let noise =
        format!("{}not json\n\n   \n{}\n\u{0}\u{0}\n{}", meta("t", ""), "[1,2]", turn_of("t", 0));
    let mut invalid_utf8 = plain.clone().into_bytes();
    invalid_utf8.splice(50..50, [0xff, 0xfe]);
    let crlf = plain.replace('\n', "\r\n");
    let huge = format!(
        "{}{{\"type\":\"response_item\",\"payload\":\"{}\"}}\n{}",
        meta("t", ""),
        "x".repeat(300_000),
        turn_of("t", 1)
    );

    check(plain.as_bytes(), (7, 0, 0, 6, 0)).await;
    check(torn.as_bytes(), (7, 0, 0, 6, 29)).await;
    check(whole.as_bytes(), (7, 0, 0, 6, 0)).await;
    check(format!("{plain}\0\0\0\0").as_bytes(), (7, 0, 0, 6, 4)).await;
    check(format!("\u{feff}{plain}").as_bytes(), (7, 0, 0, 6, 0)).await;
    check(crlf.as_bytes(), (7, 0, 0, 6, 0)).await;
    check(huge.as_bytes(), (5, 0, 1, 4, 0)).await;

    let rig = Rig::new().await;
    let empty = rig.write(&name(3), "");
    let noisy = rig.write(&name(1), noise);
    let broken = rig.write(&name(2), invalid_utf8);
    rig.settle().await;
    let empty = rig.store.files.by_path(empty.to_str().unwrap()).await.unwrap();
    assert!(empty.is_none(), "an empty file is no transcript");
    assert_eq!(rig.file(&noisy).await.head.unwrap().lines, 7);
    assert_eq!(rig.file(&broken).await.head.unwrap().lines, 7);
    assert_eq!(rig.file(&broken).await.thread_id.unwrap(), thread(2), "named by its file");
}

#[tokio::test]
async fn a_file_that_grows_byte_by_byte_ends_in_the_state_of_one_read() {
    let rig = Rig::new().await;
    let text = format!(
        "{}{{\"broken\n\n{}",
        session(&thread(1), 3),
        turn_of("t", 9).replace('\n', "\r\n")
    );
    let path = rig.write(&name(1), "");
    rig.settle().await;
    // Every cut near a line's end, and some inside.
    let mut at = 0;
    for (end, byte) in text.bytes().enumerate() {
        if byte == b'\n' || byte == b'}' || byte == b'\r' || end % 97 == 0 || end + 1 == text.len()
        {
            append(&path, &text.as_bytes()[at..=end]);
            at = end + 1;
            rig.settle().await;
        }
    }
    let row = rig.file(&path).await;
    assert_eq!(row.cursor.offset, text.len() as u64);
    assert_eq!(row.cursor.generation, 1, "an append was taken for a rewrite");
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn a_line_continued_after_a_complete_object_is_read_again() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 1).trim_end());
    rig.settle().await;
    assert!(rig.file(&path).await.cursor.open_end);
    append(&path, "{\"second\":1}\n");
    rig.settle().await;
    assert_eq!(rig.file(&path).await.cursor.generation, 2);
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn a_file_with_several_meta_lines_is_one_thread() {
    let rig = Rig::new().await;
    let text = format!("{}{}{}", session(&thread(1), 1), meta(&thread(1), ""), turn_of("t", 1));
    let path = rig.write(&name(1), text);
    rig.settle().await;
    let row = rig.file(&path).await;
    assert_eq!(row.thread_id, Some(thread(1)));
    assert_eq!(row.head.unwrap().items, 6);
}
