//! Properties of any lines, any split of them and any budget.

use longhaul_core::checkpoint::view::{HEADER, TOKENS_MIN, ViewCaps};
use longhaul_core::context::tokenizer::Tokenizer;
use longhaul_core::fold::Fold;
use longhaul_core::{quote, tokens};
use proptest::prelude::*;
use serde_json::json;

use crate::session::{call, fold, line, message, meta, push, shell, view};

/// A small vocabulary, so that files, commands and names recur.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "(src|lib|docs)/[a-c]{1,2}\\.(rs|md)",
        "(fetch|parse)_[a-d]{1,3}",
        "[A-C][a-d]{2}[A-C][a-d]{2}",
        "#[0-9]{2,3}",
        "[a-z]{1,8}",
        "\\PC{1,6}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..24).prop_map(|words| words.join(" "))
}

/// One or two lines of a transcript.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let id = "c[0-9]{1,2}";
    prop_oneof![
        text().prop_map(|text| vec![message("user", &text)]),
        text().prop_map(|text| vec![message("assistant", &text)]),
        (id, word(), text(), 0..3_i64).prop_map(|(id, path, printed, code)| {
            shell(&id, &format!("cat {path}"), code, &printed).into()
        }),
        (id, word(), text(), 0..2_i64).prop_map(|(id, name, printed, code)| {
            shell(&id, &format!("cd /w && run {name} > out/{name}"), code, &printed).into()
        }),
        (id, word(), text()).prop_map(|(id, path, body)| {
            let patch = format!("*** Begin Patch\n*** Add File: {path}\n+{body}\n*** End Patch");
            call(&id, "apply_patch", &json!({"input": patch}), "Done").into()
        }),
        (id, text()).prop_map(|(id, step)| {
            let plan = json!({"plan": [{"step": step, "status": "in_progress"}]});
            call(&id, "update_plan", &plan, "Plan updated").into()
        }),
        (0..3_u64).prop_map(|turns| {
            let event = json!({"type": "thread_rolled_back", "num_turns": turns});
            vec![line("event_msg", &event)]
        }),
        text().prop_map(|text| vec![line("compacted", &json!({"message": text}))]),
        Just(vec![line("event_msg", &json!({"type": "task_complete"}))]),
        Just(vec![meta()]),
        prop::collection::vec(any::<u8>(), 0..64).prop_map(|noise| vec![noise]),
    ]
}

fn transcript() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(lines(), 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_resumed_fold_is_the_same(lines in transcript(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
        let whole = fold(&lines);
        let mut split = fold(&[]);
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(lines.len() + 1)).collect();
        for (at, line) in lines.iter().enumerate() {
            if cuts.contains(&at) {
                split = Fold::load(&split.save().unwrap()).unwrap();
            }
            push(&mut split, line);
        }
        prop_assert_eq!(whole.next_seq(), lines.len() as u64);
        prop_assert_eq!(whole.save().unwrap(), split.save().unwrap());
        let caps = ViewCaps::default();
        prop_assert_eq!(view(&whole, &caps, 700), view(&split, &caps, 700));
    }

    #[test]
    fn a_view_stays_within_budget_and_keeps_its_form(lines in transcript(), budgets in prop::collection::vec(0..3_000_u64, 4), caps in prop::collection::vec(0..6_usize, 7)) {
        let folded = fold(&lines);
        let caps = ViewCaps {
            max_open_plan_steps: caps[0],
            max_done_plan_steps: caps[1],
            max_decisions: caps[2],
            max_facts_valid: caps[3],
            max_facts_suspect: caps[4],
            max_recent_artifacts: caps[5],
            max_value_chars: caps[6] * 20,
        };
        for budget in budgets.into_iter().chain(0..20) {
            for caps in [&caps, &ViewCaps::default()] {
                let text = view(&folded, caps, budget);
                prop_assert!(tokens::of_text(&text) <= budget);
                prop_assert!(text.is_empty() || text.starts_with(HEADER));
                prop_assert!(!text.is_empty() || budget < TOKENS_MIN);
                let is_cut_off = ["(in progress)", "(the agent spoke last)"]
                    .iter()
                    .any(|mark| text.trim_end().ends_with(mark));
                prop_assert!(!is_cut_off, "no request below its heading: {text}");
                prop_assert!(Tokenizer::O200k.count(&text) <= budget);
                if budget > 400 && let Some(request) = folded.checkpoint().requests.active() {
                    let words = quote::block(&request.text);
                    let text = text.trim_end();
                    // A short answer precedes the request it answers.
                    let answer = text.rsplit_once(" (in answer to: ").map_or(text, |(answer, _)| answer);
                    let is_last = [text, answer].iter().any(|end| end.ends_with(words.trim_end()));
                    prop_assert!(is_last, "{text}");
                }
            }
        }
    }
}
