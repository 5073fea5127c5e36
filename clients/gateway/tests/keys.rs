//! Keys: on their way to the provider, and nowhere else.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::compact::{THREAD, daemon, request};
use crate::desk::Desk;
use crate::provider::{Provider, answer, post};

const KEY: &str = "sk-proj-the-key-of-this-test-0123456789";
const WORDS: &str = "words of the person that are nobody's business";

fn holds(path: &Path, wanted: &str) -> bool {
    let holds = |bytes: &[u8]| bytes.windows(wanted.len()).any(|it| it == wanted.as_bytes());
    match fs::read_dir(path) {
        Ok(folder) => folder.flatten().any(|entry| self::holds(&entry.path(), wanted)),
        // A socket cannot be read.
        Err(_) => holds(&fs::read(path).unwrap_or_default()),
    }
}

#[test]
fn a_key_is_in_no_file_and_no_log() {
    // Through every way a request can take: answered, passed, refused, broken.
    let provider = Provider::saying(answer("401 Unauthorized", "", &format!("bad key {KEY}")));
    let desk = Desk::with_daemon(&provider.url(), daemon());
    let bearer = format!("Bearer {KEY}");
    let headers = [("authorization", bearer.as_str()), ("thread-id", THREAD), ("cookie", KEY)];
    let body =
        json!({ "input": [{ "role": "user", "content": WORDS }], "stream": true }).to_string();
    desk.send(&post(&desk.path("/responses"), &headers, body.as_bytes()));
    desk.send(&post(&desk.path(&format!("/responses?key={KEY}")), &headers, b"{broken"));
    desk.send(&post(&desk.path("/other"), &headers, WORDS.as_bytes()));
    desk.send(&post("/nowhere", &headers, WORDS.as_bytes()));
    let output = json!({ "type": "function_call_output", "call_id": "call_9", "output": WORDS });
    desk.send(&request(&desk, &json!([output, { "type": "compaction_trigger" }])));
    assert!(provider.received()[0].header("authorization") == Some(&bearer), "it does get there");
    let status = serde_json::to_string(&desk.status()).unwrap();
    let (printed, folder) = desk.end();
    for wanted in [KEY, WORDS] {
        assert!(!printed.contains(wanted), "{printed}");
        assert!(!status.contains(wanted), "{status}");
        assert!(!holds(folder.path(), wanted), "in a file");
    }
    assert!(holds(folder.path(), "routes"), "files are looked into");
    let away = Desk::new("http://127.0.0.1:1/v1");
    away.send(&post(&away.path(&format!("/responses?key={KEY}")), &headers, b"{}"));
    let (printed, folder) = away.end();
    assert!(!printed.contains(KEY) && !holds(folder.path(), KEY), "{printed}");
}
