//! Services of a daemon in a temporary folder with a manual clock, for unit tests.

use longhaul_core::compaction::Phase;
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::rollout::compose::Opening;
use longhaul_core::thread::ThreadKind;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::args::Args;
use crate::clock::Clock;
use crate::config::{Config, Surroundings};
use crate::paths::Base;
use crate::recorder::Key;
use crate::service::compaction::{Request, Subject};
use crate::service::recording::{Addition, Body};
use crate::service::{Deps, Services};

pub(in crate::service) struct Fixture {
    pub(in crate::service) home: TempDir,
    pub(in crate::service) deps: Deps,
    pub(in crate::service) services: Services,
}

impl Fixture {
    pub(in crate::service) async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let around = Surroundings {
            base: Base::under(home.path()),
            current_dir: home.path().to_owned(),
            program: "/nowhere".into(),
            env: std::collections::BTreeMap::new(),
        };
        let config = Config::load(&Args::default(), &around).unwrap();
        let deps = Deps::new(config, Clock::manual(1_000_000));
        crate::folder::make_private(&deps.config.now().state_dir).unwrap();
        let services = Services::open(deps.clone(), home.path().join("v1.sock")).await.unwrap();
        Self { home, deps, services }
    }

    /// A recorded thread with these items, read to its end.
    pub(in crate::service) async fn thread(&self, items: &[Value]) -> String {
        self.thread_in(&self.home.path().display().to_string(), items).await
    }

    /// The same in a folder.
    pub(in crate::service) async fn thread_in(&self, cwd: &str, items: &[Value]) -> String {
        let opening = Opening {
            thread_id: String::new(),
            client_thread_id: None,
            cwd: cwd.to_owned(),
            originator: "test".to_owned(),
            version: None,
            title: None,
            kind: ThreadKind::Interactive,
            parent_thread_id: None,
            model: None,
            context_window: None,
        };
        let recordings = &self.services.thread.recordings;
        let opened = recordings.open(Key::New, opening).await.unwrap();
        self.add(&opened.thread_id, "first", items).await;
        opened.thread_id
    }

    /// Appends items to a recorded thread, under client ids that begin with `name`, and reads it to its end.
    pub(in crate::service) async fn add(&self, thread_id: &str, name: &str, items: &[Value]) {
        let recordings = &self.services.thread.recordings;
        let addition = |(n, item): (usize, &Value)| Addition {
            client_item_id: format!("{name}-{n}"),
            body: Body::Item(item.clone()),
        };
        let additions = items.iter().enumerate().map(addition).collect();
        recordings.append(thread_id, additions, None).await.unwrap();
        recordings.close(thread_id).await.unwrap();
    }
}

pub(in crate::service) fn message(role: &str, text: &str) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}

/// A conversation of `turns` turns with some content.
pub(in crate::service) fn conversation(turns: usize) -> Vec<Value> {
    let words = "the parser reads one line after the other and keeps its place ".repeat(20);
    let turn = |n| {
        [
            message("user", &format!("Please look at src/part_{n}.rs: {words}")),
            message("assistant", &format!("I looked at src/part_{n}.rs: {words}")),
        ]
    };
    (0..turns).flat_map(turn).collect()
}

pub(in crate::service) fn request(subject: Subject, strategy: Strategy) -> Request {
    Request {
        agent_step: None,
        install: false,
        subject,
        strategy,
        phase: Phase::Standalone,
        trigger: "manual".to_owned(),
        reason: None,
        max_tokens: None,
        initial_context: Vec::new(),
        finds_context: false,
        model: None,
        deadline_ms: None,
        reader: None,
        templates: std::collections::BTreeMap::new(),
        focus: None,
        redacted: 0,
    }
}
