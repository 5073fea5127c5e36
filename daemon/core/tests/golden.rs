//! The exact view of one session. `UPDATE_GOLDEN=1` overwrites the files with the current views.

use longhaul_core::checkpoint::view::ViewCaps;

use crate::session::{everything, fold, view};

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
