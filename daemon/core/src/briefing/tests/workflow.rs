use super::*;

const REVIEW: &str = r#"<step n="1" goal="Load the story">
  <action>Read the whole story and its list of files</action>
</step>
<step n="2" goal="Review the code">
  <action>For each file:
    1. Look for missing checks of what is read
    2. Look for tests that cannot fail
  </action>
</step>
<step n="3" goal="Present the findings">
  <ask>What is to be done?
    1. Mend them at once
    2. Write items for later
  </ask>
  <check if="the person chooses 1">
    <action>Mend all findings and run the tests</action>
  </check>
  <check if="the person chooses 2">
    <action>Add one open item for each finding</action>
  </check>
</step>
<step n="4" goal="Close the story">
  <action>Set its status and save the file</action>
</step>
"#;

fn reviewing(report: &str, answer: &str) -> String {
    let mut briefing = begun("Review the story.");
    briefing.record_read(2, "_flow/workflows/review/instructions.xml", REVIEW);
    briefing.hold_words(3, report);
    briefing.begin_turn(4, answer, None);
    view_of(&briefing, 4_000)
}

#[test]
fn of_a_workflow_the_steps_that_are_not_done_are_shown() {
    let text = reviewing("Step 1 is done. Shall I go on to step 2?", "y");
    for (line, is_shown) in [
        ("Read the whole story", false),
        ("step 2, For each file:\n 1. Look for missing checks", true),
        ("2. Look for tests that cannot fail", true),
        ("Mend all findings and run the tests", true),
        ("Set its status and save the file", true),
    ] {
        assert_eq!(text.contains(line), is_shown, "{line}\n{text}");
    }
}

#[test]
fn of_the_branches_of_a_step_the_chosen_one_is_shown() {
    let menu = "What is to be done?\n1. Mend them at once\n2. Write items for later";
    let text = reviewing(menu, "2");
    assert!(text.contains("step 3, if the person chooses 2:\n Add one open item"), "{text}");
    assert!(!text.contains("Mend all findings and run the tests"), "{text}");
}

#[test]
fn ticked_items_of_a_document_are_left_out() {
    let mut briefing = begun("Go on.");
    let story =
        "# Story\n- [x] Write the lexer of the grammar\n- [ ] Write the parser of the grammar\n";
    briefing.record_read(2, "docs/story.md", story);
    // Another list is the current one.
    briefing.record_read(
        3,
        "docs/tasks.md",
        "- [ ] T1 Write the printer\n- [ ] T2 Write the tests\n",
    );
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("- [ ] Write the parser") && !text.contains("- [x]"), "{text}");
}

#[test]
fn the_steps_of_a_workflow_weigh_little_once_another_one_is_read() {
    let mut briefing = begun("Review the story.");
    briefing.record_read(2, "_flow/workflows/review/instructions.xml", REVIEW);
    let before = weight_of(&briefing, "Set its status");
    let next = "# Step 5\n\nALWAYS read the whole plan before any change of it.\n";
    briefing.record_read(3, "_flow/workflows/plan/steps/step-05-plan.md", next);
    let after = weight_of(&briefing, "Set its status");
    assert!(after > 0.0 && after < before / 2.0);
}

#[test]
fn only_the_step_that_was_read_last_is_quoted() {
    let mut briefing = begun("Validate it.");
    for number in 1..=2 {
        let path = format!("_flow/workflows/plan/steps/step-0{number}-check.md");
        let step =
            format!("# Step {number}\n\n**Purpose:** part {number} of the plan is checked.\n");
        briefing.record_read(2, &path, &step);
    }
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("part 2 of the plan") && !text.contains("part 1 of the plan"), "{text}");
}

#[test]
fn the_text_of_a_command_is_followed_step_by_step() {
    let text = "Base directory for this skill: /w/.agents/skills/quick\n\n# Quick\n\n### Step 1: Read\n- Read the grammar of the lexer\n\n### Step 2: Write\n- Write the table of the lexer\n\n### Step 3: Close\n- Add a row to `STATE.md`\n";
    let mut briefing = begun("/quick add strings to the lexer");
    briefing.record_instructions(2, text, None);
    briefing.hold_words(3, "Step 2 of phase 12: the table.");
    calls(&mut briefing, 4, "a", "cat src/lexer.rs");
    let shown = view_of(&briefing, 4_000);
    assert!(shown.contains("[TEMPLATE_STEPS]\nquick:\n Step 2: Write:\n"), "{shown}");
    assert!(shown.contains("Add a row to") && !shown.contains("Read the grammar"), "{shown}");
    let rules = "Answer in one line.\n\n**CRITICAL**: Never write a summary of the whole file.\n";
    briefing.record_instructions(5, rules, None);
    let shown = view_of(&briefing, 4_000);
    assert!(shown.contains("/quick:\n CRITICAL: Never write a summary"), "{shown}");
}

#[test]
fn a_step_says_how_its_menu_goes_on() {
    let strength = |line: &str| {
        let mut found = 0;
        let text = format!("# Menu\n\n{line}\n");
        super::super::documents::passages("a.md", &text, |passage| found = passage.strength);
        found
    };
    let goes_on = strength("- IF C: save the text, then follow: ./step-04-journeys.md");
    assert!(goes_on > strength("- IF P: follow the other text, then show the menu again"));
}
