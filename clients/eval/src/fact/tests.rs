use super::command::segments;
use super::*;
use crate::view::View;

fn states(view: &str, fact: &Fact) -> bool {
    holds(&View::new(view), fact, 1000, &Words::new().expect("patterns compile"))
}

fn file(path: &str, states: &[PatchAction]) -> Fact {
    Fact::File { paths: vec![path.to_owned()], states: states.to_vec() }
}

#[test]
fn a_file_needs_its_own_state_beside_it() {
    let edited = file("src/a.rs", &[PatchAction::Edit]);
    assert!(states("- src/a.rs: edited (+3 -1)", &edited));
    assert!(states("Edited: src/b.rs, src/a.rs", &edited));
    assert!(states("edited /home/u/proj/src/a.rs", &edited));
    assert!(!states("src/a.rs\nedited", &edited), "another line");
    assert!(!states("src/a.rs deleted", &edited), "the wrong word");
    assert!(!states("src/a.rs.bak edited", &edited), "another file");
    assert!(!states("src/a.rs src/b.rs", &edited), "no word at all");
    let far = format!("src/a.rs {} edited", "x".repeat(120));
    assert!(!states(&far, &edited), "too far off");
}

#[test]
fn the_nearest_word_decides() {
    let deleted = file("b.rs", &[PatchAction::Delete]);
    assert!(states("a.rs edited; b.rs deleted", &deleted));
    assert!(!states("b.rs edited, then c.rs deleted", &deleted));
}

#[test]
fn a_command_needs_its_exit_status() {
    let failed = Fact::Command("cargo build --release".to_owned(), 101);
    assert!(states("cmd: cargo build --release (exit 101)", &failed));
    assert!(states("`cargo build --release` failed", &failed));
    assert!(!states("cargo build --release (exit 0)", &failed));
    assert!(!states("cargo build --release", &failed));
    let long = format!("./run --flag {}", "value ".repeat(40));
    let long = long.trim().to_owned();
    assert!(states(&format!("{long} (exit 0)"), &Fact::Command(long.clone(), 0)));
    assert!(states(&format!("{}… exit 0", &long[..80]), &Fact::Command(long, 0)));
}

#[test]
fn tests_and_plan_steps_need_their_outcome() {
    assert!(states("cargo test: passed", &Fact::Test("cargo test".to_owned(), true)));
    assert!(states("cargo test (exit 101)", &Fact::Test("cargo test".to_owned(), false)));
    let done = Fact::Plan("Read the code".to_owned(), PlanState::Completed);
    assert!(states("- [x] Read the code (id=1)", &done));
    assert!(states("Read the code: completed", &done));
    assert!(!states("- [ ] Read the code", &done));
}

#[test]
fn a_request_stands_verbatim_or_by_head_and_tail() {
    let short = Fact::Request("Fix the parser, then run the tests".to_owned());
    assert!(states("[TASK]\nFix the parser,\nthen run the tests", &short));
    assert!(!states("Fix the parser", &short));
    let words: Vec<String> = (0..400).map(|n| format!("word{n}")).collect();
    let long = words.join(" ");
    let head: String = long.chars().take(240).collect();
    let tail: String = long[long.len() - 120..].to_owned();
    assert!(states(&format!("{head} … {tail}"), &Fact::Request(long.clone())));
    assert!(!states(&head, &Fact::Request(long)));
}

#[test]
fn of_a_template_that_fences_it_the_request_is_what_was_typed() {
    for (typed, expected) in [("Phase 2", Some("Phase 2")), ("", None)] {
        let sent =
            format!("## User Input\n\n```text\n{typed}\n```\n\n## Outline\n\n1. Run the setup.");
        let payload = serde_json::json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": sent }] });
        let line = serde_json::json!({ "type": "response_item", "payload": payload });
        let transcript = Transcript::parse(line.to_string().as_bytes());
        let request = last_request(&transcript.steps);
        let expected = expected.map(|words| Fact::Request(words.to_owned()));
        assert_eq!(format!("{request:?}"), format!("{expected:?}"));
    }
}

#[test]
fn an_error_needs_one_of_its_telling_lines() {
    let error = Fact::Error(vec!["error[E0308]: mismatched types".to_owned()]);
    assert!(states("last error: error[E0308]: mismatched types", &error));
    assert!(!states("there was an error", &error));
}

#[test]
fn looking_commands_are_told_from_doing_ones() {
    assert!(is_read_only("cd src && rg 'a|b;c' | head -n 3"));
    assert!(is_read_only("git -C x status && ls"));
    assert!(!is_read_only("git commit -m 'ls'"));
    assert!(!is_read_only("ls && cargo build"));
    assert_eq!(segments("a 'b|c' && d || e; f"), ["a 'b|c'", "d", "e", "f"]);
}

#[test]
fn test_runners_are_known_at_the_head_of_a_part_only() {
    let reader = FactReader::new().expect("patterns compile");
    let runs = |command: &str| segments(command).iter().any(|p| reader.test_command.is_match(p));
    for command in [
        "cargo test -p core",
        "cd x && npm run test:unit",
        "uv run pytest -q",
        "CI=1 npx vitest run",
    ] {
        assert!(runs(command), "{command}");
    }
    for command in ["cat pytest.ini", "ls tests", "git checkout test", "echo cargo test"] {
        assert!(!runs(command), "{command}");
    }
}
