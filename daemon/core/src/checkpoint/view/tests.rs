use super::*;
use crate::checkpoint::reduce::Reducer;
use crate::checkpoint::staleness::{Now, OnDisk};
use crate::digest::ContentHash;
use crate::rollout::tool::Call;
use crate::rollout::{Body, Entry, Images, Item, Role};
use crate::step::{At, Stepper};

fn at(seq: u64) -> At {
    At { seq, ms: 0 }
}

/// Items on their way into the checkpoint.
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
    let scene =
        Scene { thread_id: None, state, semantics: &Semantics::default(), disk: &Disk::new() };
    render(&scene, &ViewCaps::default(), max_tokens)
}

#[test]
fn the_budget_holds_at_every_size() {
    let mut state = session();
    let mut feed = Feed::default();
    feed.user(&mut state, at(9), &"Très long — 很长的请求 ".repeat(2_000));
    for max_tokens in (0..60).chain([100, 333, 1_000, 2_000, 4_000, 100_000]) {
        let text = view(&state, max_tokens);
        assert!(tokens::of_text(&text) <= max_tokens, "{max_tokens}");
        assert!(max_tokens < 40 || text.contains("[TASK]"), "{max_tokens}: {text}");
    }
}

#[test]
fn changed_files_without_room_are_counted() {
    let mut state = session();
    let mut feed = Feed::default();
    for n in 0..200 {
        let patch = format!(
            "*** Begin Patch\n*** Update File: src/part_{n}/module_{n}.rs\n@@\n+x\n*** End Patch"
        );
        call(
            &mut state,
            &mut feed,
            20 + 2 * n,
            ("apply_patch", &patch),
            "Exit code: 0\nOutput:\nSuccess.",
        );
    }
    let text = view(&state, 1_000);
    let (changed, _) = text.split_once("[RECENT_ARTIFACTS]").unwrap();
    let is_listed = |line: &&str| line.contains("(edited") || line.contains("(created");
    let listed = changed.lines().filter(is_listed).count();
    let more = text.lines().find_map(|line| line.strip_prefix("- ")?.split_once(" more changed"));
    let more: usize = more.unwrap().0.parse().unwrap();
    assert_eq!(listed + more, 202, "{text}");
    assert!(listed > 60, "{listed}");
    assert!(view(&state, 10_000).lines().filter(|line| line.contains("(edited")).count() >= 200);
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
fn long_answers_are_named_with_their_price_where_there_is_room() {
    let state = long_outputs();
    let text = view(&state, 2_000);
    assert!(text.contains("- file: src/long.rs (read, #21 2.0k)"), "{text}");
    assert!(text.contains("- cmd: make all (exit 1, #23 2.3k)"), "{text}");
    assert!(text.contains("- make all #23 2.3k: "), "{text}");
    assert!(!view(&state, 1_000).contains("#21"), "names come first in a small view");
}

#[test]
fn a_changed_file_forgets_what_its_reading_printed() {
    let mut state = long_outputs();
    let patch = "*** Begin Patch\n*** Update File: src/long.rs\n@@\n+x\n*** End Patch";
    let done = "Exit code: 0\nOutput:\nSuccess.";
    call(&mut state, &mut Feed::default(), 24, ("apply_patch", patch), done);
    assert!(!view(&state, 2_000).contains("#21"));
}

#[test]
fn a_file_that_is_still_as_read_says_so() {
    let state = long_outputs();
    let (then, now) = (ContentHash::of(b"then"), ContentHash::of(b"now"));
    for (found, words) in [(&then, "(read, unchanged, #21 2.0k)"), (&now, "(read, changed on disk")]
    {
        let seen =
            OnDisk { then: Some(then.clone()), late: false, now: Now::Content(found.clone()) };
        let disk = Disk::from([("/w/src/long.rs".to_owned(), seen)]);
        let semantics = Semantics::default();
        let scene = Scene { thread_id: None, state: &state, semantics: &semantics, disk: &disk };
        let text = render(&scene, &ViewCaps::default(), 2_000);
        assert!(text.contains(&format!("- file: src/long.rs {words}")), "{text}");
    }
}

#[test]
fn files_that_were_only_searched_share_a_line() {
    let mut state = session();
    let mut feed = Feed::default();
    let search = ("exec_command", r#"{"cmd":"rg retry src/net src/disk"}"#);
    call(&mut state, &mut feed, 20, search, "Exit code: 1\nOutput:\n");
    let text = view(&state, 1_000);
    let line = text.lines().find(|line| line.starts_with("- searched: ")).unwrap();
    assert!(line.contains("src/net") && line.contains("src/disk"), "{text}");
}

#[test]
fn commands_that_only_looked_take_what_is_left() {
    let mut state = session();
    let mut feed = Feed::default();
    for n in 0..200 {
        let script = format!(r#"{{"cmd":"sed -n '{n},300p' src/fetch.rs"}}"#);
        let printed = "Exit code: 0\nOutput:\nlet x = 1;";
        call(&mut state, &mut feed, 20 + 2 * n, ("exec_command", &script), printed);
    }
    let looks = |max_tokens| {
        view(&state, max_tokens).lines().filter(|line| line.starts_with("- cmd: sed")).count()
    };
    assert!(view(&state, 1_000).contains("- cmd: sed -n '199,300p' src/fetch.rs (exit 0)"));
    assert!(looks(1_000) < looks(10_000));
    assert!(looks(100_000) <= limits::COMMANDS);
}

#[test]
fn a_request_that_had_to_be_cut_takes_what_is_left() {
    let mut state = session();
    let request: String = (0..1_600).map(|n| format!("word{n} ")).collect();
    Feed::default().user(&mut state, at(9), &request);
    let text = view(&state, 2_000);
    assert!(text.contains("bytes cut"), "{text}");
    assert!(text.len() > 7_900, "{} bytes", text.len());
    assert!(view(&state, 4_000).contains(request.trim()));
}

#[test]
fn names_that_the_same_words_would_tell_share_a_line() {
    let mut state = session();
    let mut feed = Feed::default();
    for (n, folder) in [(0, "one"), (1, "two")] {
        let script = format!(r#"{{"cmd":"rg -n 'retry_policy_of_all' src/{folder}"}}"#);
        let printed = format!("Exit code: 0\nOutput:\nfn seen_in_{folder}() {{}}");
        call(&mut state, &mut feed, 20 + 2 * n, ("exec_command", &script), &printed);
    }
    let text = view(&state, 2_000);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- from `rg -n")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].contains("seen_in_one") && lines[0].contains("seen_in_two"), "{text}");
}

#[test]
fn what_still_fails_is_told_before_what_works_by_now() {
    let mut state = session();
    let mut feed = Feed::default();
    let error = format!("Exit code: 1\nOutput:\nerror: {}", "no such thing ".repeat(40));
    for (seq, script) in [(20, "make all"), (22, "make docs")] {
        let tool = format!(r#"{{"cmd":"{script}"}}"#);
        call(&mut state, &mut feed, seq, ("exec_command", &tool), &error);
    }
    let done = "Exit code: 0\nOutput:\ndone";
    call(&mut state, &mut feed, 24, ("exec_command", r#"{"cmd":"make docs"}"#), done);
    let text = view(&state, 1_000);
    assert!(text.contains("- make all: error: no such") && !text.contains("has worked"), "{text}");
}

#[test]
fn commands_that_read_alike_are_told_once() {
    let mut state = session();
    let mut feed = Feed::default();
    for n in 0..3 {
        let script = format!(r#"{{"cmd":"python3 - <<'PY'\nprint({n})\nPY"}}"#);
        let done = "Exit code: 0\nOutput:\ndone";
        call(&mut state, &mut feed, 20 + 2 * n, ("exec_command", &script), done);
    }
    let text = view(&state, 2_000);
    assert_eq!(text.matches("- cmd: python3 - <<'PY' (exit 0)").count(), 1, "{text}");
}
