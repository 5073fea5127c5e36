//! Pins and drops over the socket: they apply to every later view, in all circumstances.

use std::path::Path;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::checkpoint::{
    self, Choice, ChoiceAction, Choices, ChoicesParams, Choose, ChooseParams, Unchoose,
    UnchooseParams,
};
use longhaul_protocol::compaction::{
    CompactionList, CompactionListParams, Preview, PreviewParams, RunParams, Strategy,
};
use longhaul_protocol::history::{HistoryGet, HistoryGetParams};
use longhaul_protocol::socket::of_agents;
use longhaul_protocol::thread::{Continue, ContinueParams};
use serde_json::json;

use crate::ladder::{REQUEST, SUMMARY, THREAD, daemon, on};
use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, field, of_thread, text_of};

const SESSION: &str = "019cadd3-0000-7000-8000-000000000031";
const PIN: &str = "Never touch the public API of the fetcher.";
const DROPPED: &str = "We might rewrite all of it in another language.";

/// A session in which line 3 is the agent's text to drop.
async fn session() -> (Daemon, Client) {
    let mut rollout = Rollout::new(SESSION, Path::new("/w"));
    rollout.message("user", "Make the fetcher retry.");
    rollout.message("assistant", "The fetcher gives up at the first timeout.");
    rollout.message("assistant", DROPPED);
    for round in 0..30 {
        rollout.command(&format!("cargo test fetch_{round}"), 0, "running tests\n");
    }
    rollout.message("assistant", "All of it retries now.");
    rollout.message("user", "Now document it.");
    Daemon::reading(&rollout, "").await
}

fn words(action: ChoiceAction, text: &str) -> ChooseParams {
    ChooseParams { thread_id: SESSION.into(), action, text: Some(text.into()), handle: None }
}

fn item(action: ChoiceAction, handle: &str) -> ChooseParams {
    ChooseParams { thread_id: SESSION.into(), action, text: None, handle: Some(handle.into()) }
}

async fn choices(client: &mut Client, thread_id: &str) -> Vec<Choice> {
    let params = ChoicesParams { thread_id: thread_id.into() };
    client.call::<Choices>(params).await.unwrap().choices
}

#[track_caller]
fn assert_honored(view: &str, place: &str) {
    assert!(view.contains(PIN), "{place}: {view}");
    assert!(!view.contains(DROPPED), "{place}: {view}");
}

#[tokio::test]
async fn every_view_of_a_thread_and_its_continuations_honors_the_choices() {
    let (daemon, mut client) = session().await;
    let before = client.compact(of_thread(SESSION)).await;
    assert!(before.view.contains(DROPPED) && !before.view.contains(PIN), "{}", before.view.0);
    client.call::<Choose>(words(ChoiceAction::Pin, PIN)).await.unwrap();
    let dropped = client.call::<Choose>(item(ChoiceAction::Drop, "#3")).await.unwrap().choice;
    assert_eq!(dropped.text.as_str(), DROPPED);
    for max_tokens in [300, 1_000, 4_000] {
        let params = RunParams { max_tokens: Some(max_tokens), ..of_thread(SESSION) };
        assert_honored(&client.compact(params).await.view, "compaction/run");
    }
    let params = checkpoint::ViewParams { thread_id: SESSION.into(), ..Default::default() };
    assert_honored(&client.call::<checkpoint::View>(params).await.unwrap().text, "checkpoint/view");
    let params = ContinueParams { thread_id: SESSION.into(), ..Default::default() };
    let continued = client.call::<Continue>(params).await.unwrap();
    assert_honored(&continued.compaction.view, "thread/continue");
    // Continuations have the thread's choices, and cannot remove them.
    let later = client.compact(of_thread(&continued.thread_id)).await;
    assert_honored(&later.view, "the continuation");
    let params = UnchooseParams {
        thread_id: continued.thread_id.clone(),
        choice_id: dropped.choice_id.clone(),
    };
    let error = client.call::<Unchoose>(params).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ChoiceNotFound);
    assert!(error.data.unwrap().hint.unwrap().contains(SESSION));
    // Choices survive a restart; removing one restores its line.
    let (_daemon, mut client) = Daemon::with_client(daemon.stopped().await, "").await;
    assert_honored(&client.compact(of_thread(SESSION)).await.view, "after a restart");
    let params = UnchooseParams { thread_id: SESSION.into(), choice_id: dropped.choice_id };
    client.call::<Unchoose>(params).await.unwrap();
    assert!(client.compact(of_thread(SESSION)).await.view.contains(DROPPED));
}

/// A thread has the choices of the transcripts that its history has, and no others.
#[tokio::test]
async fn a_long_lineage_has_the_choices_of_as_many_threads_as_it_has_items_of() {
    const THREADS: usize = 18;
    const LINEAGE: usize = 16;
    let id = |number: usize| format!("019cadd3-0000-7000-8000-0000000001{number:02}");
    let (home, mut bytes) = (tempfile::tempdir().unwrap(), 0);
    let mut base = Rollout::new(&id(0), Path::new("/w"));
    for number in 0..THREADS {
        let mut rollout = match number {
            0 => Rollout::new(&id(0), Path::new("/w")),
            _ => Rollout::forked(&id(number), &base, 0),
        };
        if number > 0 {
            // Each transcript has two lines; a cut counts those of the whole lineage.
            let cut = json!({ "thread_id": id(number - 1), "end_ordinal_exclusive": number * 2,
                "end_byte_offset": bytes });
            rollout.meta("history_base", cut);
        }
        rollout.message("user", &format!("Fetch page {number}."));
        bytes = std::fs::metadata(rollout.write(home.path())).unwrap().len();
        base = rollout;
    }
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    for number in 0..THREADS {
        client.sync(&id(number)).await;
        let (thread_id, text) = (id(number), Some(format!("Page {number} is final.")));
        let params = ChooseParams { thread_id, action: ChoiceAction::Pin, text, handle: None };
        client.call::<Choose>(params).await.unwrap();
    }
    let newest = id(THREADS - 1);
    let params = HistoryGetParams { thread_id: newest.clone(), ..Default::default() };
    let items = client.call::<HistoryGet>(params).await.unwrap().items;
    let items = serde_json::to_string(&items).unwrap();
    let choices = choices(&mut client, &newest).await;
    for number in 0..THREADS {
        let is_of_lineage = number >= THREADS - LINEAGE;
        assert_eq!(items.contains(&format!("page {number}.")), is_of_lineage, "{number}: {items}");
        let pin = format!("Page {number} is final.");
        let is_chosen = choices.iter().any(|choice| choice.text.as_str() == pin);
        assert_eq!(is_chosen, is_of_lineage, "{number}: {choices:?}");
    }
}

#[tokio::test]
async fn choices_are_redacted_before_they_are_stored() {
    let (_daemon, mut client) = session().await;
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("The token of CI is {secret}");
    let made = client.call::<Choose>(words(ChoiceAction::Pin, &text)).await.unwrap();
    assert!(!made.choice.text.contains(&secret), "{:?}", made.choice);
    let view = client.compact(of_thread(SESSION)).await.view;
    assert!(view.contains("The token of CI is") && !view.contains(&secret), "{view}");
}

#[tokio::test]
async fn invalid_choices_are_rejected_by_kind() {
    let (_daemon, mut client) = session().await;
    let long = "x".repeat(5_000);
    let request = choices(&mut client, SESSION).await;
    assert_eq!(request, []);
    let receipt = client.compact(of_thread(SESSION)).await.receipt;
    let active = receipt.kept.last().unwrap().handle.clone();
    for (params, kind) in [
        (words(ChoiceAction::Pin, " "), ErrorKind::InvalidParams),
        (words(ChoiceAction::Drop, "it"), ErrorKind::InvalidParams),
        (words(ChoiceAction::Pin, &long), ErrorKind::LimitExceeded),
        (item(ChoiceAction::Drop, &active), ErrorKind::IllegalTransition),
        (item(ChoiceAction::Pin, "#9999"), ErrorKind::HandleNotFound),
        (
            item(ChoiceAction::Pin, "cmp_00000000-0000-7000-8000-000000000000#1"),
            ErrorKind::InvalidParams,
        ),
    ] {
        let error = client.call::<Choose>(params.clone()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{params:?}: {error:?}");
    }
    let mut refused = None;
    for n in 0..70 {
        let text = format!("Rule {n}: {}", "keep to it and do not forget it. ".repeat(10));
        if let Err(error) = client.call::<Choose>(words(ChoiceAction::Pin, &text)).await {
            refused = Some(error);
            break;
        }
    }
    let refused = refused.expect("pins have a bound");
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded);
    let pinned = choices(&mut client, SESSION).await;
    let view = client.compact(of_thread(SESSION)).await.view;
    assert!(pinned.iter().all(|pin| view.contains(pin.text.as_str())), "{view}");
    // If they do not fit, the view and a warning say so.
    let small = RunParams { max_tokens: Some(300), ..of_thread(SESSION) };
    let small = client.compact(small).await;
    assert!(small.view.contains("not fit") && small.view.len() <= 1_200, "{}", small.view.0);
    assert!(small.warnings.iter().any(|warning| warning.kind == "pins_incomplete"));
}

#[tokio::test]
async fn an_agent_can_read_choices_but_not_make_them() {
    let folder = std::env::current_dir().unwrap();
    let mut rollout = Rollout::new(SESSION, &folder);
    rollout.message("user", "Make the fetcher retry.");
    rollout.message("assistant", "It retries.");
    let (daemon, mut client) = Daemon::reading(&rollout, "").await;
    let made = client.call::<Choose>(words(ChoiceAction::Pin, PIN)).await.unwrap();
    let mut agent = Client::connect(&of_agents(&daemon.socket)).await;
    let error = agent.call::<Choose>(words(ChoiceAction::Drop, PIN)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    let choice_id = made.choice.choice_id.clone();
    let params = UnchooseParams { thread_id: SESSION.into(), choice_id };
    let error = agent.call::<Unchoose>(params).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    assert_eq!(choices(&mut agent, SESSION).await, [made.choice]);
}

#[tokio::test]
async fn a_model_gets_the_choices_and_its_summary_is_checked_against_them() {
    for strategy in [Strategy::Hybrid, Strategy::Summary] {
        let answer = format!("{SUMMARY}\n- The zeppelin plan is still open.");
        let provider = Provider::start(vec![Answer::says(&answer)]).await;
        let (_daemon, mut client) = daemon(&provider, "").await;
        for (action, text) in [(ChoiceAction::Pin, PIN), (ChoiceAction::Drop, "zeppelin plan")] {
            let params = ChooseParams { thread_id: THREAD.into(), ..words(action, text) };
            client.call::<Choose>(params).await.unwrap();
        }
        let result = client.compact(on(strategy)).await;
        assert_eq!(result.strategy_used, strategy);
        let view = result.view.as_str();
        assert!(view.contains(PIN) && view.contains(SUMMARY), "{strategy}: {view}");
        assert!(!view.contains("zeppelin"), "{strategy}: {view}");
        assert!(result.history.iter().any(|item| text_of(item).contains(PIN)), "{strategy}");
        let asked = field(&provider.requests()[0].1, "input").to_string();
        assert!(asked.contains(PIN) && asked.contains("zeppelin plan"), "{strategy}");
    }
}

#[tokio::test]
async fn a_preview_equals_the_run_and_leaves_no_trace() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let params = PreviewParams {
        thread_id: THREAD.into(),
        strategy: Some(Strategy::Checkpoint),
        max_tokens: Some(900),
        ..Default::default()
    };
    let preview = client.call::<Preview>(params.clone()).await.unwrap();
    assert_eq!(preview.question, None);
    let asking = PreviewParams { strategy: Some(Strategy::Auto), ..params };
    let asking = client.call::<Preview>(asking).await.unwrap();
    let question = asking.question.expect("a model would be asked");
    assert!(question.input_tokens > 0 && question.output_tokens_max > 0, "{question:?}");
    assert_eq!((asking.strategy, provider.requests().len()), (Strategy::Hybrid, 0));
    let listed = client.call::<CompactionList>(CompactionListParams::default()).await.unwrap();
    assert_eq!(listed.compactions, []);
    let run = RunParams { max_tokens: Some(900), ..on(Strategy::Checkpoint) };
    let made = client.compact(run).await;
    assert_eq!(made.view.as_str(), preview.view.as_str());
    assert_eq!(made.tokens, preview.tokens);
    let totals = made.receipt.totals;
    assert_eq!((totals.kept, totals.dropped), (preview.totals.kept, preview.totals.dropped));
    let newest = preview.dropped.iter().map(|item| item.seq);
    assert!(newest.is_sorted_by(|one, next| one > next), "the newest first");
    let by_kind: u64 = preview.dropped_by_kind.iter().map(|kind| kind.items).sum();
    assert_eq!(by_kind, totals.dropped.items);
    for item in &preview.dropped[..3] {
        assert_eq!(client.expand(&item.handle).await.len(), 1, "{item:?}");
    }
    assert!(preview.view.contains(REQUEST));
}
