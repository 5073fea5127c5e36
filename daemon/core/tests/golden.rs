//! The exact view of one session. `UPDATE_GOLDEN=1` overwrites the files with the current views.

use longhaul_core::checkpoint::view::ViewCaps;

use serde_json::json;

use crate::session::{self, everything, fold, view};

pub(crate) fn check(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap_or_default(), "{path}");
}

#[test]
fn views_match_the_golden_files() {
    let fold = fold(&everything());
    check("view_1000", &view(&fold, &ViewCaps::default(), 1_000));
    check("view_150", &view(&fold, &ViewCaps::default(), 150));
}

#[test]
fn caps_bound_their_lists() {
    let fold = fold(&everything());
    let caps = ViewCaps {
        max_open_plan_steps: 1,
        max_done_plan_steps: 0,
        max_recent_artifacts: 1,
        max_value_chars: 8,
        ..ViewCaps::default()
    };
    let text = view(&fold, &caps, 4_000);
    check("view_capped", &text);
    let plan = text.split("[PLAN]\n").nth(1).unwrap();
    assert_eq!(plan.lines().take_while(|line| !line.starts_with("[N")).count(), 1);
}

/// Calls with long arguments look alike when cut, yet each was another look at the page.
#[test]
fn a_view_shows_what_a_tool_server_answered() {
    let script = format!("(() => {{ const box = document.querySelector('{}')", "x".repeat(120));
    let look = |id: &str, end: &str, answer: &str| {
        session::call(
            id,
            "mcp__browser__evaluate",
            &json!({"text": format!("{script}; {end}")}),
            answer,
        )
    };
    let mut lines =
        vec![session::meta(), session::message("user", "Check the tabs of the editor.")];
    lines.extend(look("c1", "yaml.click()", r#"{"active":"yaml","keptEdit":true}"#));
    lines.extend(look("c2", "json.click()", r#"{"active":"json","errors":["bad key"]}"#));
    lines.extend(session::call(
        "c3",
        "mcp__longhaul__memory_search",
        &json!({"q": "tabs"}),
        "our own memory",
    ));
    let text = view(&fold(&lines), &ViewCaps::default(), 2_000);
    for answer in ["\"active\":\"yaml\"", "\"bad key\""] {
        assert!(text.contains(answer), "{answer}: {text}");
    }
    assert!(!text.contains("our own memory"), "{text}");
}
