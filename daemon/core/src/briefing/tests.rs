mod answers;
mod calls;
mod documents;
mod edits;
mod gaps;
mod outputs;
mod reads;
mod remarks;
mod results;
mod template;
mod workflow;

use std::sync::LazyLock;

use super::collect::{CommandRun, RunningCall};
use super::file_edit::FileEdit;
use super::select::Quote;
use super::*;
use crate::rollout::patch::LineCounts;
use crate::step::CommandOutcome;

fn render(briefing: &Briefing, host: &HostFacts<'_>, max_tokens: u64) -> String {
    super::render(briefing, host, max_tokens).text
}

static NO_HOST: LazyLock<HostFacts<'static>> = LazyLock::new(HostFacts::default);

fn view_of(briefing: &Briefing, max_tokens: u64) -> String {
    render(briefing, &NO_HOST, max_tokens)
}

fn quotes(briefing: &Briefing, max_tokens: u64) -> Vec<Quote<'_>> {
    gather::gather(briefing, &NO_HOST, max_tokens).0
}

/// The weight of the first quote with these words; 0 without one.
fn weight_of(briefing: &Briefing, words: &str) -> f64 {
    let quotes = quotes(briefing, 4_000);
    quotes.iter().find(|quote| quote.text.contains(words)).map_or(0.0, |quote| quote.weight)
}

/// A thread with this first request.
fn begun(request: &str) -> Briefing {
    let mut briefing = Briefing::default();
    briefing.begin_turn(1, request, None);
    briefing
}

fn calls(briefing: &mut Briefing, seq: u64, id: &str, what: &str) {
    briefing.record_call(running(seq, id, what), None);
    briefing.take_running(id);
}

fn running(seq: u64, id: &str, what: &str) -> RunningCall {
    let (call_id, what) = (id.to_owned(), what.to_owned());
    RunningCall { seq, call_id, what, ..RunningCall::default() }
}

fn edit_of(path: &str, added: &str, removed: &str) -> FileEdit {
    let (path, added, removed) = (path.to_owned(), added.to_owned(), removed.to_owned());
    let lines = |text: &str| text.lines().count() as u64;
    let counts = LineCounts { added: lines(&added), removed: lines(&removed) };
    FileEdit { path, added, removed, counts, ..FileEdit::default() }
}

fn edits(briefing: &mut Briefing, seq: u64, path: &str, added: &str, removed: &str) {
    briefing.record_edit(seq, &edit_of(path, added, removed));
}

fn ran<'a>(
    program: &'a str,
    (seq, script): (u64, &'a str),
    code: i64,
    printed: &'a str,
) -> CommandRun<'a> {
    CommandRun {
        seq,
        call_id: "p",
        script,
        from: None,
        program,
        is_look: false,
        is_unconfined: false,
        outcome: CommandOutcome::Exit(code),
        counts: None,
        printed,
    }
}

#[test]
fn a_stub_that_was_filled_in_is_not_shown() {
    let mut briefing = begun("Write the dispatcher.");
    let stub =
        "class Dispatcher:\n    def call_tool(self, name):\n        raise NotImplementedError\n";
    edits(&mut briefing, 2, "src/dispatcher.py", stub, "");
    assert!(
        view_of(&briefing, 2_000).contains("raise NotImplementedError"),
        "{}",
        view_of(&briefing, 2_000)
    );
    let body = "        return self.tools[name].handler()\n";
    edits(&mut briefing, 3, "src/dispatcher.py", body, "        raise NotImplementedError\n");
    assert!(
        !view_of(&briefing, 2_000).contains("NotImplementedError"),
        "{}",
        view_of(&briefing, 2_000)
    );
}

#[test]
fn thoughts_are_marked_and_the_last_intention_stays_until_something_follows() {
    let mut briefing = begun("Document the lexer.");
    briefing.record_thought(
        2,
        "The user asked for documents only, so I won't change the code. Then I'll read the lexer.",
        None,
    );
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("thought, not said:\n The user asked for documents only"), "{text}");
    let mut in_words = briefing.clone();
    in_words.hold_words(3, "The lexer is the only file that needs it.\n\nStrings first.");
    calls(&mut in_words, 4, "w", "wc -l src/lexer.rs");
    assert!(
        view_of(&in_words, 2_000).contains(" (said:)\n The lexer is"),
        "{}",
        view_of(&in_words, 2_000)
    );
    assert!(text.contains("thought last, not said (#2): Then I'll read the lexer."), "{text}");
    calls(&mut briefing, 3, "a", "cat src/lexer.rs");
    assert!(!view_of(&briefing, 2_000).contains("thought last"), "{}", view_of(&briefing, 2_000));
    briefing.record_thought(4, "**Checking the grammar of strings**", None);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("thought last, not said (#4): Checking the grammar"), "{text}");
}

#[test]
fn files_that_a_script_wrote_are_not_counted_and_the_view_says_so() {
    let mut briefing = thread();
    briefing.commands.census.programs = true;
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("(those that scripts wrote not among them)"), "{text}");
}

#[test]
fn a_request_answered_by_a_later_report_is_not_marked_unanswered() {
    let mut briefing = begun("Rename the parser.");
    calls(&mut briefing, 2, "a", "sed -i s/a/b/ src/parser.rs");
    briefing.begin_turn(3, "And the lexer too.", None);
    assert!(
        view_of(&briefing, 2_000).contains("#1 (no report) Rename"),
        "{}",
        view_of(&briefing, 2_000)
    );
    briefing.hold_words(4, "Both are renamed.");
    briefing.begin_turn(5, "Thanks. Now the docs.", None);
    assert!(view_of(&briefing, 2_000).contains("#1 Rename"), "{}", view_of(&briefing, 2_000));
}

#[test]
fn boxes_in_a_file_that_was_only_read_are_tasks_if_its_name_says_so() {
    let boxes = "- [ ] Run the linter\n- [ ] Update the changelog\n";
    for (path, is_counted) in [
        ("AGENTS.md", false),
        ("docs/QUALITY_GATES.md", false),
        ("specs/4/tasks.md", true),
        ("TODO.md", true),
    ] {
        let mut briefing = thread();
        briefing.record_read(12, path, boxes);
        let text = view_of(&briefing, 2_000);
        assert_eq!(
            text.contains("of the items seen 0 ticked, 2 open"),
            is_counted,
            "{path}: {text}"
        );
    }
}

fn thread() -> Briefing {
    let mut briefing = begun("Port the audit trait to core. We never break the public API.");
    briefing.hold_words(2, "I'll look at the trait first.");
    calls(&mut briefing, 3, "c1", "cat src/audit.rs");
    let added = "/// Sink of audit events.\npub trait AuditSink {\n    fn record(&self, event: &Event);\n}\n";
    edits(&mut briefing, 5, "src/core/audit.rs", added, "");
    calls(&mut briefing, 6, "c2", "cargo test");
    let run = ran("cargo", (7, "cargo test"), 0, "all good");
    briefing.record_command(CommandRun { call_id: "c2", ..run }, None);
    edits(&mut briefing, 8, "src/lib.rs", "pub mod core_of_all;\n", "pub mod a;\n");
    briefing.hold_words(9, "Moved the trait because two sinks share it.\n- `infra` keeps the **Postgres** sink\n\nShall I move the sink too?");
    briefing.begin_turn(10, "yes", None);
    briefing
}

fn view(tokens: u64) -> String {
    let file = |path: &str| ChangedFile { path: path.to_owned(), words: "edited".to_owned() };
    let files = vec![file("src/lib.rs"), file("src/core/audit.rs")];
    let host =
        HostFacts { header: "[SESSION_CHECKPOINT v1]".to_owned(), files, ..HostFacts::default() };
    render(&thread(), &host, tokens)
}

#[test]
fn a_briefing_has_the_request_what_it_answers_the_report_and_the_checks() {
    let text = view(2_000);
    for expected in [
        "#1 Port the audit trait to core. We never break the public API.",
        "#10 (in progress) yes",
        "#10 (in progress) yes (in answer to: Shall I move the sink too?)\n",
        "Moved the trait because two sinks share it.",
        "`infra` keeps the Postgres sink",
        "src/core/audit.rs (edited, +4 -0; adds AuditSink, record)",
        "cargo test → exit 0; all good (changed after it: src/lib.rs)",
        "seen: tests; not seen: builds, lints, commits, pushes",
        "no test seen since the last edit",
        "I'll look at the trait first.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn a_budget_is_never_exceeded_and_the_request_stays() {
    for tokens in [0, 5, 20, 60, 120, 300, 1_000] {
        let text = view(tokens);
        assert!(text.len() as u64 <= tokens * 4, "{tokens}");
        if tokens >= 120 {
            assert!(text.contains("#10 (in progress) yes"), "{tokens}: {text}");
        }
    }
}

#[test]
fn only_the_newest_summary_is_quoted_without_its_introduction() {
    let mut briefing = thread();
    for (seq, words) in [(11, "Seven steps are done."), (12, "All steps are done.")] {
        let opening = crate::rollout::contextual::CODEX_SUMMARY_OPENING;
        briefing.record_summary(seq, &format!("{opening} and so on:\n{words}"), None);
    }
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("All steps are done."), "{text}");
    assert!(!text.contains("Seven steps") && !text.contains("Another language model"), "{text}");
}

#[test]
fn a_rollback_removes_words_and_keeps_edits() {
    let mut briefing = thread();
    briefing.hold_words(11, "The sink moved as well.");
    briefing.roll_back(2, None);
    let text = view_of(&briefing, 2_000);
    assert!(!text.contains("audit trait") && !text.contains("sink moved"), "{text}");
    assert!(text.contains("src/core/audit.rs"), "{text}");
}

#[test]
fn a_line_that_a_later_edit_removed_is_not_quoted() {
    let mut briefing = thread();
    edits(
        &mut briefing,
        12,
        "src/core/audit.rs",
        "/// Sink of events, in order.\n",
        "/// Sink of audit events.\n",
    );
    let text = view_of(&briefing, 2_000);
    assert!(
        text.contains("Sink of events, in order.") && !text.contains("Sink of audit events."),
        "{text}"
    );
}

#[test]
fn a_small_view_names_the_tasks_that_come_next() {
    let mut briefing = thread();
    let item = |n: u32| format!("- [{}] T{n:03} write part {n}", if n < 4 { "x" } else { " " });
    let list: Vec<String> = (1..30).map(item).collect();
    briefing.record_read(11, "tasks.md", &list.join("\n"));
    let text = view_of(&briefing, 660);
    assert!(
        text.contains("tasks.md: of the items seen 3 ticked (T001–T003), 26 open (T004–T029)"),
        "{text}"
    );
    for next in ["[ ] T004", "[ ] T005", "[ ] T006"] {
        assert!(text.contains(next), "{next}\n{text}");
    }
}

#[test]
fn a_running_call_is_named_once() {
    let mut briefing = thread();
    let program = "cargo".to_owned();
    briefing.record_call(RunningCall { program, ..running(11, "c9", "cargo bench") }, None);
    let text = view_of(&briefing, 2_000);
    assert_eq!(text.matches("cargo bench").count(), 1, "{text}");
}

#[test]
fn below_a_summary_a_view_does_not_repeat_it() {
    let mut briefing = begun("Make the lexer quick.");
    let known = "- The lexer allocated a string for each token of the source.";
    let new = "- The parser keeps its table of operators in a sorted slice.";
    briefing.hold_words(2, &format!("{known}\n{new}\n"));
    briefing.begin_turn(3, "go on", None);
    let shown = |above| {
        let host = HostFacts { above, ..HostFacts::default() };
        let text = render(&briefing, &host, 90);
        (text.contains("allocated a string"), text.contains("sorted slice"))
    };
    assert_eq!(shown("The lexer allocated a string for each token of the source."), (false, true));
    assert_eq!(shown("The parser keeps its table of operators in a sorted slice."), (true, false));
}

#[test]
fn lines_about_the_focus_are_chosen_first() {
    let mut briefing = begun("Make the lexer quick.");
    let lexer = "- The lexer allocated a string for each token of the source.";
    let parser = "- The parser keeps its table of operators in a sorted slice.";
    briefing.hold_words(2, &format!("{lexer}\n{parser}\n"));
    briefing.begin_turn(3, "go on with the lexer", None);
    let view = |focus| render(&briefing, &HostFacts { focus, ..HostFacts::default() }, 90);
    let shown = |focus| (view(focus).contains("allocated"), view(focus).contains("sorted slice"));
    assert_eq!(shown(""), (false, true), "{}", view(""));
    let focus = "a string allocated for each token";
    assert_eq!(shown(focus), (true, false), "{}", view(focus));
    assert_eq!(view("nothing that stands here"), view(""));
    assert!(!view("allocated zebra").contains("zebra"), "it is never quoted");
}

#[test]
fn a_patch_that_did_not_apply_is_shown_until_its_file_is_edited() {
    let mut briefing = thread();
    let printed = "apply_patch verification failed: Failed to find expected lines in src/lib.rs";
    briefing.record_patch((11, "c1"), &["src/lib.rs".to_owned()], CommandOutcome::Refused, printed);
    let text = |briefing: &Briefing| view_of(briefing, 2_000);
    let failed = "#11 edit src/lib.rs → refused: apply_patch verification failed";
    assert!(text(&briefing).contains(failed), "{}", text(&briefing));
    briefing.record_patch((14, "c2"), &["src/lib.rs".to_owned()], CommandOutcome::Unknown, "");
    assert!(text(&briefing).contains("; edited later, at #14"), "{}", text(&briefing));
}

#[test]
fn the_sentence_before_a_list_is_a_heading_with_its_end() {
    let lead = "I moved the settings that the new importer needs from the shared file into the private override of";
    let mut briefing = thread();
    briefing
        .hold_words(11, &format!("{lead} settings.local.json:\n- the remote of the checkpoints\n"));
    let text = view_of(&briefing, 2_000);
    assert!(text.contains(&format!("{lead} settings.local.json:")), "{text}");
}

#[test]
fn a_growing_document_is_shown_by_its_outline() {
    let mut briefing = thread();
    for story in 1..12 {
        let added =
            format!("### Story {story}: Export in form {story}\n\nAs a tester I want it.\n");
        edits(&mut briefing, 11 + story, "epics.md", &added, "");
    }
    let file = ChangedFile { path: "epics.md".to_owned(), words: "edited 11x".to_owned() };
    let host = HostFacts { files: vec![file], ..HostFacts::default() };
    let text = render(&briefing, &host, 4_000);
    assert!(text.contains("; adds Story 1: Export in form 1, Story 2:"), "{text}");
    let small = render(&briefing, &host, 2_000);
    assert!(small.contains("; adds …, Story 9:") && small.contains("Story 11: Export"), "{small}");
}

#[test]
fn another_agents_report_is_marked_and_answers_nothing() {
    let mut briefing = thread();
    briefing.hold_words(11, "The lexer is done. Shall I write the parser?");
    briefing.record_agent_report(
        12,
        "The parser has two tables.\nShall I drop one?\n<usage>3</usage>",
        None,
    );
    briefing.begin_turn(13, "yes", None);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("turn 2, another agent (#12):\n The parser has two tables."), "{text}");
    assert!(
        text.contains("yes (in answer to: The lexer is done. Shall I write the parser?)\n"),
        "{text}"
    );
    assert!(!text.contains("in answer to: Shall I drop one?") && !text.contains("usage"), "{text}");
}

#[test]
fn the_closing_question_of_the_agent_is_open() {
    let mut briefing = thread();
    briefing.hold_words(11, "Moved the sink.\n\n- Which one goes next: the reader or the writer?");
    briefing.end_turn(false, None);
    let text = view_of(&briefing, 2_000);
    let asked = "asked the person at the end: Which one goes next: the reader or the writer?";
    assert!(text.contains(asked) && text.matches("Which one").count() == 1, "{text}");
    briefing.begin_turn(12, "The reader.", None);
    assert!(!view_of(&briefing, 2_000).contains("asked the person"));
}

#[test]
fn a_cut_in_a_long_request_is_marked() {
    let mut briefing = Briefing::default();
    let part = |n: u32| format!("Part {n} of the parser reads the tokens of kind {n} only. ");
    let request: String = (10..50).map(part).collect();
    briefing.begin_turn(1, &request, None);
    briefing.hold_words(2, "Done.");
    briefing.begin_turn(3, "Go on with the printer.", None);
    let whole = view_of(&briefing, 4_000);
    assert!(whole.contains("of kind 49 only.") && !whole.contains("[…]"), "{whole}");
    let text = view_of(&briefing, 300);
    assert!(text.contains("#1 Part 10 of") && text.contains("  […]\n"), "{text}");
}

#[test]
fn lines_without_a_heading_are_not_below_the_heading_of_others() {
    let mut briefing = begun("Tidy up.");
    let report = "## Removed\n- `old.rs`, which nothing used\n\n## Kept\n- `new.rs`, as it was\n";
    briefing.hold_words(2, report);
    briefing.hold_words(3, "All **tests** passed after it.");
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("`new.rs`, as it was\n (also:)\n All tests passed"), "{text}");
}

#[test]
fn command_output_and_the_lines_of_an_unanswered_patch_are_shown() {
    let mut briefing = thread();
    briefing.record_output(11, "python3 --version", "Python 3.9.6\n", None);
    let code = "import sys\n".to_owned() + &"path = sys.path[0] + folder\n".repeat(9);
    briefing.record_output(12, "site.py", &code, None);
    briefing.record_output(13, "old.py", &code, None);
    edits(&mut briefing, 14, "old.py", "import os\n", "import sys\n");
    let edits = vec![edit_of("new.py", "import re\n", "")];
    briefing.record_call(RunningCall { edits, ..running(15, "p", "apply_patch new.py") }, None);
    let text = view_of(&briefing, 4_000);
    assert!(
        text.contains("\n#11 python3 --version → Python 3.9.6\n#12 site.py:\n import sys"),
        "{text}"
    );
    assert!(!text.contains("#13 old.py"), "the text before the edit\n{text}");
    assert!(text.contains("#15 would add to new.py: import re"), "{text}");
}

#[test]
fn a_list_that_a_command_changed_is_marked_and_fixes_no_line() {
    let mut briefing = thread();
    briefing.record_read(11, "tasks.md", "- [ ] T1 write it\n- [x] T2 read it\n");
    briefing.tasks.outdate(12, "tasks.md");
    let text = view_of(&briefing, 2_000);
    let line =
        "tasks.md: of the items seen 1 ticked (T2), 1 open (T1); a command changed the file since";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_failure_of_an_earlier_turn_is_shown_until_its_program_succeeds() {
    let fail = |briefing: &mut Briefing, seq, script: &str, program: &str, code| {
        let printed = if code == 0 { "" } else { "error: no such file" };
        briefing.record_command(ran(program, (seq, script), code, printed), None);
    };
    let mut briefing = thread();
    fail(&mut briefing, 11, "python make.py", "python", 127);
    fail(&mut briefing, 12, "gh auth status", "gh", 1);
    fail(&mut briefing, 13, "git push -u origin main", "git", 1);
    fail(&mut briefing, 14, "unzip a.zip && ./b.sh", "unzip", 2);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("#11 python") && text.contains("#12 gh auth"), "{text}");
    assert!(text.contains("pushes that worked; changed files"), "{text}");
    briefing.begin_turn(20, "And now the docs.", None);
    let text = view_of(&briefing, 2_000);
    let since = "error: no such file; no later run that worked was seen";
    assert!(text.contains("#11 python") && text.matches(since).count() == 3, "{text}");
    assert!(text.contains("#14 unzip a.zip && ./b.sh → exit 2: error: no such file\n"), "{text}");
    fail(&mut briefing, 21, "gh pr list", "gh", 0);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("#11 python") && !text.contains("#12 gh auth"), "{text}");
    fail(&mut briefing, 22, "git status", "git", 0);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("#13 git push"), "another subcommand of git proves nothing: {text}");
}
