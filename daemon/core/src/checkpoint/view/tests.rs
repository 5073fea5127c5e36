use proptest::prelude::*;

use super::*;
use crate::checkpoint::document::document;
use crate::checkpoint::file_standing::{Now, OnDisk};
use crate::checkpoint::reduce::Reducer;
use crate::checkpoint::semantic::AcceptedUpdate;
use crate::choice::{Choice, ChoiceAction, Choices};
use crate::digest::ContentHash;
use crate::rollout::tool::Call;
use crate::rollout::{Body, Entry, Images, Item, Role};
use crate::step::{At, Step, Stepper};

fn at(seq: u64) -> At {
    At { seq, ms: 0 }
}

/// Feeds items into the checkpoint.
#[derive(Default)]
struct Feed {
    stepper: Stepper,
    reducer: Reducer,
}

impl Feed {
    fn item(&mut self, state: &mut Checkpoint, at: At, item: Item<'_>) {
        let entry = Entry { at_ms: None, body: Body::Item(item, 0) };
        if let Some(step) = self.stepper.step(at, &entry) {
            self.reducer.step(state, at, &step);
        }
    }

    fn user(&mut self, state: &mut Checkpoint, at: At, words: &str) {
        let (text, images) = (words.into(), Images::default());
        self.item(state, at, Item::Message { role: Role::User, text, images });
    }
}

fn call(state: &mut Checkpoint, feed: &mut Feed, seq: u64, tool: (&str, &str), output: &str) {
    let call_id = format!("c{seq}");
    let call = Call {
        call_id: call_id.clone().into(),
        name: tool.0.into(),
        namespace: None,
        arguments: tool.1.into(),
    };
    feed.item(state, at(seq), Item::Call(call));
    let (text, images) = (output.into(), Images::default());
    feed.item(state, at(seq + 1), Item::Output { call_id: call_id.into(), text, images });
}

fn session() -> Checkpoint {
    let mut state = Checkpoint { cwd: Some("/w".into()), ..Checkpoint::default() };
    let mut feed = Feed::default();
    feed.user(&mut state, at(0), "Add a retry to the fetcher.\nKeep the API stable.");
    call(
        &mut state,
        &mut feed,
        1,
        ("exec_command", r#"{"cmd":"cat src/fetch.rs"}"#),
        "Exit code: 0\nOutput:\npub fn fetch_once(url: &str) -> FetchResult {}\n",
    );
    call(
        &mut state,
        &mut feed,
        3,
        (
            "apply_patch",
            "*** Begin Patch\n*** Update File: src/fetch.rs\n@@\n+fn fetch_retry() {}\n*** Add File: tests/retry.rs\n+mod x;\n*** End Patch",
        ),
        "Exit code: 0\nOutput:\nSuccess.",
    );
    call(
        &mut state,
        &mut feed,
        5,
        ("exec_command", r#"{"cmd":"cargo test"}"#),
        "Exit code: 101\nOutput:\nerror[E0308]: mismatched types\ntest result: FAILED. 3 passed; 1 failed",
    );
    call(
        &mut state,
        &mut feed,
        7,
        (
            "update_plan",
            r#"{"plan":[{"step":"Read","status":"completed"},{"step":"Fix types","status":"in_progress"}]}"#,
        ),
        "Plan updated",
    );
    state.seq = 8;
    state
}

fn view(state: &Checkpoint, max_tokens: u64) -> String {
    chosen_view(state, &Semantics::default(), max_tokens).text
}

#[test]
fn the_budget_holds_at_every_size() {
    let mut state = session();
    let mut feed = Feed::default();
    feed.user(&mut state, at(9), &"Très long — 很长的请求 ".repeat(2_000));
    for max_tokens in (0..60).chain([100, 333, 1_000, 2_000, 4_000, 100_000]) {
        let text = view(&state, max_tokens);
        assert!(tokens::of_text(&text) <= max_tokens, "{max_tokens}");
        assert!(max_tokens < 60 || text.contains("[TASK]"), "{max_tokens}: {text}");
    }
}

/// A session that read one long file and ran one long failing command.
fn long_outputs() -> Checkpoint {
    let mut state = session();
    let mut feed = Feed::default();
    let printed = format!("Exit code: 0\nOutput:\n{}", "let value_of_x = 1;\n".repeat(400));
    let read = ("exec_command", r#"{"cmd":"cat src/long.rs"}"#);
    call(&mut state, &mut feed, 20, read, &printed);
    let failed = printed.replace("code: 0", "code: 1").replace("let value", "error: value");
    call(&mut state, &mut feed, 22, ("exec_command", r#"{"cmd":"make all"}"#), &failed);
    state.seq = 23;
    state
}

#[test]
fn long_outputs_are_shown_with_their_cost_if_there_is_room() {
    let state = long_outputs();
    let text = view(&state, 2_000);
    assert!(text.contains("src/long.rs (read, #21 2.0k)"), "{text}");
    assert!(text.contains("make all → exit 1; error: value_of_x"), "{text}");
}

#[test]
fn a_change_drops_the_output_of_reading_the_file() {
    let mut state = long_outputs();
    let patch = "*** Begin Patch\n*** Update File: src/long.rs\n@@\n+x\n*** End Patch";
    let done = "Exit code: 0\nOutput:\nSuccess.";
    call(&mut state, &mut Feed::default(), 24, ("apply_patch", patch), done);
    assert!(!view(&state, 2_000).contains("#21"));
}

#[test]
fn a_file_that_is_unchanged_is_marked() {
    let state = long_outputs();
    let (then, now) = (ContentHash::of(b"then"), ContentHash::of(b"now"));
    for (found, words) in [(&then, "(read, unchanged, #21 2.0k)"), (&now, "(read, changed on disk")]
    {
        let seen =
            OnDisk { then: Some(then.clone()), late: false, now: Now::Content(found.clone()) };
        let disk = Disk::from([("/w/src/long.rs".to_owned(), seen)]);
        let semantics = Semantics::default();
        let text = render(&inputs(&state, &semantics, &disk), &ViewCaps::default(), 2_000);
        assert!(text.contains(&format!("src/long.rs {words}")), "{text}");
    }
}

#[test]
fn identical_commands_are_shown_once() {
    let mut state = session();
    let mut feed = Feed::default();
    for n in 0..3 {
        let script = format!(r#"{{"cmd":"python3 - <<'PY'\nprint({n})\nPY"}}"#);
        let done = "Exit code: 0\nOutput:\ndone";
        call(&mut state, &mut feed, 20 + 2 * n, ("exec_command", &script), done);
    }
    let (semantics, disk) = (Semantics::default(), Disk::new());
    let ran = lines::ran(&inputs(&state, &semantics, &disk), &ViewCaps::default());
    assert_eq!(ran.iter().filter(|(_, line)| line.starts_with("python3")).count(), 1, "{ran:?}");
}

fn chosen(pins: &[String], drops: &[String]) -> Semantics {
    let choice = |action| move |text: &String| Choice { action, text: text.clone(), items: None };
    let pins = pins.iter().map(choice(ChoiceAction::Pin));
    let choices = Choices::of(pins.chain(drops.iter().map(choice(ChoiceAction::Drop))));
    Semantics { choices, ..Semantics::default() }
}

fn chosen_view(state: &Checkpoint, semantics: &Semantics, max_tokens: u64) -> Rendered {
    render_below("", &inputs(state, semantics, &Disk::new()), &ViewCaps::default(), max_tokens)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any content of the thread and any size of the view.
    #[test]
    fn a_pin_is_shown_and_a_drop_is_not(
        said in proptest::collection::vec("([a-z]{2,9} ){3,24}(zzdrop[0-4])?( [a-z]{2,9}){0,9}", 1..24),
        pins in proptest::collection::vec("PIN [a-zé]{3,12}( [a-z]{1,9}){0,30}", 0..5),
        max_tokens in 0_u64..3_000,
    ) {
        let mut state = session();
        let mut feed = Feed::default();
        for (seq, words) in (20..).step_by(2).zip(&said) {
            feed.user(&mut state, at(seq), words);
            let (role, text) = (Role::Assistant, format!("Done: {words}.\n- {words}").into());
            feed.item(&mut state, at(seq + 1), Item::Message { role, text, images: Images::default() });
        }
        let drops: Vec<String> = (0..5).map(|n| format!("zzdrop{n}")).collect();
        let Rendered { text, pins_incomplete, .. } =
            chosen_view(&state, &chosen(&pins, &drops), max_tokens);
        prop_assert!(!text.contains("zzdrop"), "{}", text);
        prop_assert!(tokens::of_text(&text) <= max_tokens);
        let missing = pins.iter().filter(|pin| !text.contains(pin.as_str())).count();
        prop_assert!(missing <= pins_incomplete, "{missing} of {pins_incomplete}: {text}");
        // The header and three quarters of the room suffice for these.
        let needed: u64 = pins.iter().map(|pin| choice::cost(pin) + 4).sum();
        prop_assert!(pins_incomplete == 0 || needed * 4 / 3 + 40 > max_tokens, "{needed} {max_tokens}");
        if pins_incomplete > 0 && max_tokens > 160 {
            prop_assert!(text.contains("not fit"), "{text}");
        }
    }
}

#[test]
fn what_a_program_writes_into_a_file_is_an_edit_of_it() {
    let mut state = Checkpoint { cwd: Some("/w".into()), ..Checkpoint::default() };
    let mut feed = Feed::default();
    feed.user(&mut state, at(0), "Plan the parsers.");
    let mut run = |state: &mut Checkpoint, seq, program: &str, code: i64| {
        let script = serde_json::json!({ "cmd": format!("python3 - <<'E'\n{program}\nE") });
        let output = format!("Exit code: {code}\nOutput:\n");
        call(state, &mut feed, seq, ("exec_command", &script.to_string()), &output);
        state.seq = seq + 1;
        view(state, 1_000)
    };
    let plan = "Path('plan.md').write_text('# Plan\\nsteps: [1]\\nBoth parsers stay.\\n')";
    let text = run(&mut state, 1, plan, 1);
    assert!(!text.contains("steps: [1]"), "it failed: {text}");
    let text = run(&mut state, 3, plan, 0);
    assert!(text.contains("plan.md (") && text.contains("steps: [1]"), "{text}");
    let change = "p = Path('plan.md')\ntext = p.read_text().replace('steps: [1]', 'steps: [1, 2]')\n\
        add = \"\"\"\n## Choice\n\nOne lexer is enough.\n\"\"\"\np.write_text(text + add)";
    let text = run(&mut state, 5, change, 0);
    assert!(text.contains("steps: [1, 2]") && !text.contains("steps: [1]\n"), "{text}");
    assert!(text.contains("One lexer is enough."), "{text}");
}

#[test]
fn the_parts_of_a_view_add_up_to_it() {
    let state = session();
    let semantics = chosen(&["Keep the API stable for all.".to_owned()], &[]);
    let Rendered { text, lines, .. } = chosen_view(&state, &semantics, 1_000);
    let parts = parts(&text);
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(
        (names[0], names[1], names[names.len() - 1]),
        ("SESSION_CHECKPOINT", "PINNED", "TASK")
    );
    let sum: u64 = parts.iter().map(|part| part.tokens).sum();
    assert!(sum.abs_diff(tokens::of_text(&text)) <= parts.len() as u64, "{sum}");
    assert!(lines.iter().all(|line| text.contains(&line.text)), "{lines:?}");
}

#[test]
fn the_default_size_is_a_share_of_what_the_view_replaces() {
    for (before, is_compacted, expected) in [
        (8_000, false, 2_000),
        (3_000, true, 3_000),
        (100, false, 512),
        (1_000_000, false, DEFAULT_TOKENS),
        (1_000_000, true, DEFAULT_TOKENS),
    ] {
        assert_eq!(default_tokens(before, is_compacted), expected, "{before} {is_compacted}");
    }
}

#[test]
fn the_lines_of_each_part_are_counted() {
    let counted: Vec<_> = parts("[TASK]\na\nb\nc\n[PLAN]\n[FILES]\nd")
        .into_iter()
        .map(|it| (it.name, it.lines))
        .collect();
    let expected = [("TASK", 3), ("PLAN", 0), ("FILES", 1)];
    assert_eq!(counted, expected.map(|(name, lines)| (name.to_owned(), lines)));
    assert_eq!(parts("a\nb\n")[0].lines, 2);
}

pub(super) fn inputs<'a>(
    state: &'a Checkpoint,
    semantics: &'a Semantics,
    disk: &'a Disk,
) -> ViewInputs<'a> {
    ViewInputs { thread_id: None, state, semantics, disk, focus: "" }
}

pub(super) fn accepted(seq: u64, json: &str) -> AcceptedUpdate {
    let update = serde_json::from_str(json).unwrap();
    AcceptedUpdate { seq, update }
}

#[test]
fn a_rollback_restores_the_plan_of_each_turn() {
    let mut state = Checkpoint::default();
    let mut feed = Feed::default();
    let plan = |step: &str| format!(r#"{{"plan":[{{"step":"{step}","status":"pending"}}]}}"#);
    for (seq, step) in [(1, "a"), (5, "b"), (9, "c")] {
        feed.user(&mut state, at(seq), &format!("Do {step}."));
        call(&mut state, &mut feed, seq + 1, ("update_plan", &plan(step)), "Plan updated");
    }
    let steps =
        |state: &Checkpoint| state.plan.items.iter().map(|it| it.text.clone()).collect::<Vec<_>>();
    assert_eq!(steps(&state), ["c"]);
    let back = |feed: &mut Feed, state: &mut Checkpoint, turns| {
        let entry = Entry { at_ms: None, body: Body::RolledBack { turns } };
        let step = feed.stepper.step(at(12), &entry).unwrap();
        feed.reducer.step(state, at(12), &step);
    };
    back(&mut feed, &mut state, 2);
    assert_eq!(steps(&state), ["a"]);
    back(&mut feed, &mut state, 1);
    assert_eq!(steps(&state), [""; 0]);
}

#[test]
fn tools_without_a_meaning_of_their_own_are_commands() {
    let mut state = Checkpoint { cwd: Some("/w".into()), ..Checkpoint::default() };
    let mut feed = Feed::default();
    feed.user(&mut state, at(0), "Look it up.");
    call(&mut state, &mut feed, 1, ("lookup", r#"{"q":"alpha"}"#), "found");
    assert_eq!(state.commands.newest().next().map(|it| &*it.text), Some("lookup alpha"));
    let script = ("exec_command", r#"{"cmd":"ls src/ && cat a.rs && rm b.rs"}"#);
    call(&mut state, &mut feed, 3, script, "Exit code: 0\nOutput:\nx");
    let touched: Vec<_> = feed.reducer.take_touched().into_iter().map(|it| it.path).collect();
    assert_eq!(touched, ["a.rs", "b.rs"], "what is only listed has no content to compare");
}

#[test]
fn the_document_has_the_files_commands_and_the_newer_plan() {
    let state = session();
    let then = ContentHash::of(b"then");
    let seen = |late| OnDisk { then: Some(then.clone()), late, now: Now::Content(then.clone()) };
    let disk = Disk::from([
        ("/w/src/fetch.rs".to_owned(), seen(false)),
        ("/w/tests/retry.rs".to_owned(), seen(true)),
    ]);
    let of = |semantics: &Semantics| {
        serde_json::to_value(document(&inputs(&state, semantics, &disk))).unwrap()
    };
    let made = of(&Semantics::default());
    let file = &made["artifacts"]["/w/src/fetch.rs"];
    assert_eq!(
        (&file["kind"], &file["state"], &file["hash"]),
        (&"file".into(), &"edited".into(), &then.as_str().into())
    );
    assert_ne!(made["artifacts"]["/w/tests/retry.rs"]["hash"], then.as_str(), "read too late");
    assert_eq!(made["artifacts"]["cmd:cargo test"]["kind"], "command");
    let plan = &made["plan"];
    assert_eq!(plan["done"], serde_json::json!({ "1": true }));
    assert_eq!(plan["in_progress"], serde_json::json!(["2"]));
    assert_eq!(plan["evidence"]["ref"], "7");
    let proposal = r#"{"kind":"plan","steps":[{"id":"p","text":"Ship"}]}"#;
    for (seq, expected) in [(6, "1"), (7, "p"), (8, "p")] {
        let made = of(&Semantics::of(&[accepted(seq, proposal)]));
        assert_eq!(made["plan"]["steps"][0]["id"], expected, "{seq}");
    }
    let none = Checkpoint::default();
    let made =
        serde_json::to_value(document(&inputs(&none, &Semantics::default(), &disk))).unwrap();
    assert_eq!(made["plan"].get("evidence"), None);
}

#[test]
fn a_failure_is_resolved_by_the_same_commands_success() {
    let mut state = Checkpoint::default();
    let mut feed = Feed::default();
    let run = |script: &str| format!(r#"{{"cmd":"{script}"}}"#);
    let mut go = |seq, script: &str, output: &str| {
        call(&mut state, &mut feed, seq, ("exec_command", &run(script)), output);
        state.briefing.failures().map(|it| (it.text.to_owned(), it.resolved)).collect::<Vec<_>>()
    };
    let made = |resolved| [("make → exit 2: error: x".to_owned(), resolved)];
    assert_eq!(go(1, "make", "Exit code: 2\nOutput:\nerror: x"), made(false));
    assert_eq!(
        go(3, "rg nothing", "Exit code: 1\nOutput:\n"),
        made(false),
        "no match is no failure"
    );
    assert_eq!(go(5, "ls", "Exit code: 0\nOutput:\na"), made(false));
    assert_eq!(go(7, "make", "Exit code: 0\nOutput:\ndone"), made(true));
}

#[test]
fn the_document_tells_how_each_turn_proceeded() {
    let mut state = Checkpoint::default();
    let mut feed = Feed::default();
    feed.user(&mut state, at(0), "Add a retry.");
    let (text, images) = ("It is in.".into(), Images::default());
    feed.item(&mut state, at(1), Item::Message { role: Role::Assistant, text, images });
    feed.user(&mut state, at(2), "Now test it.");
    feed.reducer.step(&mut state, at(3), &Step::TurnInterrupted);
    feed.user(&mut state, at(4), "Go on.");
    let made = serde_json::to_value(document(&inputs(&state, &Semantics::default(), &Disk::new())));
    let made = made.unwrap();
    let requests = made["requests"].as_array().unwrap();
    let outcomes: Vec<_> = requests.iter().map(|request| &request["outcome"]).collect();
    assert_eq!(outcomes, ["answered", "interrupted", "open"]);
}
