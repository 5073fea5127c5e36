//! Lines that are left out are marked where a reader would take the rest for all of it.

use std::borrow::Cow;

use super::super::kinds::EvidenceKind;
use super::super::{lines, write};
use super::*;

/// What a view shows of a report if only the lines that contain one of `words` are chosen.
fn shown(report: &str, words: &[&str]) -> String {
    let mut quotes: Vec<Quote<'_>> = Vec::new();
    lines::split(report, |line| {
        if let Some(last) = quotes.last_mut().filter(|last| last.heading == line.heading) {
            last.spot.goes_on = true;
        }
        let order = (7, u64::from(line.spot.at));
        let quote = Quote::new(EvidenceKind::Report, order, 1.0, Cow::Borrowed(line.text));
        let (group, heading) = (Cow::Borrowed("turn 1"), Cow::Owned(line.label()));
        quotes.push(Quote { group, heading, spot: line.spot, ..quote });
    });
    let chosen = quotes.iter().filter(|quote| words.iter().any(|word| quote.text.contains(word)));
    let mut out = String::new();
    write::write(&mut out, chosen.collect(), &HostFacts::default(), 0);
    out.lines().skip(2).map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn left_out_lines_of_a_list_a_table_or_a_section_are_marked() {
    let list = "It went so.\n\n## Steps\n- one is a\n- two is b\n- three is c\n- four is d\n\n## Then\n- five is e\n";
    let table = "## Cover\n| FR1 | yes |\n| FR2 | yes |\n| FR3 | no |\n";
    let prose = "The lexer is quick.\nThe parser is not.\nThe printer is.\n";
    let nested = "## Found\n1. Story five waits for seven → move it\n   - seen in 5.1\n   - move the editor\n2. Story two waits for seven → move that\n   - seen in 2.1\n";
    let long = "- `src/lexer.rs`: a comment inside of a string is kept now, also where the string is the last one of its line or of the whole file, with tests:\n  - of one line\n  - of several\n";
    let sections = "## Epic 1\nFiles:\n- a.md\n\n## Epic 2\nFiles:\n- b.md\n";
    for (report, words, expected) in [
        (
            list,
            &["one", "two", "three", "four"][..],
            "Steps:\n- one is a\n- two is b\n- three is c\n- four is d\n",
        ),
        (list, &["two", "three"], "Steps: […]\n- two is b\n- three is c […]\n"),
        (
            list,
            &["one", "four", "five"],
            "Steps:\n- one is a […]\n- four is d\nThen:\n- five is e\n",
        ),
        (table, &["FR1", "FR3"], "Cover:\n| FR1 | yes | […]\n| FR3 | no |\n"),
        (prose, &["lexer", "printer"], "The lexer is quick. […]\nThe printer is.\n"),
        (prose, &["lexer"], "The lexer is quick.\n"),
        (
            nested,
            &["Story", "seen", "move"],
            "Found:\n1. Story five waits for seven → move it\nseen in 5.1\nmove the editor\n2. Story two waits for seven → move that\nseen in 2.1\n",
        ),
        (
            nested,
            &["editor", "seen in 2.1"],
            "Found › 1. Story five waits for seven → move it: […]\nmove the editor\n2. Story two waits for seven → move that:\nseen in 2.1\n",
        ),
        (long, &["lexer", "of"], &long.replace("  ", "")),
        (sections, &["a.md", "b.md"], "Epic 1 › Files:\na.md\nEpic 2 › Files:\nb.md\n"),
    ] {
        let expected = expected.replace("- ", "");
        assert_eq!(shown(report, words), expected, "{words:?} of\n{report}");
    }
}

#[test]
fn a_short_block_of_code_is_shown_whole_or_not_at_all() {
    for (lines, is_whole) in [(4, true), (20, false)] {
        let mut briefing = thread();
        let code: String = (0..lines).map(|n| format!("if kind == {n}:\n")).collect();
        let text = format!("# Export\n\n```sh\nexport LEXER_MODE=quick\n{code}```\n");
        briefing.record_read(20, "docs/export.md", &text);
        for tokens in [260, 320, 400, 800, 4_000] {
            let text = view_of(&briefing, tokens);
            let shown = text.matches("if kind ==").count();
            let is_complete = shown == lines && text.contains("LEXER_MODE");
            assert!(!is_whole || shown == 0 || is_complete, "{tokens}: {text}");
        }
    }
}

#[test]
fn prompts_for_several_agents_are_told_apart() {
    let mut briefing = thread();
    for seq in [20, 22] {
        let prompt =
            format!("- Read the lexer of part {seq} first.\n- Then write what part {seq} lacks.");
        briefing.record_prompt(seq, "told another agent", &prompt, None);
    }
    let text = view_of(&briefing, 4_000);
    for seq in [20, 22] {
        let expected =
            format!(" told another agent (#{seq}):\n Read the lexer of part {seq} first.\n");
        assert!(text.contains(&expected), "{text}");
    }
}
