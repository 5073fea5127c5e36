use std::path::Path;
use std::sync::Arc;
use std::thread::ThreadId;

use longhaul_core::memory::Origin;
use longhaul_protocol::context::Estimate;
use longhaul_protocol::daemon::Status;
use longhaul_protocol::thread;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use longhaul_protocol::{ErrorKind, Method};

use super::error::Failure;
use super::*;
use crate::args::Args;
use crate::clock::Clock;
use crate::config::{Config, Surroundings};
use crate::paths::Base;
use crate::peer::Caller;
use crate::service::Deps;
use crate::socket::bind::BoundSocket;
use crate::socket::{Bounds, Server, accept};

async fn services(root: &Path) -> (Services, Deps) {
    let around = Surroundings {
        base: Base::under(root),
        current_dir: root.to_owned(),
        program: "/nowhere".into(),
        env: std::collections::BTreeMap::new(),
    };
    let config = Config::load(&Args::default(), &around).unwrap();
    let deps = Deps::new(config, Clock::manual(0));
    crate::folder::make_private(&deps.config.now().state_dir).unwrap();
    let services = Services::open(deps.clone(), root.join("v1.sock")).await.unwrap();
    (services, deps)
}

async fn empty_table(root: &Path) -> Table {
    let services = services(root).await.0;
    Table::new(&services.ingest, &services.daemon.state_check, &services.projects)
}

/// Sends `lines` to a server with this table and returns the answers.
async fn answers(root: &Path, table: Table, lines: &[&str]) -> Vec<serde_json::Value> {
    let bound = BoundSocket::bind(&root.join("run/v1.sock")).unwrap();
    let path = bound.path.clone();
    let server = Server::new(table.methods, Bounds::default(), Arc::default(), Clock::manual(0));
    let stop = tokio_util::sync::CancellationToken::new();
    let serve =
        tokio::spawn(accept::serve((bound, Caller::Person), Arc::new(server), stop.clone()));
    let mut stream = BufReader::new(UnixStream::connect(path).await.unwrap());
    let mut answers = Vec::new();
    for line in lines {
        stream.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_line(&mut answer).await.unwrap();
        answers.push(serde_json::from_str(&answer).unwrap());
    }
    stop.cancel();
    drop(serve.await.unwrap().unwrap());
    answers
}

fn call(id: u64, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"context/estimate","params":{{"text":"{text}"}}}}"#
    )
}

#[tokio::test]
async fn blocking_work_runs_on_another_thread_and_its_panic_has_the_right_id() {
    let home = tempfile::tempdir().unwrap();
    let mut table = empty_table(home.path()).await;
    let here: ThreadId = std::thread::current().id();
    table
        .of(&Arc::new(()))
        .on_blocking::<Estimate>(move |(), params| {
            assert_ne!(std::thread::current().id(), here);
            assert_ne!(params.text.as_deref(), Some("panic"));
            Err(Failure::new(ErrorKind::NotWorthwhile, "done"))
        })
        .unwrap();
    let (panic, fine) = (call(7, "panic"), call(8, "fine"));
    let answers = answers(home.path(), table, &[&panic, &fine]).await;
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&7.into(), &(-32603).into()));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&8.into(), &2007.into()));
}

#[tokio::test]
async fn a_cause_stays_inside_and_the_client_gets_the_request_id() {
    let home = tempfile::tempdir().unwrap();
    let mut table = empty_table(home.path()).await;
    table
        .of(&Arc::new(()))
        .on_async::<Estimate, _>(|_, _| async { Err(Failure::internal("the secret cause")) })
        .unwrap();
    let answers = answers(home.path(), table, &[&call(1, "x")]).await;
    assert!(!answers[0].to_string().contains("secret"), "{}", answers[0]);
    assert_eq!(answers[0]["error"]["data"]["kind"], "internal");
    assert!(answers[0]["error"]["data"]["request_id"].is_string());
}

#[tokio::test]
async fn a_folder_in_the_place_of_memory_is_named_and_is_not_called_a_defect() {
    let home = tempfile::tempdir().unwrap();
    let (services, deps) = services(home.path()).await;
    let in_the_way = deps.config.now().state_dir.join("memory");
    std::fs::create_dir(&in_the_way).unwrap();
    let added = services.memory.notes.add("deploy on mondays", None, Origin::of_edit()).await;
    assert_eq!(Failure::from(added.unwrap_err()).kind(), ErrorKind::FileExists);
}

#[tokio::test]
async fn a_table_that_does_not_match_the_protocol_is_rejected() {
    let home = tempfile::tempdir().unwrap();
    assert!(matches!(
        empty_table(home.path()).await.finish(),
        Err(TableError::Missing("archive/forget"))
    ));
    let (services, deps) = services(home.path()).await;
    let mut table = Table::new(&services.ingest, &services.daemon.state_check, &services.projects);
    daemon::register(&mut table, &services.daemon, &deps.counters, &deps.shutdown).unwrap();
    assert!(matches!(
        table.of(&Arc::new(())).on::<Status>(|(), _, _| unreachable!()),
        Err(TableError::Twice("daemon/status"))
    ));
    struct Stray;
    impl Method for Stray {
        const NAME: &'static str = "thread/erase";
        type Params = thread::ThreadListParams;
        type Result = thread::ThreadListResult;
    }
    assert!(matches!(
        table.of(&Arc::new(())).on::<Stray>(|(), _, _| unreachable!()),
        Err(TableError::Unknown("thread/erase"))
    ));
}
