//! The configuration while the daemon runs: shown, read anew, refused.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Client, Daemon, Process, kind, soon};

fn write(daemon_home: &std::path::Path, text: &str) {
    let file = daemon_home.join(".config/longhaul/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

async fn value(client: &mut Client, key: &str) -> (Value, Value) {
    let config = client.call("daemon/config", json!({})).await["result"].take();
    let values = config["values"].as_array().unwrap();
    let found = values.iter().find(|value| value["key"] == key).unwrap();
    (found["value"].clone(), found["origin"].clone())
}

#[tokio::test]
async fn what_can_change_holds_at_once_and_the_rest_is_named() {
    let daemon = Daemon::with_config("[compaction]\nkeep_days = 7\n").await;
    let mut client = daemon.connect().await;
    assert_eq!(value(&mut client, "compaction.keep_days").await, (json!("7"), json!("file")));

    write(
        daemon.home.path(),
        "[compaction]\nkeep_days = 30\n[server]\ndrain_ms = 9\n[budget]\nrequests_per_day = 3\n\
         [model]\nprovider = \"local\"\nname = \"m\"\n\
         [providers.local]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    let result = client.call("daemon/reload", json!({})).await["result"].take();
    let change = |key: &str| {
        let changes = result["changes"].as_array().unwrap();
        changes.iter().find(|change| change["key"] == key).unwrap().clone()
    };
    assert_eq!(
        change("compaction.keep_days"),
        json!({"key": "compaction.keep_days", "before": "7", "after": "30", "applied": true})
    );
    assert_eq!(change("server.drain_ms")["applied"], false);
    assert_eq!(change("model")["after"], "local/m");
    assert_eq!(value(&mut client, "compaction.keep_days").await.0, "30");
    assert_eq!(value(&mut client, "server.drain_ms").await, (json!("5000"), json!("default")));
    let status = client.call("daemon/status", json!({})).await["result"].take();
    assert_eq!(
        (&status["model"]["name"], &status["model"]["requests_per_day"]),
        (&json!("m"), &json!(3))
    );

    let again = client.call("daemon/reload", json!({})).await["result"].take();
    let keys: Vec<&Value> =
        again["changes"].as_array().unwrap().iter().map(|change| &change["key"]).collect();
    assert_eq!(keys, ["server.drain_ms"], "what waits for a start is told each time");
}

#[tokio::test]
async fn a_file_that_is_refused_changes_nothing() {
    let daemon = Daemon::with_config("[compaction]\nkeep_days = 7\n").await;
    let mut client = daemon.connect().await;
    for (text, said) in [
        ("[compaction]\nkeep_dais = 9\n", "did you mean"),
        ("[compaction]\nkeep_days = 0\n", "out of bounds"),
        ("log = \"a=b=c\"\n[compaction]\nkeep_days = 9\n", "log"),
        ("[compaction\n", "line 1"),
    ] {
        write(daemon.home.path(), text);
        let answer = client.call("daemon/reload", json!({})).await;
        assert_eq!(kind(&answer), "config_invalid", "{text}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
        assert_eq!(value(&mut client, "compaction.keep_days").await.0, "7");
    }
}

#[tokio::test]
async fn a_hangup_reads_the_file_anew() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Process::start(home.path()).await;
    let mut client = Client::connect(&daemon.socket).await;
    assert_eq!(value(&mut client, "compaction.keep_days").await, (json!("90"), json!("default")));
    write(home.path(), "[compaction]\nkeep_days = 8\n");
    daemon.signal(Signal::HUP);
    soon("the new value", async {
        while value(&mut client, "compaction.keep_days").await.0 != "8" {}
    })
    .await;
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.exit_code().await, Some(0));
}
