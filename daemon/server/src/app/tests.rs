use std::path::Path;

use super::*;
use crate::args::Args;
use crate::config::Surroundings;
use crate::paths::Base;

async fn app(root: &Path) -> App {
    let around = Surroundings {
        base: Base::under(root),
        current_dir: root.to_owned(),
        program: "/nowhere".into(),
        env: std::collections::BTreeMap::new(),
    };
    let config = Config::load(&Args::default(), &around).unwrap();
    let resources = listen(&config).await.unwrap();
    App::build(config, Clock::manual(0), resources).await.unwrap()
}

#[tokio::test]
async fn a_task_that_ends_early_ends_the_daemon_with_a_drain() {
    type Ending = fn() -> Result<(), TaskFailure>;
    let endings: [(Ending, &str); 3] =
        [(|| Ok(()), ""), (|| Err("no disk".into()), "no disk"), (|| panic!("bug"), "it panicked")];
    for (ending, reason) in endings {
        let home = tempfile::tempdir().unwrap();
        let app = app(home.path()).await.with_task("worker", |_| async move { ending() });
        let (deps, socket) = (app.deps(), app.resources.socket.path.clone());
        let error = app.run().await.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.exit_code()), ("task `worker` ended", 70));
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(source.unwrap_or_default(), reason);
        assert_eq!(deps.shutdown.reason(), "a task ended");
        assert!(!socket.exists());
    }
}

#[tokio::test]
async fn background_tasks_are_awaited_and_their_failure_in_the_drain_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let app = app(home.path()).await.with_task("worker", |stop| async move {
        stop.cancelled().await;
        Err("not flushed".into())
    });
    app.deps().shutdown.begin("a test");
    let error = app.run().await.unwrap_err();
    assert_eq!(error.to_string(), "task `worker` ended");
}
