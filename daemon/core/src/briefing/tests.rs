use super::checks::End;
use super::*;
use crate::rollout::shell::Class;

fn thread() -> Briefing {
    let mut briefing = Briefing::default();
    briefing.request(1, "Port the audit trait to core. We never break the public API.", None);
    briefing.words(2, "I'll look at the trait first.");
    briefing.call(3, "c1", "cat src/audit.rs", None);
    briefing.answered("c1");
    let added = "/// Sink of audit events.\npub trait AuditSink {\n    fn record(&self, event: &Event);\n}\n";
    briefing.edited(Edit {
        seq: 5,
        path: "src/core/audit.rs",
        added,
        removed: 0,
        is_deleted: false,
    });
    briefing.call(6, "c2", "cargo test", None);
    briefing.answered("c2");
    briefing.ran(
        Run {
            seq: 7,
            script: "cargo test",
            program: "cargo",
            class: Class::Test,
            end: End::Exit(0),
            counts: None,
            printed: "ok",
            reads: None,
        },
        None,
    );
    briefing.edited(Edit {
        seq: 8,
        path: "src/lib.rs",
        added: "pub mod core;\n",
        removed: 1,
        is_deleted: false,
    });
    briefing.words(9, "Moved the trait because two sinks share it.\n- `infra` keeps the Postgres sink\n\nShall I move the sink too?");
    briefing.request(10, "yes", None);
    briefing
}

fn view(tokens: u64) -> String {
    let extra = Extra { header: "[SESSION_CHECKPOINT v1]".to_owned(), ..Extra::default() };
    render(&thread(), &extra, tokens)
}

#[test]
fn a_briefing_holds_the_request_what_it_answers_the_report_and_what_a_check_proves() {
    let text = view(2_000);
    for expected in [
        "[answered] #1 Port the audit trait to core. We never break the public API.",
        "[in progress] #10 yes",
        "(answers: Shall I move the sink too?)",
        "Moved the trait because two sinks share it.",
        "`infra` keeps the Postgres sink",
        "src/core/audit.rs (edited, +4 -0; adds AuditSink, record)",
        "cargo test → ok; ok (unverified since: src/lib.rs changed after it)",
        "never seen: builds, lints, commits, pushes",
        "no test ran since the last edit",
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
            assert!(text.contains("#10 yes"), "{tokens}: {text}");
        }
    }
}

#[test]
fn words_of_turns_taken_back_are_gone_and_their_edits_stay() {
    let mut briefing = thread();
    briefing.words(11, "The sink moved as well.");
    briefing.roll_back(2, None);
    let text = render(&briefing, &Extra::default(), 2_000);
    assert!(!text.contains("audit trait") && !text.contains("sink moved"), "{text}");
    assert!(text.contains("src/core/audit.rs"), "{text}");
}
