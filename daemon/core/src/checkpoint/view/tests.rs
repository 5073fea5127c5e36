use proptest::prelude::*;

use super::*;
use crate::checkpoint::file_standing::{Now, OnDisk};
use crate::checkpoint::reduce::Reducer;
use crate::choice::{Choice, ChoiceAction, Choices};
use crate::digest::ContentHash;
use crate::rollout::tool::Call;
use crate::rollout::{Body, Entry, Images, Item, Role};
use crate::step::{At, Stepper};

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
    let inputs = ViewInputs {
        thread_id: None,
        state,
        semantics: &Semantics::default(),
        disk: &Disk::new(),
        focus: "",
    };
    render(&inputs, &ViewCaps::default(), max_tokens)
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
        let inputs = ViewInputs {
            thread_id: None,
            state: &state,
            semantics: &semantics,
            disk: &disk,
            focus: "",
        };
        let text = render(&inputs, &ViewCaps::default(), 2_000);
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
    let semantics = Semantics::default();
    let disk = Disk::new();
    let inputs = ViewInputs {
        thread_id: None,
        state: &state,
        semantics: &semantics,
        disk: &disk,
        focus: "",
    };
    let ran = lines::ran(&inputs, &ViewCaps::default());
    assert_eq!(ran.iter().filter(|line| line.starts_with("python3")).count(), 1, "{ran:?}");
}

fn chosen(pins: &[String], drops: &[String]) -> Semantics {
    let choice = |action| move |text: &String| Choice { action, text: text.clone(), items: None };
    let pins = pins.iter().map(choice(ChoiceAction::Pin));
    let choices = Choices::of(pins.chain(drops.iter().map(choice(ChoiceAction::Drop))));
    Semantics { choices, ..Semantics::default() }
}

fn chosen_view(state: &Checkpoint, semantics: &Semantics, max_tokens: u64) -> Rendered {
    let inputs = ViewInputs { thread_id: None, state, semantics, disk: &Disk::new(), focus: "" };
    render_below("", &inputs, &ViewCaps::default(), max_tokens)
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
