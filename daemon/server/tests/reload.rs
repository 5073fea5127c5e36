//! The configuration of a running daemon: shown, reloaded, rejected.

use longhaul_protocol::ErrorKind;
use longhaul_protocol::daemon::{ConfigChange, NoParams, Reload, ShowConfig};
use rustix::process::Signal;

use crate::support::{Client, Daemon, Process, configure, until};

/// The value of a key and its origin.
async fn value(client: &mut Client, key: &str) -> (String, String) {
    let config = client.call::<ShowConfig>(NoParams {}).await.unwrap();
    let found = config.values.into_iter().find(|value| value.key == key).unwrap();
    (found.value, found.origin)
}

fn pair(value: &str, origin: &str) -> (String, String) {
    (value.to_owned(), origin.to_owned())
}

#[tokio::test]
async fn live_settings_apply_at_once_and_the_others_are_listed() {
    let daemon = Daemon::with_config("[compaction]\nkeep_days = 7\n").await;
    let mut client = daemon.connect().await;
    assert_eq!(value(&mut client, "compaction.keep_days").await, pair("7", "file"));

    configure(
        daemon.home.path(),
        "[compaction]\nkeep_days = 30\n[server]\ndrain_ms = 9\n[budget]\nrequests_per_day = 3\n\
         [model]\nprovider = \"local\"\nname = \"m\"\n\
         [providers.local]\nkind = \"chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    let changes = client.call::<Reload>(NoParams {}).await.unwrap().changes;
    let change = |key: &str| changes.iter().find(|change| change.key == key).unwrap();
    let keep_days = ConfigChange {
        key: "compaction.keep_days".into(),
        before: "7".into(),
        after: "30".into(),
        applied: true,
    };
    assert_eq!(*change("compaction.keep_days"), keep_days);
    assert!(!change("server.drain_ms").applied);
    assert_eq!(change("model").after, "local/m");
    assert_eq!(value(&mut client, "compaction.keep_days").await, pair("30", "file"));
    assert_eq!(value(&mut client, "server.drain_ms").await, pair("5000", "default"));
    let model = client.status().await.model.unwrap();
    assert_eq!((model.provider.as_str(), model.name.as_str()), ("local", "m"));
    assert_eq!(model.requests_per_day, Some(3));

    let again = client.call::<Reload>(NoParams {}).await.unwrap().changes;
    let keys: Vec<&str> = again.iter().map(|change| change.key.as_str()).collect();
    assert_eq!(keys, ["server.drain_ms"], "what waits for a start is named each time");
}

#[tokio::test]
async fn a_rejected_file_changes_nothing() {
    let daemon = Daemon::with_config("[compaction]\nkeep_days = 7\n").await;
    let mut client = daemon.connect().await;
    for (text, expected) in [
        ("[compaction]\nkeep_dais = 9\n", "did you mean"),
        ("[compaction]\nkeep_days = 0\n", "out of bounds"),
        ("log = \"a=b=c\"\n[compaction]\nkeep_days = 9\n", "log"),
        ("[compaction\n", "line 1"),
    ] {
        configure(daemon.home.path(), text);
        let error = client.call::<Reload>(NoParams {}).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConfigInvalid, "{text}");
        assert!(error.message.contains(expected), "{}", error.message);
        assert_eq!(value(&mut client, "compaction.keep_days").await.0, "7");
    }
}

#[tokio::test]
async fn a_hangup_reads_the_file_again() {
    let home = tempfile::tempdir().unwrap();
    let (daemon, mut client) = Process::with_client(home.path()).await;
    assert_eq!(value(&mut client, "compaction.keep_days").await, pair("90", "default"));
    configure(home.path(), "[compaction]\nkeep_days = 8\n");
    daemon.signal(Signal::HUP);
    until("the new value", async || value(&mut client, "compaction.keep_days").await.0 == "8")
        .await;
    daemon.stopped().await;
}
