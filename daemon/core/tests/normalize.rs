//! Normalizing makes any cut of any history legal, and is idempotent.

use std::collections::BTreeSet;

use longhaul_core::context::normalize::{Options, normalize};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::corpus;

const PAIRS: [(&str, &str); 7] = [
    ("function_call", "function_call_output"),
    ("local_shell_call", "function_call_output"),
    ("custom_tool_call", "custom_tool_call_output"),
    ("tool_search_call", "tool_search_output"),
    ("shell_call", "shell_call_output"),
    ("apply_patch_call", "apply_patch_call_output"),
    ("computer_call", "computer_call_output"),
];

/// Number of items before and after which a transcript is cut.
const NEAR_THE_END: usize = 24;

/// The keys that pair items. Other fields are not parsed: they may contain text that is valid JSON but not Unicode.
#[derive(Deserialize)]
struct Keys {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    call_id: Option<String>,
    execution: Option<String>,
}

/// Independent of the tested code: every output closes an open call, and none stays open.
fn check_legal(items: &[impl AsRef<str>]) {
    let (mut open, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for text in items {
        let Ok(item) = serde_json::from_str::<Keys>(text.as_ref()) else { continue };
        if let Some(id) = item.id {
            assert!(ids.insert(id.clone()), "{id} occurs twice");
        }
        let named = |output| item.call_id.clone().map(|id| (output, id));
        if let Some((_, output)) = PAIRS.iter().find(|pair| pair.0 == item.kind)
            && let Some(call) = named(*output)
        {
            assert!(open.insert(call.clone()), "{call:?} is open already");
        }
        let Some((_, output)) = PAIRS.iter().find(|pair| pair.1 == item.kind) else { continue };
        let closes = named(*output).is_some_and(|call| open.remove(&call));
        let is_servers = item.kind == "tool_search_output"
            && (item.call_id.is_none() || item.execution.as_deref() == Some("server"));
        assert!(closes || is_servers, "an orphan: {}", text.as_ref());
    }
    assert!(open.is_empty(), "without output: {open:?}");
}

fn check(items: &[&str], options: &Options) {
    let once = normalize(items, options);
    check_legal(&once.items);
    let again: Vec<&str> = once.items.iter().map(AsRef::as_ref).collect();
    let twice = normalize(&again, options);
    assert_eq!(twice.changes, []);
    assert!(again.into_iter().eq(twice.items.iter().map(AsRef::as_ref)));
}

fn item() -> impl Strategy<Value = Value> {
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AA"});
    let id = prop_oneof![Just(Value::Null), (0..4_u8).prop_map(|n| json!(format!("c{n}")))];
    prop_oneof![
        6 => (0..PAIRS.len(), any::<bool>(), id, 0..9_u8).prop_map(move |(pair, is_call, id, extra)| {
            let (call, output) = PAIRS[pair];
            let mut item = json!({"type": if is_call { call } else { output }, "call_id": id});
            match extra {
                0 => item["output"] = json!([image]),
                1 => item["execution"] = json!("server"),
                2 => item["id"] = json!("fc_1"),
                _ => {}
            }
            item
        }),
        2 => (0..5_u8, 0..3_u8).prop_map(|(id, text)| {
            json!({"type": "message", "role": "user", "id": format!("m{id}"), "content": [{"type": "input_text", "text": text}]})
        }),
        1 => Just(json!({"type": "image_generation_call", "id": "ig", "result": "AA"})),
        1 => Just(json!({"type": "ghost_snapshot"})),
        1 => Just(json!(["no object"])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_items_become_valid(items in prop::collection::vec(item(), 0..24), without_images: bool, remove in prop::collection::vec(0..30_usize, 0..3)) {
        let texts: Vec<String> = items.iter().map(Value::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        check(&texts, &Options { without_images, ..Options::default() });
        let removed = normalize(&texts, &Options { remove, ..Options::default() });
        check_legal(&removed.items);
    }
}

#[test]
fn any_cut_of_a_real_history_becomes_valid() {
    let (mut files, mut cuts) = (0, 0);
    for file in corpus::files() {
        let bytes = std::fs::read(&file).unwrap();
        let items = corpus::items(corpus::source(&file), &bytes);
        let texts: Vec<&str> = items.iter().map(String::as_str).collect();
        // All cuts of a long history would take quadratic time: try sixty-four evenly spread ones and those near the end.
        let step = (texts.len() / 8).max(1);
        for first in (0..=texts.len()).step_by(step) {
            for end in (first..=texts.len()).step_by(step) {
                for without_images in [false, true] {
                    check(&texts[first..end], &Options { without_images, ..Options::default() });
                }
                cuts += 1;
            }
        }
        for at in texts.len().saturating_sub(NEAR_THE_END)..texts.len() {
            check(&texts[at..], &Options::default());
            check(&texts[..at], &Options::default());
            cuts += 2;
        }
        files += usize::from(!items.is_empty());
    }
    println!("{cuts} cuts of {files} transcripts");
}
