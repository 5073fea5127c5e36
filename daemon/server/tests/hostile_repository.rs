//! A repository that tries to run programs, write, connect, or read other files. All attempts fail with both barriers, and
//! with the sandbox alone.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::thread::JoinHandle;

use longhaul_daemon::clock::Clock;
use longhaul_daemon::repository::Repositories;

use crate::checkout::{Checkout, LONGHAULD, SETTINGS, confined, git, seen};
use crate::policy::ONE;
use crate::policy_evidence::{decision_with_repository, scripted};
use crate::support::{Daemon, PATIENCE};
use longhaul_confine::without_landlock;

/// A checkout with a program in every place that git runs one from.
fn full_of_traps() -> Checkout {
    let work = Checkout::filtered(b"*.txt filter=evil\n*.txt filter=ev.il\n");
    for (key, name) in [
        ("core.fsmonitor", "fsmonitor"),
        ("filter.evil.clean", "clean"),
        ("filter.ev.il.process", "process"),
        ("core.pager", "pager"),
        ("gpg.program", "gpg"),
        ("core.sshCommand", "ssh"),
        ("core.alternateRefsCommand", "alternate"),
    ] {
        work.git(&["config", key, &work.trap(name)]);
    }
    fs::create_dir_all(work.at.join(".git/hooks")).unwrap();
    for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction"] {
        work.trap(&format!("hooks/{hook}"));
    }
    work.git(&["config", "filter.evil.required", "true"]);
    work.git(&["config", "log.showSignature", "true"]);
    // The setup may have triggered some.
    for mark in work.sprung() {
        fs::remove_file(work.at.join(".git").join(mark)).unwrap();
    }
    work
}

#[tokio::test]
async fn a_hostile_repository_runs_nothing_and_nothing_is_written_into_it() {
    let work = full_of_traps();
    let index = fs::read(work.at.join(".git/index")).unwrap();
    let now = work.seen().await;
    assert_eq!(work.sprung(), [""; 0]);
    assert_eq!((now.unstaged, now.commits.len()), (1, 1));
    assert_eq!(fs::read(work.at.join(".git/index")).unwrap(), index, "not even the index");
    work.assert_sprung_by_plain_git();
}

#[tokio::test]
async fn a_filter_whose_name_is_not_utf8_is_disabled() {
    let work = Checkout::with_nameless_filter();
    assert_eq!(work.seen().await.unstaged, 1);
    assert_eq!(work.sprung(), [""; 0]);
    work.assert_sprung_by_plain_git();
}

#[tokio::test]
async fn too_many_settings_end_the_inspection() {
    let work = Checkout::filtered(b"*.txt filter=last\n");
    let long = "a".repeat(3_000);
    let listed = (0..100).map(|n| format!("[filter \"{n}{long}\"]\n\tclean = cat\n"));
    let last = format!("[filter \"last\"]\n\tclean = {}\n", work.trap("clean"));
    work.configure(listed.chain([last]).collect::<String>().as_bytes());
    assert_eq!(seen(&work.at).await, None);
    assert_eq!(work.sprung(), [""; 0]);
    work.assert_sprung_by_plain_git();
}

#[tokio::test]
async fn a_filter_of_an_included_file_is_disabled() {
    let work = Checkout::filtered(b"*.txt filter=evil\n");
    work.write("more", format!("[filter \"evil\"]\n\tclean = {}\n", work.trap("clean")));
    work.configure(b"[include]\n\tpath = ../more\n");
    assert_eq!(work.seen().await.unstaged, 1);
    assert_eq!(work.sprung(), [""; 0]);
    work.assert_sprung_by_plain_git();
}

#[tokio::test]
async fn a_client_that_names_a_hostile_folder_runs_nothing() {
    let work = Checkout::with_nameless_filter();
    let home = tempfile::tempdir().unwrap();
    scripted(ONE, home.path(), &work.at);
    let (_daemon, mut client) = Daemon::synced(home, "", ONE).await;
    decision_with_repository(&mut client, ONE).await;
    assert_eq!(work.sprung(), [""; 0]);
    work.assert_sprung_by_plain_git();
}

#[tokio::test]
async fn a_repository_inside_a_checkout_is_not_trusted() {
    let work = Checkout::new();
    work.git(&["init", "-q", "--bare", "nested"]);
    assert_eq!(seen(&work.at.join("nested")).await, None);
}

/// A server that counts connections until it is stopped.
fn listener() -> (u16, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let counting = std::thread::spawn(move || {
        let mut others = 0;
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            let mut first = [0];
            if stream.read(&mut first).unwrap() == 0 {
                return others;
            }
            others += 1;
        }
    });
    (port, counting)
}

/// What git did when instructed to do everything forbidden.
fn deeds(run: impl Fn(&Path, &[&str]) -> Output) -> Vec<&'static str> {
    let work = full_of_traps();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, "a secret").unwrap();
    let at = |name: &str| outside.path().join(name).to_str().unwrap().to_owned();
    let (port, counting) = listener();
    let alias = format!("alias.evil=!touch '{}'", at("by-alias"));
    let remote = format!("git://127.0.0.1:{port}/x");
    let mut done = Vec::new();
    let mut did = |deed: &'static str, is_done: bool| done.extend(is_done.then_some(deed));

    run(&work.at, &["status"]);
    did("run a program of the configuration", !work.sprung().is_empty());
    run(&work.at, &["-c", &alias, "evil"]);
    did("run a command of a shell", Path::new(&at("by-alias")).exists());
    run(&work.at, &["init", "-q", &at("made")]);
    did("write outside", Path::new(&at("made")).exists());
    run(&work.at, &["config", "a.b", "written"]);
    let config = fs::read_to_string(work.at.join(".git/config")).unwrap();
    did("write inside", config.contains("written"));
    run(&work.at, &["ls-remote", &remote]);
    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    did("connect", counting.join().unwrap() > 0);
    let shown = run(&work.at, &["diff", "--no-index", "/dev/null", secret.to_str().unwrap()]);
    did("read outside", String::from_utf8_lossy(&shown.stdout).contains("a secret"));
    done
}

#[test]
fn the_sandbox_alone_is_enough() {
    assert_eq!(deeds(confined), [""; 0]);
    let all = [
        "run a program of the configuration",
        "run a command of a shell",
        "write outside",
        "write inside",
        "connect",
        "read outside",
    ];
    assert_eq!(deeds(git), all, "what is tried can be done");
}

/// Another repository, which a hostile one beside it tries to reveal.
fn private() -> Checkout {
    let private = Checkout::new();
    private.write("known", "1");
    private
        .write("private.config", "[branch \"main\"]\n\tremote = .\n\tmerge = refs/heads/secret\n");
    private.git(&["add", "known"]);
    private.commit("a secret");
    private
}

#[tokio::test]
async fn another_repository_is_not_inspected_through_a_file_or_a_link() {
    let private = private();
    let folder = tempfile::tempdir().unwrap();
    let dot = folder.path().join(".git");
    fs::write(&dot, format!("gitdir: {}/.git\n", private.path())).unwrap();
    assert_eq!(seen(folder.path()).await, None);
    let plain = git(folder.path(), &["log", "--format=%s"]);
    assert_eq!(plain.stdout, b"a secret\n", "{plain:?}");
    fs::remove_file(&dot).unwrap();
    symlink(private.at.join(".git"), &dot).unwrap();
    assert_eq!(seen(folder.path()).await, None);
}

#[tokio::test]
async fn files_elsewhere_that_a_repository_names_are_not_read() {
    let private = private();
    let status = ["status", "--porcelain=v2", "--branch"];
    let plain = |work: &Checkout, arguments: &[&str]| {
        String::from_utf8(git(&work.at, arguments).stdout).unwrap()
    };

    let elsewhere = Checkout::new();
    elsewhere.git(&["config", "core.worktree", private.path()]);
    assert_eq!(elsewhere.seen().await.untracked, 0);
    assert!(plain(&elsewhere, &status).contains("private.config"));

    let included = Checkout::new();
    included.commit("mine");
    let named = private.at.join("private.config");
    included.git(&["config", "include.path", named.to_str().unwrap()]);
    assert_eq!(seen(&included.at).await, None);
    assert!(plain(&included, &status).contains("branch.upstream secret"));

    let borrowing = Checkout::new();
    let objects = format!("{}/.git/objects\n", private.path());
    borrowing.write(".git/objects/info/alternates", objects);
    let head = fs::read(private.at.join(".git/refs/heads/main")).unwrap();
    borrowing.write(".git/refs/heads/main", &head);
    assert_eq!(seen(&borrowing.at).await, None);
    assert_eq!(plain(&borrowing, &["log", "--format=%s"]), "a secret\n");
    assert_eq!(confined(&borrowing.at, &["log", "--format=%s"]).stdout, b"");

    let linked = Checkout::new();
    linked.write(".git/refs/heads/main", &head);
    fs::create_dir(linked.at.join(".git/logs")).unwrap();
    fs::remove_dir_all(linked.at.join(".git/objects")).unwrap();
    symlink(private.at.join(".git/logs/HEAD"), linked.at.join(".git/logs/HEAD")).unwrap();
    symlink(private.at.join(".git/objects"), linked.at.join(".git/objects")).unwrap();
    assert!(seen(&linked.at).await.is_none_or(|seen| seen.commits.is_empty()));
    let reflog = plain(&linked, &["log", "--walk-reflogs", "--format=%gs", "HEAD"]);
    assert!(reflog.contains("a secret"), "{reflog}");
}

/// Runs `work` on a kernel that appears to have no Landlock.
fn on_old_kernel<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            without_landlock().unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn without_confinement_git_is_not_run_and_the_reason_is_reported() {
    let work = full_of_traps();
    let output = on_old_kernel(|| {
        Command::new(LONGHAULD).arg("git").arg(&work.at).arg("status").output().unwrap()
    });
    assert_eq!(output.status.code(), Some(77), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("Landlock"));
    let (found, why) = on_old_kernel(|| {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let repositories = Repositories::new(Clock::manual(0), LONGHAULD.into());
        let look = repositories.inspect(work.path(), SETTINGS, PATIENCE);
        (tokio.block_on(look), repositories.unavailable())
    });
    assert_eq!(found, None);
    assert!(why.is_some_and(|why| why.contains("Landlock")));
    assert_eq!(work.sprung(), [""; 0]);
}
