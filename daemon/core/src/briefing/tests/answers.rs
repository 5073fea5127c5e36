use super::*;

#[test]
fn short_answers_are_quoted_with_what_they_answer_and_old_ones_are_weak() {
    let mut briefing = Briefing::default();
    for turn in 0..40 {
        briefing.begin_turn(
            turn * 2,
            if turn == 20 { "Keep the old names in the lexer." } else { "ok" },
            None,
        );
        briefing.hold_words(
            turn * 2 + 1,
            &format!("Part {turn} is done.\n\nShall I write part {}?", turn + 1),
        );
    }
    let text = view_of(&briefing, 400);
    assert!(text.contains("Keep the old names in the lexer."), "{text}");
    assert!(text.contains("#76 ok (in answer to: Shall I write part 38?)"), "{text}");
    assert!(!text.lines().any(|line| line == "#4 ok"), "{text}");
}

#[test]
fn the_same_answer_to_the_same_question_is_shown_once() {
    let mut briefing = Briefing::default();
    let said = |turn: u64| match turn {
        0 => "Make a plan for the lexer.",
        4 => "Non",
        _ => "Oui",
    };
    for turn in 0..9 {
        briefing.begin_turn(turn * 2, said(turn), None);
        briefing.hold_words(turn * 2 + 1, "L'étape est faite.\n\nValides-tu ces choix ?");
    }
    briefing.begin_turn(20, "Rename the lexer.", None);
    let text = view_of(&briefing, 4_000);
    assert!(
        text.contains("\n#16 Oui, as 6x before (in answer to: Valides-tu ces choix ?)"),
        "{text}"
    );
    assert!(text.contains("\n#8 Non (in answer to: Valides-tu ces choix ?)"), "{text}");
    assert_eq!(text.matches("Oui").count(), 1, "{text}");
}

/// A menu of two, the answer, and turns that follow.
fn menu(answer: &str, turns_after: u64) -> String {
    let mut briefing = begun("Plan the store of the lexer.");
    briefing.hold_words(
        2,
        "Which store?\n\n1. One file for each grammar\n2. A table of all grammars\n",
    );
    briefing.begin_turn(3, answer, None);
    briefing.hold_words(4, "Then the store is settled.");
    for turn in 0..turns_after {
        briefing.begin_turn(10 + turn * 2, &format!("Write part {turn} of it."), None);
        briefing.hold_words(11 + turn * 2, &format!("Part {turn} is written."));
    }
    view_of(&briefing, 4_000)
}

#[test]
fn a_menu_keeps_only_the_picked_option() {
    let (picked, left) = ("A table of all grammars", "One file for each grammar");
    for (answer, turns_after, has_left) in [("2", 0, false), ("2", 9, false), ("later", 9, true)] {
        let text = menu(answer, turns_after);
        assert!(text.contains(picked), "{answer} {turns_after}: {text}");
        assert_eq!(text.contains(left), has_left, "{answer} {turns_after}: {text}");
    }
}

#[test]
fn an_offer_quoted_with_its_answer_is_not_repeated_as_a_report() {
    let text = menu("2", 0);
    assert_eq!(text.matches("A table of all grammars").count(), 1, "{text}");
}

#[test]
fn a_longer_answer_is_shown_with_the_option_it_picks_and_no_other() {
    let mut briefing = begun("Make the battery less green.");
    briefing.hold_words(2, "1. Drop the override.\n2. Use a teal one.\n3. Keep it as it is.");
    briefing.begin_turn(3, "Do #2, and leave the other segments alone for the moment.", None);
    briefing.hold_words(4, "The battery is teal now.");
    briefing.begin_turn(5, "Now rework the transient prompt.", None);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("moment. (in answer to: 2. Use a teal one.)"), "{text}");
    assert!(!text.contains("(#3 in answer to") && !text.contains("after: 1. Drop"), "{text}");
}

#[test]
fn the_last_report_is_shown_after_the_answer_and_the_end_of_a_long_one_if_it_offers() {
    let list =
        "If you want, I can change:\n1. `lexer.md`\n2. `parser.md`\n\nTell me where to begin.";
    let long: String = (0..90).map(|n| format!("- part {n} of the lexer reads it.\n")).collect();
    for (report, turns, expected) in [
        (list, 1, (3, true)),
        (list, 2, (0, false)),
        ("I have changed:\n1. `lexer.md`\n2. `parser.md`\n", 1, (2, true)),
        (&*long, 1, (64, false)),
        (&*format!("{long}\n{list}"), 1, (66, true)),
    ] {
        let mut briefing = thread();
        briefing.begin_turn(20, "Compare the documents of the lexer.", None);
        briefing.hold_words(21, report);
        for turn in 0..turns {
            briefing.begin_turn(22 + turn, "Both of them follow the first document only.", None);
        }
        let quotes = quotes(&briefing, 4_000);
        let of_report = quotes.iter().filter(|it| it.kind == kinds::EvidenceKind::Report);
        let fixed: Vec<&str> = of_report.filter(|it| it.is_fixed).map(|it| &*it.text).collect();
        let found = (fixed.len(), fixed.contains(&"2. `parser.md`"));
        assert_eq!(found, expected, "{report}: {fixed:?}");
    }
}

#[test]
fn a_report_that_was_accepted_has_more_room() {
    let long: String = (0..200).map(|n| format!("- part {n} of the lexer reads it.\n")).collect();
    let fixed = |answer: &str| {
        let mut briefing = thread();
        briefing.begin_turn(20, "Propose the parts of the lexer.", None);
        briefing.hold_words(21, &long);
        briefing.begin_turn(22, answer, None);
        let quotes = quotes(&briefing, 4_000);
        let of_report = quotes.iter().filter(|it| it.kind == kinds::EvidenceKind::Report);
        of_report.filter(|it| it.is_fixed).count()
    };
    assert!(fixed("yes, do it") > fixed("Both of them follow the first document only.") * 2 - 5);
}

#[test]
fn an_answer_stands_below_the_request_that_it_goes_on_with() {
    let mut briefing = begun("yes");
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("[TASK]\n#1 (in progress) yes"), "{text}");
    briefing = Briefing::default();
    briefing.begin_turn(1, "/check-the-grammar of the lexer", None);
    briefing.hold_words(2, "Step 1 is done.\n\n[A] Ask again\n**Select:** [C] Go on to step 2");
    briefing.begin_turn(3, "c", None);
    let text = view_of(&briefing, 4_000);
    let task = "[TASK]\n#1 (before it) /check-the-grammar of the lexer\n#3 (in progress) c (in answer to: Select: [C] Go on to step 2)";
    assert!(text.contains(task), "{text}");
    briefing.begin_turn(4, "Now the parser of expressions.", None);
    let text = view_of(&briefing, 4_000);
    let task = "[TASK]\n#3 (before it) c\n#4 (in progress) Now";
    assert!(text.contains(task), "nothing was said of it\n{text}");
    briefing.end_turn(true, None);
    briefing.begin_turn(5, "Are you still there, or is it stuck?", None);
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("[TASK]\n#4 (before it) Now the parser"), "it was interrupted\n{text}");
}

#[test]
fn what_the_agent_asked_before_a_dialog_is_not_said_last() {
    let mut briefing = thread();
    briefing.hold_words(20, "There is no changelog. Shall I make one?");
    calls(&mut briefing, 21, "d", "AskUserQuestion Changelog");
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("said last (#20)"), "{text}");
    briefing.record_dialog_answer(22, "Changelog → there is one");
    let text = view_of(&briefing, 4_000);
    assert!(!text.contains("said last"), "{text}");
}

#[test]
fn a_line_of_a_request_stands_below_its_own_heading() {
    let mut briefing = Briefing::default();
    let part = |part: &str| {
        format!(
            "### {part}\n\nThe first line of it is long. {}\n\n- The {part} has a table.\n",
            "x".repeat(300)
        )
    };
    let plan = format!(
        "Implement the following plan:\n\n# Two tables\n\n{}{}",
        part("lexer"),
        part("parser")
    );
    briefing.begin_turn(1, &plan, None);
    briefing.begin_turn(2, "go on", None);
    let quotes = quotes(&briefing, 4_000);
    let written = |words: &[&str]| {
        let chosen = quotes.iter().filter(|quote| words.iter().any(|it| quote.text.contains(it)));
        let mut out = String::new();
        write::write(&mut out, chosen.collect(), &HostFacts::default(), 0);
        out
    };
    let text = written(&["Two tables", "lexer has"]);
    assert!(text.contains("Implement the following plan: Two tables\n"), "{text}");
    assert!(text.contains("  lexer:\n") && !text.contains("parser"), "{text}");
    let text = written(&["lexer has", "parser has"]);
    assert!(text.contains("  parser:\n  The parser has a table."), "{text}");
    let text = written(&["parser: The first", "parser has"]);
    assert_eq!(text.matches("parser:").count(), 1, "the line has it\n{text}");
}
