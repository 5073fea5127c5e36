use super::*;
use crate::rollout::patch::{FileOp, Op};
use crate::step::{At, Change, Step};

fn patch_of_docs(briefing: &mut Briefing, seq: u64, added: &str) {
    briefing.refused = Some((seq, edit_of("docs.md", added, "## Sample\n")));
}

#[test]
fn a_refused_edit_is_shown_until_its_file_is_edited() {
    let mut briefing = thread();
    patch_of_docs(&mut briefing, 12, "## Sample\n## Examples\n### Lexer\n");
    let words = "#12 was refused; it would have added to docs.md: ## Examples ### Lexer";
    assert!(view_of(&briefing, 4_000).contains(words), "{}", view_of(&briefing, 4_000));
    edits(&mut briefing, 13, "other.md", "One more line here.\n", "");
    assert!(view_of(&briefing, 4_000).contains(words));
    edits(&mut briefing, 14, "docs.md", "## Examples\n", "## Sample\n");
    assert!(!view_of(&briefing, 4_000).contains("was refused"));
}

#[test]
fn a_small_edit_is_shown_with_what_it_replaced_until_edited_again() {
    let mut briefing = thread();
    edits(
        &mut briefing,
        12,
        "PLAN.md",
        "- Pages hold 20 items each\n",
        "- Pages hold 10 items each\n",
    );
    edits(&mut briefing, 13, "PLAN.md", "", "- Nobody may sort the pages\n");
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("- Pages hold 20 items each (was: Pages hold 10 items each)"), "{text}");
    assert!(text.contains("removed: - Nobody may sort the pages"), "{text}");
    edits(
        &mut briefing,
        14,
        "PLAN.md",
        "- Nobody may sort the pages\n",
        "- Pages hold 20 items each\n",
    );
    let text = view_of(&briefing, 4_000);
    assert!(!text.contains("(was: Pages") && !text.contains("removed:"), "{text}");
}

#[test]
fn output_of_a_running_command_and_empty_search_results_are_shown() {
    let mut briefing = thread();
    briefing.record_call(running(20, "a", "git commit -m lexer"), None);
    briefing.mark_running("a", None, "Running checks on 5 files...\n");
    briefing.record_call(running(20, "b", "git diff PLAN.md"), None);
    briefing.take_running("b");
    let run = ran("git", (21, "git diff PLAN.md"), 0, "");
    briefing.record_command(CommandRun { call_id: "b", is_look: true, ..run }, None);
    let text = view_of(&briefing, 2_000);
    let state = "running at the last look: #20 git commit -m lexer; printed so far: Running checks";
    assert!(text.contains(state), "{text}");
    assert!(text.contains("git diff PLAN.md → exit 0, printed nothing"), "{text}");
}

#[test]
fn changed_files_without_a_line_are_named() {
    let briefing = begun("Plant the trees.");
    let file =
        |n: u32| ChangedFile { path: format!("garden/bed_{n}.rs"), words: "edited 2x".to_owned() };
    let host = || HostFacts { files: (0..500).map(file).collect(), ..HostFacts::default() };
    let text = render(&briefing, &host(), 4_000);
    assert!(text.contains("\nalso edited: garden/bed_"), "{text}");
    assert!(!render(&briefing, &host(), 2_000).contains("\nalso "), "a small view has no room");
}

#[test]
fn lines_of_each_edited_file_come_before_what_was_read() {
    let mut briefing = begun("Make the templates ask for tests.");
    let words = ["engine", "backtest", "monitoring", "database", "strategy", "dashboard"];
    let guide: String = (0..60)
        .map(|n| format!("- The {} of part {n} keeps ledger {n}a apart.\n", words[n % 6]))
        .collect();
    briefing.record_read(2, "README.md", &guide);
    for (seq, name) in [(3, "spec"), (4, "tasks"), (5, "plan")] {
        let added = format!("- Each story of the {name} names a suite that fails first.\n");
        edits(&mut briefing, seq, &format!("templates/{name}.md"), &added, "");
    }
    let text = view_of(&briefing, 500);
    for name in ["spec", "tasks", "plan"] {
        assert!(text.contains(&format!("story of the {name} names")), "{text}");
    }
}

#[test]
fn lines_that_several_edits_add_below_one_heading_stand_together() {
    let mut briefing = begun("Note what holds.");
    for (seq, rule) in [(2, "lexer"), (4, "printer")] {
        let rules = format!("## Rules\n- Keep the {rule} free of states, since it is shared.\n");
        let people = format!("## People\n- Ann owns the {rule} and reviews each change of it.\n");
        briefing.record_edit(seq, &edit_of("notes.md", &rules, ""));
        briefing.record_edit(seq + 1, &edit_of("notes.md", &people, ""));
    }
    let text = view_of(&briefing, 4_000);
    let lines = text.lines().skip_while(|line| *line != "notes.md:").skip(1).take(6);
    let expected = [
        " Rules:",
        " - Keep the lexer free of states, since it is shared.",
        " - Keep the printer free of states, since it is shared.",
        " People:",
        " - Ann owns the lexer and reviews each change of it.",
        " - Ann owns the printer and reviews each change of it.",
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn what_a_command_made_of_a_file_is_known_once_all_of_it_was_read() {
    let unknown = ", a command may have changed it since";
    for (script, printed, counts) in [
        ("cat PLAN.md", "a\nb\nc\n", "written whole (3 lines)"),
        ("cd /w && nl -ba PLAN.md", "1 a\n2 b\n", "written whole (2 lines)"),
        ("cat PLAN.md", "a\n…9 tokens truncated…\nc\n", unknown),
        ("cat PLAN.md | head -3", "a\nb\nc\n", unknown),
        ("sed -n 1,3p PLAN.md", "a\nb\nc\n", unknown),
    ] {
        let mut briefing = thread();
        let whole = FileEdit { is_whole: true, ..edit_of("PLAN.md", "a\n", "") };
        briefing.record_edit(12, &whole);
        briefing.effects.outdate("PLAN.md");
        briefing.record_shown(ran("cat", (14, script), 0, printed), "PLAN.md");
        let shown = briefing.effects.of("PLAN.md").unwrap().counts();
        assert!(shown.ends_with(counts), "{script}: {shown}");
    }
}

#[test]
fn edits_after_the_newest_commit_and_the_last_check_are_named() {
    let commit = ("git commit -m x", "[main 1926682b] feat: the lexer\n");
    let status = ("git status --short", " M src/lexer.rs\n");
    let lint = ("cargo clippy", "");
    let edited = " (edited after it: src/lexer.rs)";
    let unchecked = "; no check seen since the last edit";
    for (before, after, commit_says, census_says) in [
        (&[lint, commit][..], &[][..], edited, unchecked),
        (&[commit], &[status, lint], "", ""),
        (&[commit], &[lint], edited, ""),
        (&[commit], &[], edited, ""),
    ] {
        let mut briefing = begun("Write the lexer.");
        for (seq, (script, printed)) in (2..).zip(before) {
            let program = script.split(' ').next().unwrap();
            briefing.record_command(ran(program, (seq, script), 0, printed), None);
        }
        edits(&mut briefing, 10, "src/lexer.rs", "pub mod lexer_of_strings;\n", "");
        for (seq, (script, printed)) in (11..).zip(after) {
            let program = script.split(' ').next().unwrap();
            briefing.record_command(ran(program, (seq, script), 0, printed), None);
        }
        let text = view_of(&briefing, 4_000);
        let shown = format!("feat: the lexer (newest commit){commit_says}\n");
        assert!(text.contains(&shown), "{text}");
        assert_eq!(text.contains(unchecked), !census_says.is_empty(), "{text}");
    }
}

#[test]
fn a_removed_function_that_a_report_names_is_said_to_be_gone() {
    let mut briefing = thread();
    briefing.hold_words(20, "Done: `read_all_words` and its tests are there.");
    briefing.begin_turn(21, "Make one function of them.", None);
    let removed = "fn read_all_words(&self) {\nfn read_others(&self) {\n";
    edits(&mut briefing, 22, "src/words.rs", "fn read_words(&self) {\n", removed);
    let words = "edited".to_owned();
    let files = vec![ChangedFile { path: "src/words.rs".to_owned(), words }];
    let text = render(&briefing, &HostFacts { files, ..HostFacts::default() }, 4_000);
    assert!(text.contains("; adds read_words; removes read_all_words)"), "{text}");
}

#[test]
fn code_is_quoted_with_its_asterisks() {
    let mut briefing = begun("Pass the options on.");
    briefing.record_edit(2, &edit_of("src/a.py", "def parse(text, **options):\n", ""));
    briefing.record_edit(3, &edit_of("a.md", "- **Never** drop an option.\n", ""));
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("def parse(text, **options):"), "{text}");
    assert!(text.contains("- Never drop an option."), "{text}");
    briefing.record_edit(4, &edit_of("src/a.py", "", "def parse(text, **options):\n"));
    let text = view_of(&briefing, 4_000);
    assert!(!text.contains("\n def parse(text, **options):"), "{text}");
}

#[test]
fn commits_of_others_give_way_to_what_the_thread_did() {
    let mut briefing = thread();
    let log: String = (1..6).map(|n| format!("aaaaaaa{n} feat: part {n} of another\n")).collect();
    for (seq, command, printed) in [
        (20, "git commit -m x", "[next bbbbbbb2] fix: the lexer\n"),
        (22, "git push", "   ccccccc1..bbbbbbb2  next -> next\n"),
        (24, "git log --oneline -5 origin/main", &log),
    ] {
        briefing.record_command(ran("git", (seq, command), 0, printed), None);
    }
    let quotes = quotes(&briefing, 4_000);
    let weight = |part: &str| {
        let of = quotes.iter().filter(|quote| quote.kind == kinds::EvidenceKind::Git);
        of.filter(|quote| quote.text.contains(part)).map(|quote| quote.weight).fold(0.0, f64::max)
    };
    let (others, own) = (weight("of another"), weight("fix: the lexer").min(weight("pushed: ")));
    assert!(own > others * 2.0, "{own} {others}");
}

#[test]
fn a_front_matter_says_the_state_to_which_edits_brought_it() {
    let mut briefing = thread();
    let mut replace = |seq: u64, old: &str, new: &str| {
        let mut op = FileOp::new("report.md", Op::Edited);
        op.replace(old, new);
        briefing.record_edit(seq, &FileEdit::of_write(&op, "report.md".to_owned(), true));
        view_of(&briefing, 4_000)
    };
    let begun = "stepsCompleted:\n  - discovery\n";
    let text = replace(12, "", &format!("---\n{begun}title: Readiness\n---\n# Readiness\n"));
    assert!(text.contains("\n stepsCompleted: discovery; title: Readiness\n"), "{text}");
    let text = replace(13, begun, &format!("{begun}  - analysis\n"));
    assert!(text.contains("\n stepsCompleted: discovery, analysis; title: Readiness\n"), "{text}");
    assert_eq!(text.matches("analysis").count(), 1, "{text}");
}

#[test]
fn a_patch_that_the_harness_reports_before_its_answer_has_its_lines() {
    let mut briefing = thread();
    let added = "/// Reads one token after the other.\npub fn lex(text: &str) -> Vec<Token> {\n";
    let edit = edit_of("src/lexer.rs", added, "");
    let what = "edit src/lexer.rs".to_owned();
    let call_id = "p".to_owned();
    briefing.record_call(
        RunningCall { seq: 20, call_id, what, edits: vec![edit], ..RunningCall::default() },
        None,
    );
    let reported = Change::reported(&FileOp::new("src/lexer.rs", Op::Edited));
    briefing.step(None, At { seq: 21, ms: 0 }, &Step::FilesChanged(vec![reported]));
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("Reads one token after the other."), "{text}");
    assert!(text.contains("edit src/lexer.rs → applied"), "{text}");
    assert!(!text.contains("would add") && !text.contains("no result yet"), "{text}");
}

#[test]
fn what_the_last_edits_of_a_running_turn_add_outweighs() {
    let weight = |is_running: bool, more: usize| {
        let mut briefing = thread();
        let more: String = (0..more).map(|n| format!("const PART_{n}: usize = {n};\n")).collect();
        let added = format!("const STEP_OF_TABLE: usize = 4;\n{more}");
        edits(&mut briefing, 20, "src/lexer.rs", &added, "");
        if !is_running {
            briefing.hold_words(21, "The table has steps of four.");
        }
        weight_of(&briefing, "STEP_OF_TABLE")
    };
    assert!(weight(false, 3) > 0.0 && weight(true, 3) > 2.0 * weight(false, 3));
    assert!((weight(true, 30) - weight(false, 30)).abs() < 0.01, "a whole file is not half done");
}

#[test]
fn what_was_read_before_an_edit_says_so_and_a_deleted_folder_takes_its_files_with_it() {
    let mut briefing = begun("Write down how tokens are read.");
    let read = "# Tokens\n\n- The lexer must read one token after the other.\n- Numbers must have no sign.\n";
    briefing.record_read(2, "docs/tokens.md", read);
    assert!(
        view_of(&briefing, 4_000).contains("docs/tokens.md:\n"),
        "{}",
        view_of(&briefing, 4_000)
    );
    edits(&mut briefing, 3, "docs/tokens.md", "- Names must be short.\n", "");
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("docs/tokens.md (read before an edit of it):\n"), "{text}");
    edits(&mut briefing, 4, "old/lexer.rs", "/// Reads the tokens of the old grammar.\n", "");
    assert!(view_of(&briefing, 4_000).contains("old grammar"));
    briefing.record_edit(5, &FileEdit::removal("old".to_owned()));
    assert!(!view_of(&briefing, 4_000).contains("old grammar"), "{}", view_of(&briefing, 4_000));
}

#[test]
fn values_of_a_few_letters_are_shown_with_what_they_replaced() {
    let mut briefing = thread();
    let (before, after) = ("1: 100000,\n2: 220000,\n", "1: 0,\n2: 500,\n");
    edits(&mut briefing, 20, "src/score.js", after, before);
    edits(&mut briefing, 21, "src/score.js", "2: 50,\n", "2: 500,\n");
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("1: 0, (was: 1: 100000,)"), "{text}");
    assert!(text.contains("2: 50, (was: 2: 500,)"), "{text}");
    assert!(!text.contains("removed:") && !text.contains("220000"), "{text}");
}
