use super::*;

/// Headings, texts and strengths of what was read of a document.
fn read(briefing: &Briefing) -> Vec<(&str, &str, u16)> {
    let lines = briefing.documents.iter();
    lines.map(|line| (&*line.heading, &*line.text, line.strength)).collect()
}

const STORY: &str = "# Story 1\n\nStatus: review\n\n## Completion Notes\n\n- [Review 3 - 2026-02-04] Nothing critical was found.\n- [Review 2 - 2026-02-04] One critical problem was found.\n- [Review - 2026-02-04] Two critical problems were found.\n- The workspace of the lexer was made.\n";

#[test]
fn a_part_that_is_read_again_keeps_its_heading() {
    let mut briefing = thread();
    briefing.record_read(20, "story.md", STORY);
    let before: Vec<String> = read(&briefing).iter().map(|line| format!("{line:?}")).collect();
    let part = "    9\t- [Review - 2026-02-04] Two critical problems were found.\n   10\t- The workspace of the lexer was made.\n   11\t- A part that was not read before.\n";
    briefing.record_read(30, "story.md", part);
    let after = read(&briefing);
    for line in before {
        assert!(after.iter().any(|known| format!("{known:?}") == line), "{line}: {after:?}");
    }
    assert_eq!(after.len(), 6, "{after:?}");
    assert!(after.iter().all(|(heading, ..)| !heading.is_empty()), "{after:?}");
}

#[test]
fn of_dated_entries_the_newest_is_the_strongest() {
    let newest_last = "## Log\n- 2026-02-01: The lexer was begun by us.\n- 2026-02-03: The lexer was made to work.\n";
    for (text, newest) in [(STORY, "[Review 3"), (newest_last, "2026-02-03")] {
        let mut briefing = thread();
        briefing.record_read(20, "story.md", text);
        let dated = read(&briefing).into_iter().filter(|(_, text, _)| text.contains("2026-02"));
        let (new, old): (Vec<_>, Vec<_>) = dated.partition(|(_, text, _)| text.contains(newest));
        let most = old.iter().map(|(.., strength)| *strength).max();
        assert!(new.len() == 1 && most.is_some_and(|most| most < new[0].2), "{new:?} {old:?}");
    }
}

#[test]
fn what_an_edit_parted_is_not_quoted_as_one() {
    for (parted, is_shown) in [(vec![("lexer = \"1\"", "[dev]")], false), (vec![], true)] {
        let mut briefing = thread();
        briefing.record_read(20, "Cargo.toml", "[deps]\nlexer = \"1\"\n[dev]\ntables = \"2\"\n");
        let parted = parted.into_iter().map(|(one, next)| (one.to_owned(), next.to_owned()));
        let edit = FileEdit {
            path: "Cargo.toml".to_owned(),
            added: "parser = \"3\"\n".to_owned(),
            counts: LineCounts { added: 1, removed: 0 },
            parted: parted.collect(),
            ..FileEdit::default()
        };
        briefing.record_edit(21, &edit);
        let has_old =
            read(&briefing).iter().any(|(_, text, _)| text.contains("lexer = \"1\" [dev]"));
        assert_eq!(has_old, is_shown);
    }
}

#[test]
fn an_agents_report_in_its_wrapper_is_unescaped() {
    let report = "It reads s &lt;= 0x1f &amp;&amp; s &gt; 0x7f as one.";
    for (report, expected) in [
        (
            format!("<task-notification>\n<result>{report}</result>\n</task-notification>"),
            "s <= 0x1f && s > 0x7f",
        ),
        (report.to_owned(), "s &lt;= 0x1f &amp;&amp;"),
    ] {
        let mut briefing = thread();
        briefing.record_agent_report(20, &report, None);
        let text = view_of(&briefing, 4_000);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn the_orders_of_a_workflow_are_rules_until_its_next_step_is_read() {
    let mut briefing = thread();
    let step = |part: &str| {
        format!(
            "# Step\n\n- You MUST read the {part} before you write.\n- Compare each {part} with the plan.\n\n\
             ```\nYou MUST choose one of these.\n```\n"
        )
    };
    for (seq, path) in [
        (19, "_bmad/workflows/check/workflow.md"),
        (20, "_bmad/workflows/check/step-01-find.md"),
        (21, "_bmad/workflows/check/step-02-compare.md"),
        (22, "docs/step-03-notes.md"),
    ] {
        briefing.record_read(seq, path, &step(path.rsplit('/').next().unwrap()));
    }
    let quotes = quotes(&briefing, 4_000);
    let weight = |name: &str| {
        let of = |kind| quotes.iter().find(|it| it.kind == kind && it.text.contains(name));
        let weight = |kind| of(kind).map_or(0.0, |quote| quote.weight);
        (weight(kinds::EvidenceKind::Rule), weight(kinds::EvidenceKind::Document))
    };
    let (old, new, other) = (weight("step-01"), weight("step-02"), weight("step-03"));
    assert!(old.0 == 0.0 && new.0 > weight("workflow.md").0, "{old:?} {new:?}");
    assert!(weight("workflow.md").0 > 0.0 && other.0 == 0.0, "{other:?}");
    let rules = quotes.iter().filter(|it| it.kind == kinds::EvidenceKind::Rule);
    assert!(!rules.map(|it| &it.text).any(|text| text.contains("MUST choose")), "a text to show");
    assert!(old.1 == 0.0 && new.1 > 0.0 && other.1 > 0.0, "{old:?} {new:?} {other:?}");
}

#[test]
fn what_a_workflow_in_xml_says_to_do_is_quoted_but_not_what_it_shows() {
    let text = "<step n=\"4\" goal=\"Present\">\n  <critical>You MUST read each finding twice</critical>\n  <output>**{name}, see these:**\n    - Some findings --> some files\n    - Other findings of the review\n  </output>\n  <action>For each finding: `- [ ] [Weight] What to do [file:line]`</action>\n</step>\n";
    for (path, is_quoted) in
        [("_flow/workflows/review/instructions.xml", true), ("_flow/tasks/workflow.xml", false)]
    {
        let mut briefing = thread();
        briefing.record_read(20, path, text);
        let texts: Vec<&str> = read(&briefing).into_iter().map(|(_, text, _)| text).collect();
        let order = "For each finding: `- [ ] [Weight] What to do [file:line]`";
        assert_eq!(texts, vec![order; usize::from(is_quoted)], "{path}");
        let rules: Vec<&str> = briefing.rules.iter().map(|rule| rule.text.as_str()).collect();
        assert_eq!(rules, ["You MUST read each finding twice"], "{path}");
    }
}

#[test]
fn what_was_read_from_a_file_that_changed_since_is_marked() {
    let mut briefing = thread();
    briefing.record_read(
        20,
        "docs/lexer.md",
        "# The lexer\n\nThe lexer must never allocate a string.\n",
    );
    briefing.record_output(
        21,
        "src/lexer.rs",
        "const STRINGS_MAX: usize = 30;\nfn read() {}\n",
        None,
    );
    calls(&mut briefing, 22, "c9", "ls");
    let outdated = vec!["docs/lexer.md".to_owned(), "src/lexer.rs".to_owned()];
    let marked = render(&briefing, &HostFacts { outdated, ..HostFacts::default() }, 4_000);
    for path in ["docs/lexer.md", "src/lexer.rs"] {
        assert!(marked.contains(&format!("{path} (changed on disk since)")), "{marked}");
    }
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("never allocate") && !text.contains("changed on disk"), "{text}");
}

#[test]
fn instructions_of_a_tool_count_until_the_agent_goes_on_from_them() {
    let mut briefing = thread();
    let path = "/home/u/.codex/plugins/commit/branch.md";
    let weight = |briefing: &Briefing| weight_of(briefing, "stale commits");
    calls(&mut briefing, 20, "c8", "cat branch.md");
    briefing.record_read(21, path, "# Branches\n\nThe local base may have stale commits.\n");
    let unread = weight(&briefing);
    calls(&mut briefing, 22, "c9", "git fetch");
    assert!(unread > 10.0 * weight(&briefing), "{unread} {}", weight(&briefing));
}

#[test]
fn a_printed_diff_says_what_others_changed() {
    let mut briefing = begun("What changed in the lexer?");
    briefing.record_edit(2, &edit_of("src/own.rs", "fn own() {}\n", ""));
    let file = |path: &str, added: &str| {
        format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n-old\n{added}"
        )
    };
    let diff =
        file("PLAN.md", "+# Strings\n+- A string ends at its line, because no word has two.\n")
            + &file("src/lexer.rs", "+fn end_string(&mut self) {\n")
            + &file("CONTRIBUTING.md", "+You must always push to main.\n")
            + &file("src/own.rs", "+fn own_again() {}\n");
    briefing.record_diff(3, &diff);
    let text = view_of(&briefing, 2_000);
    assert!(
        text.contains("[DOCUMENTS] lines chosen from what was read\nPLAN.md:\n Strings:\n"),
        "{text}"
    );
    assert!(text.contains("A string ends at its line, because no word has two."), "{text}");
    assert!(text.contains("src/lexer.rs:\n in a diff:\n fn end_string(&mut self) {"), "{text}");
    // Whoever wrote the diff chose the path.
    assert!(text.contains("CONTRIBUTING.md:\n You must always push") && !text.contains("[RULES]"));
    assert!(!text.contains("own_again") && !text.contains("- old"), "{text}");
}
