use super::*;
use crate::corpus::Session;
use crate::fact::FactKind;
use crate::tally::Tally;
use crate::words::WordKind;
use serde_json::{Value, json};

/// Writes rollout lines in the envelope form.
#[derive(Default)]
struct Rollout {
    text: String,
    calls: usize,
}

impl Rollout {
    fn new(thread_id: &str) -> Self {
        let mut this = Self::default();
        this.line(
            "session_meta",
            &json!({"id": thread_id, "cwd": "/w",
            "instructions": "Always read guide_for_agents first."}),
        );
        this
    }

    fn line(&mut self, kind: &str, payload: &Value) {
        self.text += &format!("{}\n", json!({"timestamp": "t", "type": kind, "payload": payload}));
    }

    fn user(mut self, text: &str) -> Self {
        let content = json!([{"type": "input_text", "text": text}]);
        self.line("response_item", &json!({"type": "message", "role": "user", "content": content}));
        self
    }

    fn run(mut self, cmd: &str, output: &str, code: i64) -> Self {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        let arguments = json!({"cmd": cmd}).to_string();
        self.line(
            "response_item",
            &json!({"type": "function_call", "name": "exec_command",
            "call_id": id, "arguments": arguments}),
        );
        let output = format!("Exit code: {code}\nWall time: 0 seconds\nOutput:\n{output}");
        self.line(
            "response_item",
            &json!({"type": "function_call_output", "call_id": id,
            "output": output}),
        );
        self
    }

    fn patch(mut self, patch: &str) -> Self {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        self.line(
            "response_item",
            &json!({"type": "custom_tool_call", "name": "apply_patch",
            "call_id": id, "input": patch}),
        );
        self.line(
            "response_item",
            &json!({"type": "custom_tool_call_output", "call_id": id,
            "output": "Exit code: 0\nOutput:\nSuccess."}),
        );
        self
    }

    fn session(self, name: &str) -> Session {
        Session { name: name.to_owned(), repository: "repo".to_owned(), bytes: self.text.into() }
    }
}

#[test]
fn real_summary_is_compared_with_a_view_of_its_size() {
    let line = |more: Value| {
        let mut line = json!({"sessionId": "s", "cwd": "/w", "uuid": "u", "type": "user"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let call = |id: usize, command: &str, output: &str| {
        let input = json!({"command": command});
        let block =
            json!({"type": "tool_use", "id": id.to_string(), "name": "Bash", "input": input});
        let answer =
            json!({"type": "tool_result", "tool_use_id": id.to_string(), "content": output});
        line(json!({"type": "assistant", "message": {"content": [block]}}))
            + &line(json!({"message": {"content": [answer]}, "toolUseResult": {"stdout": output}}))
    };
    let files: Vec<String> = (0..8).map(|n| format!("src/part_{n}.rs")).collect();
    let mut text = line(json!({"message": {"content": "Look at all parts"}}));
    text += &call(0, "rg --files", &files.join("\n"));
    let before = text.len();
    let summary = "We look at src/part_0.rs and src/part_1.rs.";
    text += &line(json!({"isCompactSummary": true, "message": {"content": summary}}));
    for (n, file) in files.iter().enumerate() {
        text += &call(n + 1, &format!("rg main {file}"), "nothing");
    }
    let session = Session { name: "s".into(), repository: "r".into(), bytes: text.into_bytes() };
    let options = Options { budgets: vec![], baselines: false, misses: false };
    let mut asked = None;
    let report = evaluate(&[session][..], &options, &mut |cut, budget| {
        asked = Some((cut.bytes.len(), budget));
        Ok("src/part_0.rs src/part_1.rs src/part_2.rs".to_owned())
    });
    let report = report.unwrap();
    assert_eq!(asked, Some((before, 11)), "the view is requested for the summarized history");
    let row = &report.summaries[0];
    assert_eq!((row.summary_frr.kept, row.view_frr.kept), (2, 3), "{row:?}");
    assert!(report.summaries_line().unwrap().starts_with("1 real summaries of 11 tokens"));
}

/// Past: reads that name six things, a patch, a failed build whose long output holds the 35 % cut.
/// Future: uses five of the six from memory, one after it was shown again, one that is injected.
fn session(thread_id: &str) -> Session {
    Rollout::new(thread_id)
        .user("Make the parser faster, please")
        .run("rg --files", "src/lexer.rs src/parser.rs src/token.rs docs/guide.md", 0)
        .run("cat src/lexer.rs", "fn next_token() {} fn peek_token() {} fn skip_blank() {}", 0)
        .patch("*** Begin Patch\n*** Update File: src/parser.rs\n+x\n*** End Patch")
        .run("cargo build --release", &"error: it does not build ".repeat(20), 101)
        .run("echo shown", "skip_blank CANARY_AFTER_CUT", 0)
        .run("rg next_token src/token.rs", "-", 0)
        .run("rg peek_token src/lexer.rs", "-", 0)
        .run("rg skip_blank docs/guide.md", "-", 0)
        .run("rg guide_for_agents src/unseen.rs", "-", 0)
        .run("cat big.txt", &"filler ".repeat(150), 0)
        .session(thread_id)
}

fn options(misses: bool) -> Options {
    Options { budgets: vec![1000], baselines: true, misses }
}

fn run(view: &str) -> Report {
    let sessions = [session("t1")];
    evaluate(&sessions[..], &options(true), &mut |_, _| Ok(view.to_owned())).expect("it runs")
}

#[test]
fn gold_of_a_small_session() {
    let report = run("");
    assert_eq!(report.corpus.cuts, 1, "later cuts have too little to remember");
    let mut names: Vec<&str> = report
        .misses
        .iter()
        .filter(|miss| miss.distance.is_some())
        .map(|miss| miss.text.as_str())
        .collect();
    names.sort_unstable();
    // Not skip_blank (shown again), not guide_for_agents (injected), not src/unseen.rs (new).
    assert_eq!(
        names,
        ["docs/guide.md", "next_token", "peek_token", "src/lexer.rs", "src/token.rs"]
    );
}

#[test]
fn scores_are_shares_of_what_was_needed() {
    let report =
        run("next_token, src/lexer.rs\nsrc/parser.rs edited\nMake the parser faster, please");
    let measure = report.measure(VIEW_NAME, 1000).expect("a measure");
    assert!((measure.frr - 40.0).abs() < 1e-9, "two of five: {}", measure.frr);
    // Edited file and request of four facts; the build's status and its error are not said.
    assert!((measure.bfr - 50.0).abs() < 1e-9, "two of four: {}", measure.bfr);
    assert!((measure.score - 40.0).abs() < 1e-9);
    assert_eq!(measure.facts[&FactKind::EditedFile], Tally { kept: 1, asked: 1 });
    assert_eq!(measure.facts[&FactKind::Command], Tally { kept: 0, asked: 1 });
    assert_eq!(measure.facts[&FactKind::LastError], Tally { kept: 0, asked: 1 });
}

#[test]
fn oracle_is_perfect_and_a_bag_of_names_states_no_facts() {
    let report = run("");
    let measure = |view| report.measure(view, 1000).expect("a measure");
    let oracle = measure(Baseline::Oracle.into_str());
    assert_eq!((oracle.frr, oracle.bfr), (100.0, 100.0));
    let bag = measure(Baseline::IdentifierBag.into_str());
    assert_eq!(bag.facts[&FactKind::EditedFile].kept, 0);
    assert_eq!(measure(VIEW_NAME).score, 0.0);
}

#[test]
fn false_statements_are_listed_and_word_order_counts() {
    let view =
        "Make the parser faster, please\nsrc/parser.rs (deleted)\ncargo build --release (exit 0)";
    let report = run(view);
    let said = |measure: &crate::Measure, kind| measure.words[&kind];
    let measure = report.measure(VIEW_NAME, 1000).unwrap();
    assert_eq!(said(measure, WordKind::PersonsWords), Tally { kept: 2, asked: 2 });
    assert_eq!(said(measure, WordKind::FalseStatements), Tally { kept: 2, asked: 2 });
    assert!(report.contradicted[0].contains("src/parser.rs: said deleted"), "{report:?}");
    assert!(report.contradicted[1].contains("said exit 0, was [101]"), "{report:?}");
    let heap = run("please faster parser the Make cargo build src/parser.rs");
    let heap = heap.measure(VIEW_NAME, 1000).unwrap();
    assert_eq!(said(heap, WordKind::PersonsWords).kept, 0);
}

#[test]
fn views_see_nothing_after_the_cut() {
    let whole = session("t1").bytes;
    let sessions = [session("t1")];
    let mut seen = Vec::new();
    let report = evaluate(&sessions[..], &options(false), &mut |cut, _| {
        seen.push(cut.bytes.to_vec());
        Ok(String::from_utf8_lossy(cut.bytes).into_owned())
    })
    .expect("it runs");
    assert_eq!(report.corpus.cuts, 1);
    for bytes in seen {
        assert!(whole.starts_with(&bytes), "a cut is a truncation, byte for byte");
        assert!(bytes.ends_with(b"\n"), "at a line boundary");
        assert!(!String::from_utf8_lossy(&bytes).contains("CANARY_AFTER_CUT"));
    }
    // The baselines work from the same bytes: none of them knows the canary either.
    let truncated = &whole[..whole.windows(6).position(|w| w == b"CANARY").unwrap_or(0)];
    let last_line = truncated.iter().rposition(|b| *b == b'\n').unwrap_or(0);
    let extractor = Extractor::new().expect("patterns compile");
    let histories = Histories::new(&Transcript::parse(&whole[..=last_line]), &extractor);
    for &baseline in Baseline::ALL {
        assert!(!histories.view(baseline, 100_000, &[], &[]).contains("CANARY"));
    }
}

#[test]
fn copies_of_a_session_count_once() {
    let mut fork = session("t2");
    fork.name = "fork".to_owned();
    let sessions = [session("t1"), session("t1"), fork];
    let report =
        evaluate(&sessions[..], &options(false), &mut |_, _| Ok(String::new())).expect("it runs");
    assert_eq!((report.corpus.sessions, report.corpus.distinct), (3, 1));
}

#[test]
fn names_in_many_sessions_are_excluded() {
    let mut sessions = vec![session("t0")];
    for number in 1..=10 {
        let id = format!("t{number}");
        let text = format!("Session {number} knows src/lexer.rs");
        sessions.push(Rollout::new(&id).user(&text).session(&id));
    }
    let report =
        evaluate(&sessions[..], &options(true), &mut |_, _| Ok(String::new())).expect("it runs");
    assert_eq!(report.corpus.stop_entities, ["src/lexer.rs"]);
    assert!(report.misses.iter().all(|miss| miss.text != "src/lexer.rs"));
}

#[test]
fn views_over_budget_are_cut_and_failed_ones_empty() {
    let long = format!("{}next_token", "x".repeat(4000));
    let report = run(&long);
    assert_eq!(report.corpus.over_budget, 1);
    let measure = report.measure(VIEW_NAME, 1000).expect("a measure");
    assert_eq!(measure.frr, 0.0);

    let sessions = [session("t1")];
    let report = evaluate(&sessions[..], &options(false), &mut |_, _| Err("no daemon".to_owned()))
        .expect("it runs");
    assert_eq!(report.corpus.failed_view_count, 1);
    assert_eq!(report.corpus.failed_views, ["t1: no daemon"]);
}

#[test]
fn reports_are_deterministic() {
    let json = |report: &Report| serde_json::to_string(report).expect("it serializes");
    assert_eq!(json(&run("next_token")), json(&run("next_token")));
}
