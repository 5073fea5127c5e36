use super::worth::strength;
use super::*;

#[test]
fn the_lines_of_a_configuration_are_joined() {
    let text =
        "{\n  \"build\": {\n    \"dest\": \"_site\",\n    \"src\": [\"api/**.yml\"]\n  }\n}\n";
    let mut seen = Vec::new();
    passages("docfx.json", text, |p| seen.push(p.text.to_owned()));
    assert_eq!(seen, ["{ \"build\": { \"dest\": \"_site\", \"src\": [\"api/**.yml\"] } }"]);
    let rules = "limit: 9\n# Depth of the lexer\ndepth: 4\n\n# States:\n# - open: begun by us\n# - done: it is tested\n# =====\nlexer: open\nparser: done\n";
    let mut seen = Vec::new();
    passages("a.yaml", rules, |p| seen.push((p.text.to_owned(), p.strength, p.spot.at)));
    let expected = [
        ("limit: 9 # Depth of the lexer depth: 4".to_owned(), 70, 1),
        ("# States: # - open: begun by us # - done: it is tested # =====".to_owned(), 30, 2),
        ("lexer: open parser: done".to_owned(), 70, 3),
    ];
    assert_eq!(seen, expected);
    let long: String = (0..60).map(|n| format!("key{n} = \"value {n}\"\n")).collect();
    let mut seen = Vec::new();
    passages("a.toml", &long, |p| seen.push(p.text.to_owned()));
    assert!(seen.len() < 8 && seen.iter().all(|text| text.len() <= 200), "{seen:?}");
}

#[test]
fn the_comment_before_the_first_setting_stands_apart() {
    let text = "# Settings of the module\n# Written by the installer\n\nlanguage: Dutch\n# until May\nlevel: beginner\n";
    let mut seen = Vec::new();
    passages("a.yaml", text, |p| seen.push((p.text.to_owned(), p.strength)));
    let expected = [
        ("# Settings of the module # Written by the installer", 30),
        ("language: Dutch # until May level: beginner", 70),
    ];
    assert_eq!(seen, expected.map(|(text, strength)| (text.to_owned(), strength)));
}

#[test]
fn a_comment_at_the_start_of_a_document_is_quoted() {
    let text = "<!--\nVersion change: 1.0.0 → 1.1.0\n-->\n# Rules\n<!-- Write the rules\nbelow this line -->\n- We write the tests first.\n";
    let mut seen = Vec::new();
    passages("rules.md", text, |p| seen.push((p.text.to_owned(), p.strength)));
    assert_eq!(
        seen,
        [
            ("Version change: 1.0.0 → 1.1.0".to_owned(), 140),
            ("- We write the tests first.".to_owned(), 80)
        ]
    );
}

#[test]
fn a_decision_outweighs_its_reason_and_both_outweigh_empty_sections() {
    let strengths = [
        "- **Decision**: one queue per pool",
        "- **Alternatives considered**: a queue per worker",
        "- **Rationale**: the order of tasks matters",
        "state: enum: [pending, running, done]",
        "The queue is read by all workers.",
        "Violations: None, left empty",
    ];
    let strengths = strengths.map(|line| strength("", line, true));
    assert!(strengths.is_sorted_by(|one, next| one > next), "{strengths:?}");
    assert_eq!(strength("", "**Structure Decision**: one crate", true), strengths[0]);
}

#[test]
fn a_document_is_binding_by_its_path_or_because_the_person_named_it() {
    let typed = ["do it by our code changes guidelines", "$coordinator"];
    for (path, expected) in [
        (".agents/workflow.md", true),
        ("CONTRIBUTING.md", true),
        ("docs/layout.md", false),
        ("AGENTS.md", false),
        ("/x/skills/coordinator/SKILL.md", true),
        ("/x/skills/code-changes/deliver.md", true),
        ("/x/skills/release-notes/SKILL.md", false),
    ] {
        assert_eq!(binds(path, typed.into_iter()), expected, "{path}");
    }
    assert_eq!(rule_strength("Do not push unless asked."), Some(170));
    assert_eq!(rule_strength("- Never weaken a lint."), Some(70));
    assert_eq!(rule_strength("The lexer reads lines."), None);
    assert_eq!(rule_strength("The sun never sets upon the hills."), None);
}

#[test]
fn decisions_and_rules_are_strong_and_wrapped_prose_is_joined() {
    let text = "# Queue\n<!-- Fill in:\nall must be said -->\n     1\t- **Decision**: one queue per pool, since order matters\n\nThe queue is read by\nall workers at once.\nWorkers must never sleep while they hold it.\n";
    let mut seen = Vec::new();
    passages("a/research.md", text, |p| {
        seen.push((p.heading.to_owned(), p.text.to_owned(), p.strength));
    });
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(seen[0].0, "Queue");
    assert_eq!(seen[0].2, 190);
    assert!(seen[1].1.starts_with("The queue is read by all workers"));
}

#[test]
fn lines_from_another_place_get_the_heading_of_that_place() {
    let patch = "*** Begin Patch\n*** Update File: PLAN.md\n@@\n+# Sprint 4\n+- Write the lexer of the new grammar.\n@@\n+- Ship it to those who asked for it.\n@@\n # Sprint 6\n-old\n+- Measure what it costs in memory.\n*** End Patch";
    let op = crate::rollout::patch::parse(patch).remove(0);
    assert_eq!((op.counts.added, op.counts.removed), (4, 1));
    let mut seen = Vec::new();
    passages("PLAN.md", &op.added, |p| seen.push((p.heading.to_owned(), p.text.to_owned())));
    let headings: Vec<&str> = seen.iter().map(|(heading, _)| heading.as_str()).collect();
    assert_eq!(headings, ["Sprint 4", "", "Sprint 6"], "{seen:?}");
}

#[test]
fn instructions_in_xml_are_read_without_their_tags() {
    let path = "work/review/instructions.xml";
    let text = "<step n=\"1\" goal=\"Read\">\n  <critical>You MUST read <b>every</b> file of the list</critical>\n</step>\n";
    let mut seen = Vec::new();
    passages(path, text, |p| seen.push(p.text.to_owned()));
    assert_eq!(seen, ["You MUST read every file of the list"]);
    assert!(is_document(path) && binds(path, std::iter::empty()));
    assert!(!is_document("pom.xml"));
    assert!(is_license("crates/lexer/LICENSE-MIT") && !is_license("src/licensing.rs"));
}

#[test]
fn each_passage_has_the_heading_that_it_stands_below() {
    let lists = "## Stage 1\nGuidance:\n- Contains one of these\n\nSkip proposal for:\n- Bug fixes of old code\n- Typos and comments\n\nAll else needs one.\n";
    let nested = "## Violations\n1. **Epic 5 waits for epic 7**\n   - Move the templates first.\n2. Files:\n   - The plan of the lexer.\n";
    let repeated = "### Story 1\n#### Criteria\n- The lexer reads it.\n### Story 2\n#### Criteria\n- The parser reads it.\n";
    let broken = "## Needs\nFR4: The lexer reads it.  \nFR5: The parser reads it.\\\nFR6: wrapped\nprose of one need.\n";
    let ids = "## Criteria\nNFR6: The report is there\nwithin two minutes.\nNFR12 : It follows\nthe rules.\nAC-1.2) The U.S. keyboard works,\nand A4 is the paper.\nAC-2:\n- The other keyboard works.\n";
    let head = "# Story\n\nStatus: done\n\n## Notes\nfine: so\n";
    for (text, expected) in [
        (
            lists,
            &[
                ("Stage 1, Guidance", "- Contains one of these"),
                ("Stage 1, Skip proposal for", "- Bug fixes of old code"),
                ("Stage 1, Skip proposal for", "- Typos and comments"),
                ("Stage 1", "All else needs one."),
            ][..],
        ),
        (
            nested,
            &[
                ("Violations", "1. **Epic 5 waits for epic 7**"),
                ("1. Epic 5 waits for epic 7", "- Move the templates first."),
                ("2. Files", "- The plan of the lexer."),
            ],
        ),
        (
            repeated,
            &[
                ("Story 1 › Criteria", "- The lexer reads it."),
                ("Story 2 › Criteria", "- The parser reads it."),
            ],
        ),
        (
            broken,
            &[
                ("Needs", "FR4: The lexer reads it."),
                ("Needs", "FR5: The parser reads it."),
                ("Needs", "FR6: wrapped prose of one need."),
            ],
        ),
        (
            ids,
            &[
                ("Criteria", "NFR6: The report is there within two minutes."),
                ("Criteria", "NFR12 : It follows the rules."),
                ("Criteria", "AC-1.2) The U.S. keyboard works, and A4 is the paper."),
                ("AC-2", "- The other keyboard works."),
            ],
        ),
        (head, &[("Story", "Status: done"), ("Notes", "fine: so")]),
    ] {
        let mut seen = Vec::new();
        passages("a.md", text, |p| seen.push((p.heading.to_owned(), p.text.to_owned())));
        let seen: Vec<(&str, &str)> = seen.iter().map(|(h, t)| (&**h, &**t)).collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn an_element_begins_a_passage() {
    let text = "<rule>Speak French in all your answers</rule>\n<rule>and NEVER stop before the end</rule>\n";
    for path in ["work/review/instructions.xml", "work/workflows/review/instructions.md"] {
        let mut seen = Vec::new();
        passages(path, text, |p| seen.push(p.text.to_owned()));
        assert_eq!(seen, ["Speak French in all your answers", "and NEVER stop before the end"]);
    }
}

#[test]
fn a_part_of_instructions_is_named_by_its_purpose_or_its_condition() {
    let text = "<step n=\"4\" goal=\"Show what was found\">\n  <action>Count all of them first</action>\n  <check if=\"the person takes 2 > 1\">\n    <action>Write one item for each</action>\n    <action if=\"there are many\">Write them in a file</action>\n  </check>\n  <action>Save the file at last</action>\n</step>\n<action>End the work then</action>\n";
    let mut seen = Vec::new();
    passages("_flow/workflows/review/instructions.xml", text, |p| {
        seen.push((p.heading.to_owned(), p.text.to_owned()));
    });
    let seen: Vec<(&str, &str)> = seen.iter().map(|(h, t)| (&**h, &**t)).collect();
    let expected = [
        ("step 4: Show what was found", "Count all of them first"),
        ("step 4, if the person takes 2 > 1", "Write one item for each"),
        ("step 4, if the person takes 2 > 1", "Write them in a file"),
        ("step 4: Show what was found", "Save the file at last"),
        ("", "End the work then"),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn what_a_check_came_to_and_the_next_step_are_strong() {
    let step = "---\nname: 'step-05-checks'\ntask: 'Check it'\nnextStepFile: './step-06-report.md'\n---\n\n# Step 5\n\n**Severity Assessment:** Pass\n\n**Sections Looked At:** 6 of 6\n";
    let mut seen = Vec::new();
    passages("_flow/workflows/plan/steps/step-05.md", step, |p| {
        seen.push((p.strength, p.text.to_owned()));
    });
    let strength = |words: &str| seen.iter().find(|(_, text)| text.starts_with(words)).unwrap().0;
    assert!(strength("nextStepFile: './step-06-report.md'; name:") > 150, "{seen:?}");
    assert!(strength("**Severity Assessment") > strength("**Sections Looked At"), "{seen:?}");
}

#[test]
fn a_step_of_several_is_known_by_its_name() {
    for (path, expected) in [
        ("steps/step-04-review.md", true),
        ("steps-v/step-v-05-measure.md", true),
        ("steps/step_3.md", true),
        ("steps/step-01b-continue.md", true),
        ("notes/steps-2024.md", false),
        ("docs/step-by-step.md", false),
        ("docs/stepping.md", false),
    ] {
        assert_eq!(is_step(path), expected, "{path}");
    }
}
