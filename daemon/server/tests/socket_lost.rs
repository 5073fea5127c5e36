//! Removal of the socket's file from a running daemon, and a signal before it serves.

use std::fs;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Daemon, command, eventually};

#[tokio::test]
async fn a_removed_socket_is_bound_again_even_without_its_folder() {
    let (daemon, mut before) = Daemon::start_with_client().await;
    let folder = daemon.socket.parent().unwrap().to_owned();
    for remove in [
        |socket| fs::remove_file(socket),
        |socket: &std::path::Path| fs::remove_dir_all(socket.parent().unwrap()),
    ] {
        remove(&daemon.socket).unwrap();
        eventually("it is bound again", || UnixStream::connect(&daemon.socket).is_ok()).await;
        let status = daemon.connect().await.status().await;
        assert_eq!(status.pid, std::process::id());
        before.status().await;
    }
    assert!(folder.join("v1.sock.lock").exists(), "no other daemon can begin here");
    let (socket, home) = (daemon.socket.clone(), daemon.stopped().await);
    assert!(!socket.exists() && home.path().exists());
}

#[tokio::test]
async fn another_programs_socket_at_the_path_is_kept() {
    let daemon = Daemon::start().await;
    fs::remove_file(&daemon.socket).unwrap();
    let other = std::os::unix::net::UnixListener::bind(&daemon.socket).unwrap();
    // The daemon connects to check whether it is alive.
    tokio::task::spawn_blocking(move || other.accept().map(|_| other)).await.unwrap().unwrap();
    eventually("the other is gone, and it is bound again", || {
        UnixStream::connect(&daemon.socket).is_ok()
    })
    .await;
    daemon.connect().await.status().await;
}

#[tokio::test]
async fn a_signal_right_after_the_socket_appears_stops_with_a_drain() {
    for _ in 0..4 {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join(".local/state/longhaul/run/v1.sock");
        let mut child = command(home.path()).spawn().unwrap();
        eventually("the socket exists", || socket.exists()).await;
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let mut ended = None;
        eventually("the daemon ends", || {
            ended = child.try_wait().unwrap();
            ended.is_some()
        })
        .await;
        assert_eq!(ended.unwrap().code(), Some(0));
        assert!(!socket.exists());
    }
}

/// A killed process may hold its lock for a moment longer; a running one is reported.
#[tokio::test]
async fn a_lock_released_soon_does_not_prevent_a_start() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join(".local/state/longhaul");
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let lock = fs::File::create(state.join("longhauld.lock")).unwrap();
    lock.lock().unwrap();
    let config = crate::support::config_under(home.path(), "");
    tokio::time::pause();
    let released = async {
        // On the paused clock: longer than the kernel needs to tear down a large process on a busy machine.
        tokio::time::sleep(Duration::from_millis(900)).await;
        drop(lock);
    };
    let (held, ()) = tokio::join!(longhaul_daemon::app::listen(&config), released);
    held.unwrap();
}
