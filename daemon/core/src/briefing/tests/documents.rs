use super::*;
use crate::briefing::evidence::Line;

/// A turn that reads a list of earlier work and documents of its own.
fn reading(documents: usize) -> Briefing {
    let mut briefing = begun("Write the tasks of the parser.");
    let list = "- [ ] T1 Write the lexer\n- [ ] T2 Write the printer\n";
    briefing.record_read(2, "specs/lexer/tasks.md", list);
    for number in 0..documents {
        let path = format!("specs/parser/part{number}.md");
        let lines: String = (0..40)
            .map(|line| {
                format!("- Rule {number}.{line}: word{number}x{line} must be read first.\n")
            })
            .collect();
        briefing.record_read(3, &path, &lines);
    }
    briefing
}

#[test]
fn the_list_of_other_work_is_only_counted() {
    for (documents, is_shown) in [(0, true), (4, false)] {
        let text = view_of(&reading(documents), 4_000);
        assert!(text.contains("2 open (T1–T2); only read here, not changed"), "{text}");
        assert_eq!(text.contains("\n[ ] T1 Write the lexer"), is_shown, "{documents}: {text}");
    }
}

#[test]
fn while_a_turn_only_reads_its_documents_have_more_room_and_each_a_place() {
    let section = |briefing: &Briefing| {
        let text = view_of(briefing, 4_000);
        let (_, documents) = text.split_once("[DOCUMENTS]").unwrap();
        documents.split("\n[").next().unwrap().to_owned()
    };
    let mut briefing = reading(4);
    // Without other lines, documents may fill all of a view.
    for line in 0..200 {
        let text = format!("Stage {line} of the parser's work has its own queue{line}x and tests.");
        briefing.remarks.push(Line { strength: 100, text, ..Line::default() }, 40 << 10);
    }
    let read = section(&briefing);
    edits(&mut briefing, 9, "specs/parser/tasks.md", "- [ ] T1 Write the parser\n", "");
    let written = section(&briefing);
    assert!(read.len() > written.len() * 5 / 4, "{} {}", read.len(), written.len());
    assert!((0..4).all(|number| read.contains(&format!("part{number}.md:"))), "{read}");
}

#[test]
fn the_decision_of_a_record_comes_before_its_alternatives() {
    let mut briefing = begun("Decide.");
    let record = "## Queue\n- Decision: One queue in memory.\n- Rationale: It is small.\n- Alternatives considered: A broker, rejected because it needs a server.\n";
    briefing.record_read(2, "docs/research.md", record);
    let weight = |words: &str| weight_of(&briefing, words);
    assert!(weight("A broker") > 0.0 && weight("One queue") > 1.4 * weight("A broker"));
}

#[test]
fn an_open_task_says_that_its_file_was_changed_in_the_running_turn() {
    let mut briefing = begun("Do the tasks.");
    let list = "- [ ] T1 Write src/lexer.rs\n- [ ] T2 Write src/parser.rs\n";
    briefing.record_read(2, "tasks.md", list);
    edits(&mut briefing, 9, "src/lexer.rs", "pub fn lex() {\n", "");
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("[ ] T1 Write src/lexer.rs (file changed in this turn)\n"), "{text}");
    assert!(text.contains("[ ] T2 Write src/parser.rs\n"), "{text}");
    briefing.begin_turn(10, "Now the parser.", None);
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("[ ] T1 Write src/lexer.rs\n"), "changed for an earlier request\n{text}");
}

#[test]
fn a_finished_plan_is_left_out() {
    let briefing = begun("Write the lexer.");
    for (is_open, is_shown) in [(true, true), (false, false)] {
        let plan =
            vec![("[x] Read the grammar".to_owned(), false), ("Write it".to_owned(), is_open)];
        let host = HostFacts { plan, ..HostFacts::default() };
        let text = render(&briefing, &host, 4_000);
        assert_eq!(text.contains("[x] Read the grammar"), is_shown, "{text}");
    }
}

#[test]
fn boxes_are_tasks_only_where_they_are_ticked_or_the_file_is_a_list() {
    let boxes = "- [ ] Read the grammar\n- [ ] Write the lexer\n";
    for (path, ticked, is_list) in [
        ("guide/new-token.md", "", false),
        ("guide/new-token.md", "- [x] Read the grammar\n", true),
        ("tasks.md", "", true),
    ] {
        let mut briefing = begun("Write down how a token is added.");
        edits(&mut briefing, 2, path, boxes, "");
        edits(&mut briefing, 3, path, ticked, "");
        let text = view_of(&briefing, 4_000);
        assert_eq!(text.contains("[TASK_LIST]\n"), is_list, "{path}: {text}");
    }
    let mut briefing = begun("Where are we?");
    briefing.record_read(2, "ROADMAP.md", boxes);
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("[ ] Write the lexer"), "{text}");
    briefing.hold_words(3, "At the grammar.");
    briefing.begin_turn(4, "Then fix the typo in the manual.", None);
    let text = view_of(&briefing, 4_000);
    assert!(!text.contains("[ ] Write the lexer"), "it belongs to other work: {text}");
}
