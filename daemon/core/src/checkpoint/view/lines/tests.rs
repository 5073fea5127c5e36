use super::*;
use crate::checkpoint::Checkpoint;
use crate::checkpoint::file_standing::{Disk, Now, OnDisk};
use crate::checkpoint::semantic::Semantics;
use crate::checkpoint::view::render;
use crate::checkpoint::view::tests::{accepted, inputs};
use crate::digest::ContentHash;

#[test]
fn changed_files_are_listed_with_the_number_of_changes() {
    use crate::checkpoint::files::{FileState, FileTouch};
    use FileState::{Created, Edited, Read};
    let mut state = Checkpoint { cwd: Some("/w".into()), ..Checkpoint::default() };
    let touches = [
        ("read.rs", "/w", &[Read][..]),
        ("once.rs", "/w", &[Edited]),
        ("often.rs", "/w", &[Edited, Edited, Edited]),
        ("new.rs", "/w", &[Created]),
        ("/w/grown.rs", "/w", &[Created, Edited, Edited]),
        ("/tmp/note.txt", "/w", &[Created]),
        ("/tmp/wt/a.rs", "/w", &[Edited]),
        ("b.rs", "/w/web", &[Edited]),
        ("/x/c.rs", "/w", &[Edited]),
        ("../x/d.rs", "/w", &[Edited]),
    ];
    for (seq, (path, cwd, states)) in (1..).zip(touches) {
        for state_ in states {
            let (cwd, at_ms, hash) = (Some(cwd), 0, None);
            state.files.touch(FileTouch { path, cwd, state: *state_, seq, at_ms, hash });
        }
    }
    let (semantics, disk) = (Semantics::default(), Disk::new());
    let files = changed(&inputs(&state, &semantics, &disk));
    let shown: Vec<_> = files.iter().map(|file| (&*file.path, &*file.words)).collect();
    let expected = [
        ("../x/d.rs", "edited"),
        ("/x/c.rs", "edited"),
        ("web/b.rs", "edited"),
        ("/tmp/wt/a.rs", "edited"),
        ("grown.rs", "created, changed 2x"),
        ("new.rs", "created"),
        ("often.rs", "edited 3x"),
        ("once.rs", "edited"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn commands_are_shown_with_their_runs_and_without_their_setup() {
    let shown = |runs: &[&str]| {
        let mut state = Checkpoint::default();
        for (seq, script) in (1..).zip(runs) {
            state.commands.run(seq, script, false);
            state.commands.end(seq, crate::step::CommandOutcome::Exit(0), None);
        }
        let ran = ran(&inputs(&state, &Semantics::default(), &Disk::new()), &ViewCaps::default());
        ran.into_iter().map(|(_, line)| line).collect::<Vec<_>>()
    };
    for (script, expected) in [
        ("./deploy.sh", Some("./deploy.sh (exit 0)")),
        ("A=1; ./deploy.sh", Some("./deploy.sh (exit 0)")),
        ("A=$(date +%s -u); ./deploy.sh", Some("./deploy.sh (exit 0)")),
        ("A=1 ./deploy.sh; ./check.sh", Some("A=1 ./deploy.sh; ./check.sh (exit 0)")),
        ("A=1 ./deploy.sh (now)", Some("A=1 ./deploy.sh (now) (exit 0)")),
        ("cat > a.sh <<E\nx\nE", None),
        ("cat > a.sh <<E; sh a.sh\nx\nE", Some("sh a.sh (exit 0)")),
        ("cat a.sh b.sh > c.sh", Some("cat a.sh b.sh > c.sh (exit 0)")),
        ("tee a.sh <<E > b.sh\nx\nE", Some("tee a.sh <<E > b.sh (exit 0)")),
    ] {
        assert_eq!(shown(&[script]).first().map(String::as_str), expected, "{script}");
    }
    assert_eq!(shown(&["./a.sh", "./b.sh", "./a.sh"]), ["./a.sh (exit 0, 2x)", "./b.sh (exit 0)"]);
}

#[test]
fn the_newer_plan_is_shown_and_its_last_completed_steps() {
    let proposed = |seq| {
        let plan = r#"{"kind":"plan","steps":[{"id":"p","text":"Ship"},{"id":"q","text":"Test"}],"done":{"q":true}}"#;
        Semantics::of(&[accepted(seq, plan)])
    };
    let step = |text: &str, status| crate::rollout::tool::TodoItem { text: text.into(), status };
    use crate::rollout::tool::TodoStatus::{Done, InProgress, Pending};
    let mut state = Checkpoint::default();
    let own = [
        step("a", Done),
        step("b", Done),
        step("c", Done),
        step("d", InProgress),
        step("e", Pending),
    ];
    state.plan.replace(5, &own);
    let disk = Disk::new();
    let of = |semantics: &Semantics, done, open| {
        let caps = ViewCaps {
            max_done_plan_steps: done,
            max_open_plan_steps: open,
            ..ViewCaps::default()
        };
        plan(&inputs(&state, semantics, &disk), &caps)
    };
    let line = |(text, is_open): (&str, bool)| (text.to_owned(), is_open);
    let expected =
        [("[x] c (id=3)", false), ("[ ] d (id=4, in progress)", true), ("[ ] e (id=5)", true)];
    assert_eq!(of(&Semantics::default(), 1, 9), expected.map(line));
    assert_eq!(of(&Semantics::default(), 1, 1), expected.map(line)[..2]);
    assert_eq!(of(&Semantics::default(), 9, 9).len(), own.len());
    assert_eq!(of(&proposed(4), 1, 9), expected.map(line), "an older proposal");
    let expected = [("[ ] Ship (id=p)", true), ("[x] Test (id=q)", false)];
    for seq in [5, 6] {
        assert_eq!(of(&proposed(seq), 9, 9), expected.map(line));
    }
}

#[test]
fn facts_hold_while_the_files_they_depend_on_are_unchanged() {
    let (then, other) = (ContentHash::of(b"then"), ContentHash::of(b"other"));
    let on_disk = |now| OnDisk { then: None, late: false, now };
    let disk = Disk::from([
        ("/w/same.rs".to_owned(), on_disk(Now::Content(then.clone()))),
        ("/w/other.rs".to_owned(), on_disk(Now::Content(other))),
        ("/w/gone.rs".to_owned(), on_disk(Now::Missing)),
    ]);
    let fact = |key: &str, files: &[&str]| {
        let depends_on: Vec<_> =
            files.iter().map(|uri| serde_json::json!({ "uri": uri, "hash": then })).collect();
        let evidence = serde_json::json!({ "source": "tool_output", "ref": "call_1" });
        accepted(1, &serde_json::json!({
            "kind": "fact", "key": key, "value": "5433", "evidence": evidence, "depends_on": depends_on,
        }).to_string())
    };
    let decision = |id: &str| {
        accepted(
            2,
            &format!(
                r#"{{"kind":"decision","decision_id":"{id}","decision":"use {id}","rationale":"one file","evidence":{{"source":"user","ref":"3"}}}}"#
            ),
        )
    };
    let semantics = Semantics::of(&[
        fact("free", &[]),
        fact("held", &["same.rs"]),
        fact("late", &["same.rs", "other.rs"]),
        fact("lost", &["gone.rs"]),
        decision("d1"),
        decision("d2"),
    ]);
    let state = Checkpoint { cwd: Some("/w".into()), ..Checkpoint::default() };
    let inputs = inputs(&state, &semantics, &disk);
    let caps = ViewCaps { max_facts_suspect: 1, max_decisions: 1, ..ViewCaps::default() };
    assert_eq!(
        facts_valid(&inputs, &caps),
        [
            "fact: free: 5433 (evidence=tool_output:call_1 deps=0)",
            "fact: held: 5433 (evidence=tool_output:call_1 deps=1)",
        ]
    );
    assert_eq!(facts_suspect(&inputs, &caps), ["fact: late: 5433 (why=SUSPECT dep=other.rs)"]);
    let caps = ViewCaps::default();
    assert_eq!(facts_suspect(&inputs, &caps).len(), 2);
    assert_eq!(
        decisions(&inputs, &caps),
        [
            "decision: use d1 — one file (id=d1 evidence=user:3)",
            "decision: use d2 — one file (id=d2 evidence=user:3)",
        ]
    );
    let checked = crate::checkpoint::disk_check::DiskCheck::of(&inputs);
    assert_eq!((checked.facts_valid, checked.facts_suspect.len()), (2, 2));
    let document = serde_json::to_value(crate::checkpoint::document::document(&inputs)).unwrap();
    for (key, status) in
        [("free", "VALID"), ("held", "VALID"), ("late", "SUSPECT"), ("lost", "SUSPECT")]
    {
        assert_eq!(document["facts"][key]["status"], status, "{key}");
    }
    let text = render(&inputs, &caps, 4_000);
    for line in ["fact: held: 5433", "why=SUSPECT dep=gone.rs", "decision: use d2"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
