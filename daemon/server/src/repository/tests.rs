use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::*;

const SETTINGS: RepositorySettings =
    RepositorySettings { observe: true, graphite: true, timeout: Duration::from_secs(20) };

struct Checkout(tempfile::TempDir);

impl Checkout {
    fn new() -> Self {
        let checkout = Self(tempfile::tempdir().unwrap());
        checkout.git(&["init", "-q", "-b", "main"]);
        checkout
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.path()).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
        command.args(["-c", "commit.gpgSign=false"]).args(arguments);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    fn commit(&self, subject: &str) {
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }

    async fn seen(&self) -> Repository {
        git::look(self.path(), true, 5).await.unwrap()
    }
}

#[tokio::test]
async fn head_branch_distance_changes_and_commits_are_seen() {
    let work = Checkout::new();
    let before = work.seen().await;
    assert_eq!((before.head, before.branch.as_deref()), (None, Some("main")));
    work.write("a", "1");
    work.write("b", "1");
    work.git(&["add", "."]);
    work.commit("first");
    work.git(&["branch", "base"]);
    work.git(&["checkout", "-q", "-b", "topic", "--track", "base"]);
    work.commit("second");
    work.write("a", "2");
    work.write("b", "22");
    work.git(&["add", "a"]);
    work.write("c", "1");
    let seen = work.seen().await;
    assert_eq!((seen.branch.as_deref(), seen.upstream.as_deref()), (Some("topic"), Some("base")));
    assert_eq!(seen.ahead_behind, Some((1, 0)));
    assert_eq!((seen.staged, seen.unstaged, seen.untracked), (1, 1, 1));
    let subjects: Vec<_> = seen.commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["second", "first"], "a checkout is no commit");
    assert_eq!(seen.commits[0].id, seen.head.unwrap());
    assert_eq!(git::look("/nowhere", true, 0).await, None);
}

#[tokio::test]
async fn a_stack_of_graphite_s_is_read_and_gt_is_not_run() {
    let work = Checkout::new();
    work.commit("first");
    work.write(".git/.graphite_repo_config", r#"{"trunk":"main"}"#);
    assert_eq!(work.seen().await.stack.unwrap().trunk.as_deref(), Some("main"));
    work.write("note", r#"{"parentBranchName":"below","prInfo":{"number":12}}"#);
    work.git(&["hash-object", "-w", "note"]);
    let id = Command::new("git").args(["-C", work.path(), "hash-object", "note"]).output().unwrap();
    let id = String::from_utf8(id.stdout).unwrap();
    work.git(&["update-ref", "refs/branch-metadata/main", id.trim()]);
    let stack = work.seen().await.stack.unwrap();
    assert_eq!((stack.parent.as_deref(), stack.pull_request), (Some("below"), Some(12)));
}

/// A program that leaves a mark when it is run.
fn trap(work: &Checkout, name: &str) -> String {
    let path = work.0.path().join(".git").join(name);
    let mark = work.0.path().join(".git").join(format!("ran-{}", name.replace('/', "-")));
    fs::write(&path, format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn sprung(work: &Checkout) -> Vec<String> {
    let entries = fs::read_dir(work.0.path().join(".git")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("ran-")).collect()
}

#[tokio::test]
async fn a_hostile_repository_runs_nothing_and_nothing_is_written_into_it() {
    let work = Checkout::new();
    work.write("a.txt", "1");
    work.write(".gitattributes", "*.txt filter=evil\n*.txt filter=ev.il\n");
    work.git(&["add", "."]);
    work.commit("first");
    for (key, name) in [
        ("core.fsmonitor", "fsmonitor"),
        ("filter.evil.clean", "clean"),
        ("filter.ev.il.process", "process"),
        ("core.pager", "pager"),
        ("gpg.program", "gpg"),
        ("core.sshCommand", "ssh"),
        ("core.alternateRefsCommand", "alternate"),
    ] {
        work.git(&["config", key, &trap(&work, name)]);
    }
    fs::create_dir_all(work.0.path().join(".git/hooks")).unwrap();
    for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction"] {
        trap(&work, &format!("hooks/{hook}"));
    }
    work.git(&["config", "filter.evil.required", "true"]);
    work.git(&["config", "log.showSignature", "true"]);
    // Same size and another time: whoever compares has to read it, through the filter.
    work.write("a.txt", "2");
    let index = fs::read(work.0.path().join(".git/index")).unwrap();
    let seen = work.seen().await;
    assert_eq!(sprung(&work), [""; 0]);
    assert_eq!((seen.unstaged, seen.commits.len()), (1, 1));
    assert_eq!(fs::read(work.0.path().join(".git/index")).unwrap(), index, "not even the index");
    // The traps are traps.
    let plain = Command::new("git").args(["-C", work.path(), "status"]).output().unwrap();
    assert!(!sprung(&work).is_empty(), "{plain:?}");
}

#[tokio::test]
async fn a_repository_inside_of_a_checkout_is_not_believed() {
    let work = Checkout::new();
    work.git(&["init", "-q", "--bare", "nested"]);
    let nested = work.0.path().join("nested");
    assert_eq!(git::look(nested.to_str().unwrap(), true, 0).await, None);
}

/// A configuration that includes a pipe: git waits for words that never come.
#[tokio::test]
async fn a_look_that_hangs_is_given_up_and_git_is_ended() {
    let work = Checkout::new();
    let pipe = work.0.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    work.git(&["config", "include.path", pipe.to_str().unwrap()]);
    let settings = RepositorySettings { timeout: Duration::from_millis(300), ..SETTINGS };
    let repositories = Repositories::new(Clock::manual(0));
    let found = repositories.look(work.path(), settings, Duration::from_secs(20)).await;
    assert_eq!(found, None);
    // Nobody has the pipe open for reading any more.
    let ended = async {
        let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
        while rustix::fs::open(&pipe, flags, rustix::fs::Mode::empty()).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("git is still there");
}

#[tokio::test]
async fn who_does_not_wait_gets_the_look_before_and_folders_are_bounded() {
    let work = Checkout::new();
    work.commit("first");
    let clock = Clock::manual(0);
    let repositories = Repositories::new(clock.clone());
    let look = async |wait| repositories.look(work.path(), SETTINGS, wait).await;
    assert_eq!(look(Duration::ZERO).await, None);
    let known = async {
        while repositories.known(work.path()).is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), known).await.expect("a look");
    work.commit("second");
    let now = Duration::from_secs(20);
    assert_eq!(look(now).await.unwrap().commits.len(), 1, "fresh enough");
    clock.advance_ms(2_000);
    assert_eq!(look(now).await.unwrap().commits.len(), 2);
    let off = RepositorySettings { observe: false, ..SETTINGS };
    assert_eq!(repositories.look(work.path(), off, now).await, None);
    assert_eq!(repositories.look("relative", SETTINGS, now).await, None);
    for n in 0..3 * FOLDERS_MAX {
        repositories.look(&format!("/nowhere/{n}"), SETTINGS, now).await;
    }
    assert!(repositories.0.folders.lock().unwrap().len() <= FOLDERS_MAX);
}
