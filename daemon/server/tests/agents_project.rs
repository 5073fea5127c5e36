//! The agents' socket: the extent of an agent's project, redaction of all answers, and agents whose folder the daemon
//! cannot see.

use std::path::{Path, PathBuf};
use std::process::Command;

use longhaul_protocol::socket::of_agents;
use longhaul_protocol::{AgentAccess, ErrorKind, METHODS};
use serde_json::{Value, json};

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, Process, configure, field, found, github_token, text_at};

const AT_ROOT: &str = "019cadd3-0000-7000-8000-0000000000a1";
const BELOW: &str = "019cadd3-0000-7000-8000-0000000000a2";
const NEIGHBOR: &str = "019cadd3-0000-7000-8000-0000000000b1";
const SAME_BEGINNING: &str = "019cadd3-0000-7000-8000-0000000000b2";
const ABOVE: &str = "019cadd3-0000-7000-8000-0000000000b3";

/// The folder of this process, as the daemon sees it.
fn here() -> PathBuf {
    std::env::current_dir().unwrap().canonicalize().unwrap()
}

/// The root of this repository.
fn root() -> PathBuf {
    let root = here().ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned);
    root.expect("a checkout of this repository")
}

fn ids(rows: &Value) -> Vec<&str> {
    let mut ids: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| text_at(row, "thread_id")).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The hits for `turbine` once everything is indexed.
async fn searched(client: &mut Client, params: &Value) -> Value {
    found("the index has everything", async || {
        let found = client.request("thread/search", params.clone()).await;
        // The index opens after the socket.
        if found.kind() == Some(ErrorKind::StoreBusy) {
            return None;
        }
        let (hits, indexed) = (field(found.result(), "hits"), field(found.result(), "indexed"));
        let is_whole = text_at(indexed, "state") == "idle" && *field(indexed, "items") != 0;
        is_whole.then(|| hits.clone())
    })
    .await
}

#[tokio::test]
async fn an_agent_below_the_root_finds_threads_of_the_root_and_none_of_a_neighbor() {
    let home = tempfile::tempdir().unwrap();
    let (root, mut beginning) = (root(), root().into_os_string());
    beginning.push("-2");
    let neighbor = root.with_file_name("neighbor");
    let folders = [
        (AT_ROOT, root.as_path()),
        (BELOW, &here()),
        (NEIGHBOR, &neighbor),
        (SAME_BEGINNING, Path::new(&beginning)),
        (ABOVE, root.parent().unwrap()),
    ];
    for (id, folder) in folders {
        // Different requests, since a search shows copies once.
        let request = format!("Repair the turbine of {id}.");
        Rollout::with_rounds(id, folder, &request, 2).write(home.path());
    }
    let (daemon, mut person) = Daemon::with_client(home, "").await;
    for (id, _) in folders {
        person.sync(id).await;
    }
    let everything = searched(&mut person, &json!({ "query": "turbine" })).await;
    assert_eq!(ids(&everything).len(), folders.len(), "the person's search is not bound");

    let mut agent = Client::connect(&of_agents(&daemon.socket)).await;
    let listed = agent.request("thread/list", json!({})).await;
    assert_eq!(ids(field(listed.result(), "threads")), [AT_ROOT, BELOW]);
    let found = searched(&mut agent, &json!({ "query": "turbine", "limit": 50 })).await;
    assert_eq!(ids(&found), [AT_ROOT, BELOW]);
    for (folder, expected) in [(&root, AT_ROOT), (&here(), BELOW)] {
        let listed = agent.request("thread/list", json!({ "cwd": folder })).await;
        assert_eq!(ids(field(listed.result(), "threads")), [expected], "a folder that is named");
        let found = searched(&mut agent, &json!({ "query": "turbine", "cwd": folder })).await;
        assert_eq!(ids(&found), [expected]);
    }
    let found = searched(&mut agent, &json!({ "query": "turbine", "thread_id": AT_ROOT })).await;
    assert_eq!(ids(&found), [AT_ROOT]);
}

/// Folders, titles and errors contain text of people. An agent gets none that looks like a secret: not from methods that
/// answer immediately, and not in an error.
#[tokio::test]
async fn secrets_in_names_are_redacted_in_all_answers_and_errors() {
    let home = tempfile::tempdir().unwrap();
    let sources = home.path().join(format!("TOKEN={}", github_token()));
    let mut rollout = Rollout::with_rounds(AT_ROOT, &root(), &format!("Use {}", github_token()), 1);
    rollout.meta("title", github_token().into()).write(&sources);
    let broken =
        format!(".codex/sessions/2026/03/02/rollout-2026-03-02T09-00-00-{NEIGHBOR}.jsonl.zst");
    std::fs::write(sources.join(broken), "no zstd at all").unwrap();
    let config = format!("[sources.codex]\nhome = {:?}\n", sources.join(".codex"));
    let (daemon, mut person) = Daemon::synced(home, &config, AT_ROOT).await;
    let status = person.request("daemon/status", json!({})).await.result().to_string();
    assert!(status.contains(&github_token()), "the person's status names the folder: {status}");

    let mut agent = Client::connect(&of_agents(&daemon.socket)).await;
    let hello = json!({ "client": { "name": github_token(), "version": "1" } });
    let mine = json!({ "client": { "name": "a", "version": "1" }, "folder": here() });
    let mut answers = Vec::new();
    for (method, params) in [
        ("initialize", hello.clone()),
        ("initialize", mine),
        ("daemon/status", json!({})),
        ("thread/list", json!({})),
        ("thread/get", json!({ "thread_id": AT_ROOT })),
        ("thread/get", json!({ "thread_id": github_token() })),
        ("thread/sync", json!({ "path": sources.join("none.jsonl") })),
        (
            "initialize",
            json!({ "client": { "name": "a", "version": "1" }, "folder": github_token() }),
        ),
        ("checkpoint/get", json!({ github_token(): 1 })),
        ("daemon/status", json!({ github_token(): 1 })),
    ] {
        let answer = agent.request(method, params).await;
        let text = format!("{:?}", answer.outcome);
        assert!(!text.contains(&github_token()), "{method}: {text}");
        answers.push(answer);
    }
    let status = answers[2].result();
    assert!(status.to_string().contains("[REDACTED_SECRET]"), "replaced, not lost: {status}");
    assert_eq!(*field(status, "ingest.errors"), json!([]), "they name transcripts of others");
    let whole = person.request("initialize", hello).await;
    let unchanged = field(answers[0].result(), "server");
    assert_eq!(unchanged, field(whole.result(), "server"), "what is no secret stays");
}

/// A daemon in its own user namespace, as under systemd, cannot see the folders of other processes.
#[tokio::test]
async fn an_agent_without_a_known_folder_gets_only_what_belongs_to_no_project() {
    let refusing = "[server]\ntrust_stated_folder = false\n";
    for (config, is_trusted) in [("", true), (refusing, false)] {
        let home = tempfile::tempdir().unwrap();
        Rollout::with_rounds(AT_ROOT, &root(), "Repair the turbine.", 2).write(home.path());
        Rollout::with_rounds(NEIGHBOR, home.path(), "Repair the turbine.", 2).write(home.path());
        let Some(process) = in_a_namespace(home.path(), config).await else {
            eprintln!("not run: a daemon in a user namespace (unshare --user is not allowed)");
            return;
        };
        let mut person = Client::connect(&process.socket).await;
        person.sync(AT_ROOT).await;
        person.sync(NEIGHBOR).await;
        let mut agent = Client::connect(&of_agents(&process.socket)).await;
        let hello = json!({ "client": { "name": "a", "version": "1" }, "folder": here() });
        assert!(agent.request("initialize", hello).await.outcome.is_ok());
        assert!(agent.request("daemon/status", json!({})).await.outcome.is_ok());
        for info in METHODS.iter().filter(|info| info.agents == AgentAccess::OwnProject) {
            for params in [json!({}), json!({ "thread_id": AT_ROOT }), json!({ "cwd": here() })] {
                let answer = agent.request(info.name, params.clone()).await;
                let is_refused = answer.kind() == Some(ErrorKind::Forbidden);
                assert!(is_trusted || is_refused, "{} {params}: {answer:?}", info.name);
            }
        }
        let own = agent.request("thread/get", json!({ "thread_id": AT_ROOT })).await;
        assert_eq!(own.outcome.is_ok(), is_trusted, "{own:?}");
        let other = agent.request("thread/get", json!({ "thread_id": NEIGHBOR })).await;
        assert_eq!(other.kind(), Some(ErrorKind::Forbidden), "{other:?}");
        if !is_trusted {
            let hint = own.error().data.as_ref().unwrap().hint.clone().unwrap();
            assert!(hint.contains("server.trust_stated_folder"), "{hint}");
        }
    }
}

/// A daemon at `home` in its own user namespace; `None` if the machine allows none.
async fn in_a_namespace(home: &Path, config: &str) -> Option<Process> {
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-current-user"]);
        command
    };
    if !unshare().arg("true").output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    configure(home, config);
    let mut command = unshare();
    command.arg(env!("CARGO_BIN_EXE_longhauld")).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    Some(Process::spawn(command, home).await)
}
