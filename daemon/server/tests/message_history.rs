//! Prompts stored across clients: kills while trimming, disabled storage, bounds.

use std::collections::BTreeMap;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::message_history::{
    Append, AppendParams, AppendResult, Lookup, LookupParams,
};

use crate::support::{Daemon, Process, configure};

fn prompt(text: &str) -> AppendParams {
    AppendParams { text: text.into(), ..Default::default() }
}

/// The file is full from the start, so most prompts trim it.
#[tokio::test]
async fn a_daemon_killed_while_trimming_has_every_acknowledged_prompt_under_its_number() {
    const ROOM: usize = 4_096;
    let home = tempfile::tempdir().unwrap();
    configure(home.path(), &format!("[message_history]\nmax_bytes = {ROOM}\n"));
    let (mut kept, mut sent) = (BTreeMap::new(), 0_u64);
    let text = |number: u64| format!("{number} {}", "x".repeat(700));
    for round in 1..6_u64 {
        let (process, mut client) = Process::with_client(home.path()).await;
        let mut asked = BTreeMap::new();
        for number in sent..sent + 30 {
            asked.insert(client.begin::<Append>(prompt(&text(number))).await, number);
        }
        sent += 30;
        for _ in 0..round * 4 {
            let answer = client.response().await;
            let result: AppendResult = serde_json::from_value(answer.result().clone()).unwrap();
            kept.insert(result.offset.unwrap(), asked[&answer.id.as_u64().unwrap()]);
        }
        process.killed().await;

        // Prompts that were not trimmed must exist under their acknowledged numbers.
        let (process, mut client) = Process::with_client(home.path()).await;
        let found = client.call::<Lookup>(LookupParams::default()).await.unwrap();
        let (first, next) = (found.logs[0].first, found.logs[0].next);
        assert!(next > *kept.last_key_value().unwrap().0, "{found:?}");
        assert!(next - first >= 3, "a trim keeps what has room: {found:?}");
        let there: BTreeMap<u64, &str> = found
            .messages
            .iter()
            .map(|found| (found.offset, found.text.bytes().as_str()))
            .collect();
        let count = there.len() as u64;
        assert_eq!(count, next - first, "a number is missing or repeated: {found:?}");
        for (offset, number) in kept.range(first..) {
            assert_eq!(there[offset], text(*number), "round {round}");
        }
        process.killed().await;
    }
    assert!(kept.len() >= 50, "{kept:?}");
}

#[tokio::test]
async fn no_prompt_is_written_when_the_configuration_says_so() {
    for (config, is_kept) in [("", true), ("[message_history]\npersistence = \"none\"\n", false)] {
        let daemon = Daemon::with_config(config).await;
        let mut client = daemon.connect().await;
        let answer = client.call::<Append>(prompt("x")).await.unwrap();
        assert_eq!(answer.persisted, is_kept);
        assert_eq!((answer.log_id.is_some(), answer.offset.is_some()), (is_kept, is_kept));
        assert_eq!((answer.redacted, answer.trimmed), (0, 0));
        let found = client.call::<Lookup>(LookupParams::default()).await.unwrap();
        assert_eq!(found.messages.len(), usize::from(is_kept), "{found:?}");
        assert_eq!(found.logs.len(), usize::from(is_kept), "{found:?}");
    }
}

#[tokio::test]
async fn a_blank_or_overlong_prompt_is_rejected() {
    let (_daemon, mut client) = Daemon::start_with_client().await;
    for (text, expected) in [
        (" ".to_owned(), ErrorKind::InvalidParams),
        ("x".repeat(300_000), ErrorKind::LimitExceeded),
    ] {
        let error = client.call::<Append>(prompt(&text)).await.unwrap_err();
        assert_eq!(error.kind(), expected);
    }
}
