use super::*;
use crate::rollout::contextual;

#[test]
fn what_the_agent_said_before_its_last_call_stays_until_the_turn_ends() {
    let mut briefing = begun("Document the lexer.");
    briefing.hold_words(2, "The grammar is read. I'm writing only the page about strings.");
    calls(&mut briefing, 3, "a", "cat src/lexer.rs");
    calls(&mut briefing, 4, "b", "cat src/strings.rs");
    let text = view_of(&briefing, 2_000);
    let said = "said last (#2): The grammar is read. I'm writing only the page about strings.";
    assert!(text.contains(said) && text.matches("I'm writing only").count() == 1, "{text}");
    briefing.hold_words(5, "The page is written.");
    assert!(!view_of(&briefing, 2_000).contains("said last"), "{}", view_of(&briefing, 2_000));
    briefing.end_turn(false, None);
    briefing.begin_turn(6, "Thanks.", None);
    assert!(!view_of(&briefing, 2_000).contains("said last"), "{}", view_of(&briefing, 2_000));
}

#[test]
fn remarks_of_a_turn_that_a_later_report_may_cover_weigh_less_than_those_of_the_running_turn() {
    const WORDS: &str = "whatever follows them is written by the same table in every version.";
    let mut briefing = Briefing::default();
    let mut seq = 0;
    let mut works = |briefing: &mut Briefing, request: &str, about: &str| {
        briefing.begin_turn(seq + 1, request, None);
        for part in 1..=20 {
            seq += 2;
            briefing.hold_words(
                seq,
                &format!("Part {part} of the {about} keeps {part} states, and {WORDS}"),
            );
            calls(briefing, seq + 1, &format!("{about}{part}"), &format!("cat {about}/{part}"));
        }
    };
    works(&mut briefing, "Read the lexer.", "lexer");
    works(&mut briefing, "Read the parser.", "parser");
    briefing.hold_words(90, "Both are read.");
    briefing.end_turn(false, None);
    works(&mut briefing, "Read the printer.", "printer");
    let text = view_of(&briefing, 1_000);
    let count = |about: &str| text.matches(&format!("of the {about} keeps")).count();
    assert!(count("printer") > count("lexer"), "{text}");
}

#[test]
fn items_left_out_of_a_task_list_are_marked_and_stand_only_there() {
    let mut briefing = begun("Write the tasks.");
    let item = |n| {
        format!(
            "- [ ] T{n:03} write part {n} of the lexer and its tests in src/part{n}.rs{}\n",
            ", with words".repeat(18)
        )
    };
    let list: String = (1..=90).map(item).collect();
    briefing.record_edit(2, &edit_of("tasks.md", &list, ""));
    let text = view_of(&briefing, 1_500);
    let shown: Vec<&str> = text.lines().filter(|line| line.contains("write part")).collect();
    assert!(shown.len() < 90 && shown.iter().any(|line| line.ends_with("[…]")), "{text}");
    assert!(shown.iter().all(|line| line.starts_with("[ ] T0")), "{text}");
    assert_eq!(text.matches("T001 write part 1 ").count(), 1, "{text}");
}

#[test]
fn a_view_of_ours_that_replaces_a_history_has_nothing_new() {
    let mut briefing = thread();
    let words = "Both sinks are moved. All 12 tests pass.";
    briefing.hold_words(20, words);
    let view = format!("{}\n[REPORTS]\n{words}\n", contextual::VIEW_HEADER);
    briefing.record_summary(21, &view, None);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("(the agent spoke last)") && text.contains(words), "{text}");
    assert!(!text.contains("earlier compaction"), "{text}");

    let mut unknown = Briefing::default();
    unknown.record_summary(1, &view, None);
    assert!(view_of(&unknown, 2_000).contains(words), "it is all that is known");
}

#[test]
fn a_teammate_reports_by_its_name_and_notices_between_programs_are_left_out() {
    let mut briefing = begun("Review the lexer.");
    let message = "<teammate-message teammate_id=\"ann\" color=\"blue\">\n{\"type\":\"idle_notification\"}\n</teammate-message>\n\n<teammate-message teammate_id=\"bob\" color=\"red\" summary=\"Lexer -> one criterion fails\">\n**Result:** `'` ends no string, so the last quote is lost.\n</teammate-message>";
    briefing.record_agent_report(5, message, None);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("turn 1, teammate bob (#5):"), "{text}");
    assert!(text.contains("Lexer -> one criterion fails") && !text.contains("\">"), "{text}");
    assert!(text.contains("ends no string"), "{text}");
    assert!(!text.contains("ann") && !text.contains("idle_notification"), "{text}");
}

#[test]
fn what_prompts_of_one_template_have_in_common_is_told_once() {
    let mut briefing = begun("Review both branches.");
    let template = "Report only bugs that you can show with an input that fails.";
    for (seq, branch) in [(2, "lexer"), (4, "parser")] {
        let prompt = format!("Review the branch {branch}.\n\n- {template}\n");
        briefing.record_prompt(seq, "told another agent", &prompt, None);
    }
    let text = view_of(&briefing, 2_000);
    assert_eq!(text.matches(template).count(), 1, "{text}");
    assert!(text.contains("the branch lexer") && text.contains("the branch parser"), "{text}");
}

#[test]
fn a_thought_that_was_also_said_weighs_little() {
    let weight = |said: &str| {
        let mut briefing = begun("Write the lexer.");
        let thought = "The table of tokens belongs to the grammar of strings.";
        briefing.record_thought(2, thought, None);
        briefing.hold_words(3, said);
        calls(&mut briefing, 4, "a", "cat src/lexer.rs");
        weight_of(&briefing, "belongs to")
    };
    let said = weight("So I put the table of tokens into the grammar of strings.");
    assert!(said > 0.0 && said < weight("I read the printer first.") / 2.0);
}
