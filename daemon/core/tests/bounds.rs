//! A hostile transcript does not grow the state.

use longhaul_core::fold::Fold;
use serde_json::json;

use crate::session::{call, fold, message, meta, push, shell};

/// Maximum bytes of a saved fold.
const SAVED_BYTES_MAX: usize = 512 * 1_024;

fn assert_bounded(fold: &Fold, what: &str) {
    let saved = fold.save().unwrap();
    assert!(saved.len() <= SAVED_BYTES_MAX, "{what}: {} bytes", saved.len());
    assert_eq!(Fold::load(&saved).unwrap().save().unwrap(), saved, "{what}");
}

#[test]
fn distinct_names_do_not_accumulate() {
    let mut folded = fold(&[meta()]);
    for n in 0..16_000 {
        let printed = format!("value_number_{n} long/{}/path_{n}.rs", "deep".repeat(n % 40));
        let script = format!("make target-{n} > out/{}{n}.log", "x".repeat(n % 180));
        for line in shell(&format!("c{n}"), &script, (n % 3) as i64, &printed) {
            push(&mut folded, &line);
        }
        let patch = format!(
            "*** Begin Patch\n*** Add File: {}/new{n}.rs\n+fn made_{n}() {{}}\n*** End Patch",
            "folder".repeat(n % 38)
        );
        let id = format!("p{n}{}", "i".repeat(n % 400));
        let lines = call(&id, "apply_patch", &json!({"input": patch}), "Done");
        // Half of the patches are never answered.
        for line in lines.iter().take(1 + n % 2) {
            push(&mut folded, line);
        }
        if n % 1_000 == 0 {
            assert_bounded(&folded, &format!("after {n} rounds"));
        }
    }
    assert_bounded(&folded, "at the end");
}

#[test]
fn long_words_and_plans_do_not_accumulate() {
    let mut folded = fold(&[meta()]);
    let step = json!({"step": "s".repeat(5_000), "status": "pending"});
    for n in 0..200 {
        push(&mut folded, &message("user", &format!("{n} {}", "request ".repeat(4_000))));
        push(&mut folded, &message("assistant", &format!("{n} {}", "answer ".repeat(4_000))));
        let plan = json!({"plan": vec![&step; 80], "n": n});
        for line in call(&format!("c{n}"), "update_plan", &plan, "Plan updated") {
            push(&mut folded, &line);
        }
        let cwd = format!("/{}", "w".repeat(100_000));
        push(&mut folded, &crate::session::line("turn_context", &json!({"cwd": cwd})));
    }
    assert_bounded(&folded, "long words");
}
