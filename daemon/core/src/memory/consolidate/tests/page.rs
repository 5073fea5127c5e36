use super::*;
use crate::memory::agent::{CheckInputs, check};

#[test]
fn a_first_page_has_all_parts_and_whole_lines_in_any_budget() {
    let memories = [memory("a", "/w/a", 0, vec![rule("a", "use tabs", 0)])];
    let note = |number: usize| Note {
        id: format!("n{number}"),
        text: format!("{number} {}", "word".repeat(number % 29)),
        origin: Origin::of_edit(),
        project: None,
        at_ms: NOW,
    };
    let threads = [ExtractedThread { memory: &memories[0], uses: 0, last_used_ms: None }];
    let rest = Rest { notes: (0..60).map(note).collect(), ..Rest::default() };
    let (notes, edits, exclusions) = (&rest.notes, &rest.edits, &rest.exclusions);
    for summary_tokens in 150..700 {
        let bounds = Bounds { summary_tokens, ..Bounds::default() };
        let inputs = Inputs { threads: &threads, notes, edits, exclusions };
        let made = consolidate(&inputs, &bounds, NOW);
        let page = &made.files["memory_summary.md"];
        assert!(crate::tokens::of_text(page) <= summary_tokens);
        for part in ["## User profile\n", "## General tips\n", "## What is in memory\n"] {
            assert!(page.contains(part), "{part} is not in {summary_tokens} tokens: {page}");
        }
        let (_, profile) = page.split_once("## User profile\n\n").unwrap();
        let (profile, _) = profile.split_once("\n\n").unwrap();
        for line in profile.lines() {
            assert!(line.ends_with(')'), "a rule is cut at {summary_tokens} tokens: {line}");
        }
        let on = CheckInputs { draft: &made.files, book: &made.handbook, summary_tokens };
        assert_eq!(check(&made.files, on).as_ref(), Ok(&made.files), "{summary_tokens} tokens");
    }
}

#[test]
fn a_global_rule_repeated_in_two_projects_is_listed_once() {
    let note = |text: &str, project: Option<&str>| Note {
        id: text.into(),
        text: text.into(),
        origin: Origin::of_edit(),
        project: project.map(Into::into),
        at_ms: NOW,
    };
    let (plain, loud) = ("deploy on mondays", "Deploy on Mondays!!");
    let notes = vec![note(plain, None), note(loud, Some("/w/a")), note(loud, Some("/w/b"))];
    let made = build(&[], &Rest { notes, ..Rest::default() });
    let texts: Vec<&str> = made.handbook.profile.iter().map(|e| e.text.as_str()).collect();
    assert_eq!(texts, [plain]);
    let on = CheckInputs { draft: &made.files, book: &made.handbook, summary_tokens: 1_000 };
    assert_eq!(check(&made.files, on).as_ref(), Ok(&made.files));
}
