use super::*;

#[test]
fn what_came_of_a_command_outlives_its_output_and_its_turn() {
    let mut briefing = thread();
    let listed = "ab12\trefs/heads/grammars\n";
    briefing.record_output(20, "git ls-remote origin grammars", listed, None);
    briefing.record_output(21, "./sync parts", "41 parts are in the store\n", None);
    briefing.note_success(21);
    for n in 0..40 {
        let command = format!("./count part{n}");
        briefing.record_output(22 + n, &command, &format!("{n} rules"), None);
    }
    briefing.hold_words(70, "The parts are synchronized.");
    briefing.begin_turn(71, "Now the next grammar.", None);
    let text = view_of(&briefing, 4_000);
    for result in [
        "\n#20 git ls-remote origin grammars → ab12 refs/heads/grammars\n",
        "\n#21 ./sync parts → exit 0; 41 parts are in the store\n",
        "\n#61 ./count part39 → 39 rules\n",
    ] {
        assert!(text.contains(result), "{result}: {text}");
    }
}

#[test]
fn only_the_newest_result_of_a_command_is_shown() {
    let mut briefing = thread();
    for (seq, printed) in [(20, "MISSING: API_KEY"), (60, "ALL_PRESENT")] {
        briefing.record_output(seq, "./secrets check", printed, None);
        for n in 1..30 {
            briefing.record_output(seq + n, &format!("./count part{n}"), "4 rules", None);
        }
    }
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("#60 ./secrets check → ALL_PRESENT"), "{text}");
    assert!(!text.contains("MISSING"), "{text}");
}

#[test]
fn of_a_result_that_names_a_file_edited_since_only_warnings_are_shown() {
    let mut briefing = thread();
    let printed = "read src/lexer.rs\nwarning: 3 rules are unused\n";
    briefing.record_output(20, "./rules check", printed, None);
    edits(&mut briefing, 21, "src/lexer.rs", "fn lex() {}\n", "");
    briefing.hold_words(22, "The lexer has a function.");
    briefing.begin_turn(23, "Now the parser.", None);
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("./rules check → warning: 3 rules are unused\n"), "{text}");
}

#[test]
fn a_command_with_a_result_is_shown_once_and_one_without_by_its_exit_code() {
    let mut briefing = thread();
    briefing.record_output(20, "./sync parts", "41 parts", None);
    briefing.hold_words(22, "The parts are synchronized.");
    briefing.begin_turn(23, "Now the parser.", None);
    let ran = [(21, "mkdir parts (exit 0)".to_owned()), (20, "./sync parts (exit 0)".to_owned())];
    let host = HostFacts { ran: ran.to_vec(), ..HostFacts::default() };
    let text = render(&briefing, &host, 4_000);
    assert!(text.contains("#20 ./sync parts → 41 parts\nmkdir parts (exit 0)\n"), "{text}");
    assert!(!text.contains("sync parts (exit 0)"), "{text}");
}

#[test]
fn what_an_agent_was_told_is_not_repeated_unless_it_was_refused() {
    let briefing = thread();
    let ran = ["Task Explore: Find the lexer (#21 90)", "SendMessage Read it again (refused)"];
    let ran = ran.into_iter().rev().zip([22, 21]).map(|(line, seq)| (seq, line.to_owned()));
    let host = HostFacts { ran: ran.collect(), ..HostFacts::default() };
    let text = render(&briefing, &host, 4_000);
    assert!(text.contains("SendMessage Read it again (refused)"), "{text}");
    assert!(!text.contains("Find the lexer"), "{text}");
}

#[test]
fn lines_that_the_shell_prints_at_each_command_are_left_out() {
    let mut briefing = thread();
    for n in 0..4 {
        let printed = format!("Now using node v22\n{} rules", if n == 0 { "" } else { "4" });
        briefing.record_output(20 + n, &format!("./count part{n}"), &printed, None);
    }
    briefing.hold_words(30, "The parts are counted.");
    briefing.begin_turn(31, "Now the parser.", None);
    let text = view_of(&briefing, 4_000);
    for result in ["#20 ./count part0 → rules\n", "#23 ./count part3 → 4 rules\n"] {
        assert!(text.contains(result), "{text}");
    }
    assert!(!text.contains("node v22"), "{text}");
}

#[test]
fn a_listing_of_a_folder_in_which_a_file_was_made_since_is_left_out() {
    for (path, is_shown) in [("src/parser.rs", false), ("tests/parser.rs", true)] {
        let mut briefing = thread();
        briefing.record_output(20, "ls src/", "lexer.rs\nlib.rs\n", None);
        edits(&mut briefing, 21, path, "fn parse() {}\n", "");
        briefing.hold_words(22, "The parser has a function.");
        briefing.begin_turn(23, "Now the printer.", None);
        let text = view_of(&briefing, 4_000);
        assert_eq!(text.contains("ls src/ → lexer.rs | lib.rs"), is_shown, "{path}: {text}");
    }
}

#[test]
fn a_command_that_enters_the_folder_of_the_thread_is_shown_without_that() {
    let mut briefing = thread();
    briefing.record_output(20, "cd /w/app && ./count parts", "41 parts", None);
    briefing.record_output(21, "cd /w/application && ./count rules", "4 rules", None);
    briefing.record_output(22, "cd /w/app; ./count words", "7 words", None);
    briefing.hold_words(22, "Counted.");
    briefing.begin_turn(23, "Now the next.", None);
    let host = HostFacts { folder: Some("/w/app"), ..HostFacts::default() };
    let text = render(&briefing, &host, 4_000);
    assert!(text.contains("#20 ./count parts → 41 parts"), "{text}");
    assert!(text.contains("#21 cd /w/application && ./count rules → 4 rules"), "{text}");
    assert!(text.contains("#22 ./count words → 7 words"), "{text}");
}
