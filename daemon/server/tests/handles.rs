//! Ids and handles as people and models write them.

use longhaul_protocol::ErrorKind;
use longhaul_protocol::socket::of_agents;
use serde_json::{Value, json};

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, field, text_at};

const OWN: &str = "019cadd3-1000-7000-8000-00000000000a";
const OWN_TOO: &str = "019cadd3-2000-7000-8000-00000000000a";
const OTHER: &str = "019cadd3-2100-7000-8000-00000000000b";

struct Desk {
    daemon: Daemon,
    person: Client,
}

/// Two threads of this process's project and one of another.
async fn desk() -> Desk {
    let home = tempfile::tempdir().unwrap();
    let here = std::env::current_dir().unwrap();
    let elsewhere = home.path().to_owned();
    for (thread, folder) in [(OWN, &here), (OWN_TOO, &here), (OTHER, &elsewhere)] {
        Rollout::with_rounds(thread, folder, "Repair the turbine.", 30).write(home.path());
    }
    let (daemon, mut person) = Daemon::with_client(home, "").await;
    for thread in [OWN, OWN_TOO, OTHER] {
        person.sync(thread).await;
    }
    Desk { daemon, person }
}

fn candidates(answer: &crate::support::Response) -> Vec<String> {
    assert_eq!(answer.kind(), Some(ErrorKind::Ambiguous), "{answer:?}");
    let data = answer.error().data.as_ref().unwrap();
    let detail = data.detail.as_ref().unwrap();
    let list = field(detail, "candidates").as_array().unwrap();
    let ids: Vec<String> = list.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    assert!(ids.iter().all(|id| data.hint.as_ref().unwrap().contains(id.as_str())), "{data:?}");
    ids
}

#[tokio::test]
async fn a_prefix_of_an_id_stands_for_the_only_id_that_has_it() {
    let Desk { daemon: _daemon, mut person } = desk().await;
    for method in ["thread/get", "checkpoint/view", "thread/items", "history/get", "context/usage"]
    {
        let whole = person.request(method, json!({ "thread_id": OWN })).await;
        let short = person.request(method, json!({ "thread_id": "019cadd3-1" })).await;
        assert_eq!(short.result(), whole.result(), "{method}");
        let answer = person.request(method, json!({ "thread_id": "019cadd3-2" })).await;
        assert_eq!(candidates(&answer), [OWN_TOO, OTHER], "{method}");
        let answer = person.request(method, json!({ "thread_id": "beef" })).await;
        assert_eq!(answer.kind(), Some(ErrorKind::ThreadNotFound), "{method}");
    }
    let run = person.request("compaction/run", json!({ "thread_id": "019cadd3-1" })).await;
    let id = text_at(run.result(), "compaction_id").to_owned();
    for short in [&id[..12], &id["cmp_".len()..][..8]] {
        let found = person.request("compaction/get", json!({ "compaction_id": short })).await;
        assert_eq!(text_at(found.result(), "compaction_id"), id);
    }
}

#[tokio::test]
async fn a_handle_works_in_the_form_that_a_view_prints() {
    let Desk { daemon: _daemon, mut person } = desk().await;
    let view = person.request("checkpoint/view", json!({ "thread_id": OWN })).await;
    let view = text_at(view.result(), "text").to_owned();
    let (_, printed) = view.split_once("\n#").unwrap();
    let printed = format!("#{}", printed.split(' ').next().unwrap());
    let whole =
        person.request("history/expand", json!({ "handle": format!("{OWN}{printed}") })).await;
    let items = field(whole.result(), "items").clone();
    assert!(items.as_array().is_some_and(|items| !items.is_empty()), "{printed}");
    for (handle, thread) in [
        (printed.as_str(), Value::from(OWN)),
        (&printed[1..], "019cadd3-1".into()),
        (&format!("`{printed}`,"), OWN.into()),
        (&format!("019cadd3-1{printed}"), Value::Null),
        // The thread named in the handle takes precedence.
        (&format!("{OWN}{printed}"), OTHER.into()),
    ] {
        let params = json!({ "handle": handle, "thread_id": thread });
        let answer = person.request("history/expand", params).await;
        assert_eq!(field(answer.result(), "items"), &items, "{handle} of {thread}");
    }
    let without = person.request("history/expand", json!({ "handle": "#7" })).await;
    assert_eq!(without.kind(), Some(ErrorKind::InvalidParams));
    assert!(without.error().message.contains("does not name a thread"), "{without:?}");
    let answer = person.request("history/expand", json!({ "handle": "019cadd3#7" })).await;
    assert_eq!(candidates(&answer).len(), 3);
}

#[tokio::test]
async fn an_agents_ids_resolve_only_to_threads_of_its_project() {
    let desk = desk().await;
    let mut agent = Client::connect(&of_agents(&desk.daemon.socket)).await;
    let answer = agent.request("checkpoint/view", json!({ "thread_id": "019cadd3" })).await;
    assert_eq!(candidates(&answer), [OWN, OWN_TOO]);
    // Two ids have this prefix, but only one is the agent's.
    let answer = agent.request("thread/get", json!({ "thread_id": "019cadd3-2" })).await;
    assert_eq!(text_at(answer.result(), "thread.thread_id"), OWN_TOO);
    let params = json!({ "handle": "#2", "thread_id": "019cadd3-2" });
    let answer = agent.request("history/expand", params).await;
    assert!(text_at(answer.result(), "path").contains(OWN_TOO));
    for params in [
        json!({ "handle": "#2", "thread_id": OTHER }),
        json!({ "handle": format!("{OTHER}#2") }),
        json!({ "handle": "019cadd3-21#2" }),
    ] {
        let answer = agent.request("history/expand", params.clone()).await;
        assert!(answer.outcome.is_err(), "{params}: {answer:?}");
    }
}

#[tokio::test]
async fn a_wrong_digest_is_not_called_a_rewritten_transcript() {
    let Desk { daemon: _daemon, mut person } = desk().await;
    let handle = format!("{OWN}#6.000000");
    let answer = person.request("history/expand", json!({ "handle": handle })).await;
    assert_eq!(answer.kind(), Some(ErrorKind::HandleNotFound), "{answer:?}");
}
