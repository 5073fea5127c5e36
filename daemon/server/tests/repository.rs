//! Results of inspecting repositories.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;
use std::time::Duration;

use longhaul_daemon::clock::Clock;
use longhaul_daemon::config::repository::RepositorySettings;
use longhaul_daemon::repository::Repositories;

use crate::checkout::{Checkout, LONGHAULD, SETTINGS, confined, seen};
use crate::support::{PATIENCE, eventually, found};

#[tokio::test]
async fn head_branch_distance_changes_and_commits_are_reported() {
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
    let seen_now = work.seen().await;
    assert_eq!(
        (seen_now.branch.as_deref(), seen_now.upstream.as_deref()),
        (Some("topic"), Some("base"))
    );
    assert_eq!(seen_now.ahead_behind, Some((1, 0)));
    assert_eq!((seen_now.staged, seen_now.unstaged, seen_now.untracked), (1, 1, 1));
    let subjects: Vec<_> = seen_now.commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["second", "first"], "a checkout is no commit");
    assert_eq!(seen_now.commits[0].id, seen_now.head.unwrap());
    assert_eq!(seen("/nowhere".as_ref()).await, None);
}

#[tokio::test]
async fn linked_worktrees_submodules_and_subfolders_are_inspected() {
    let (work, lib) = (Checkout::new(), Checkout::new());
    lib.commit("of the library");
    work.git(&["submodule", "--quiet", "add", lib.path(), "lib"]);
    work.commit("first");
    work.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let of_side = seen(&work.at.with_file_name("side")).await.unwrap();
    assert_eq!(of_side.branch.as_deref(), Some("side"));
    let of_lib = seen(&work.at.join("lib")).await.unwrap();
    assert_eq!(of_lib.head, lib.seen().await.head);
    fs::create_dir(work.at.join("below")).unwrap();
    assert_eq!(seen(&work.at.join("below")).await.unwrap().commits[0].subject, "first");
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

/// With many files, git compares them with several threads.
#[tokio::test]
async fn a_repository_with_many_files_is_inspected() {
    let work = Checkout::new();
    for n in 0..1_200 {
        work.write(&format!("{n}"), "1");
    }
    work.git(&["add", "."]);
    work.commit("first");
    work.write("700", "22");
    let now = work.seen().await;
    assert_eq!((now.staged, now.unstaged, now.untracked), (0, 1, 0));
}

#[test]
fn the_users_settings_count_with_their_includes() {
    let (work, home) = (Checkout::new(), tempfile::tempdir().unwrap());
    fs::write(home.path().join(".gitconfig"), "[include]\n\tpath = ~/more\n").unwrap();
    fs::write(home.path().join("more"), "[user]\n\tname = somebody\n").unwrap();
    let mut command = Command::new(LONGHAULD);
    command.arg("git").arg(&work.at).args(["config", "user.name"]).env("HOME", home.path());
    let output = command.env_remove("XDG_CONFIG_HOME").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "somebody\n");
    let named = confined(&work.at, &["config", "--file", "/etc/passwd", "--list"]);
    assert!(!named.status.success() && named.stdout.is_empty(), "{named:?}");
}

/// A configuration that includes a pipe, which blocks git.
#[tokio::test]
async fn a_hanging_inspection_is_abandoned_and_git_is_killed() {
    let work = Checkout::new();
    let pipe = work.at.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    work.git(&["config", "include.path", pipe.to_str().unwrap()]);
    let settings = RepositorySettings { timeout: Duration::from_millis(300), ..SETTINGS };
    let repositories = Repositories::new(Clock::manual(0), LONGHAULD.into());
    assert_eq!(repositories.inspect(work.path(), settings, PATIENCE).await, None);
    // No process has the pipe open for reading any more.
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
    eventually("git's end", || rustix::fs::open(&pipe, flags, rustix::fs::Mode::empty()).is_err())
        .await;
}

#[tokio::test]
async fn a_caller_that_does_not_wait_gets_the_previous_result() {
    let work = Checkout::new();
    work.commit("first");
    let clock = Clock::manual(0);
    let repositories = Repositories::new(clock.clone(), LONGHAULD.into());
    let look = async |wait| repositories.inspect(work.path(), SETTINGS, wait).await;
    assert_eq!(look(Duration::ZERO).await, None);
    found("a look", async || look(Duration::ZERO).await).await;
    work.commit("second");
    assert_eq!(look(PATIENCE).await.unwrap().commits.len(), 1, "fresh enough");
    clock.advance_ms(2_000);
    assert_eq!(look(PATIENCE).await.unwrap().commits.len(), 2);
    let off = RepositorySettings { observe: false, ..SETTINGS };
    assert_eq!(repositories.inspect(work.path(), off, PATIENCE).await, None);
    assert_eq!(repositories.inspect("relative", SETTINGS, PATIENCE).await, None);
}
