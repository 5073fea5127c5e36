//! What a confined thread cannot do, and that nothing is run where it cannot be confined.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use longhaul_confine::{Reach, confine_client, confine_reader, without_landlock};

struct Places {
    _home: tempfile::TempDir,
    inside: std::path::PathBuf,
    outside: std::path::PathBuf,
}

fn places() -> Places {
    let home = tempfile::tempdir().unwrap();
    let (inside, outside) = (home.path().join("in"), home.path().join("out"));
    fs::create_dir(&inside).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    fs::write(inside.join("file"), "mine").unwrap();
    Places { _home: home, inside, outside }
}

#[test]
fn who_talks_over_a_connection_keeps_it_and_reaches_nothing_else() {
    let Places { inside, outside, _home } = places();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let _unix = UnixListener::bind(outside.join("socket")).unwrap();
    symlink(outside.join("secret"), inside.join("link")).unwrap();
    let (mut here, mut there) = UnixStream::pair().unwrap();
    let work = move || {
        confine_client().unwrap();
        let tries: Vec<(&str, bool)> = vec![
            ("read", fs::read(outside.join("secret")).is_ok()),
            ("read inside", fs::read(inside.join("file")).is_ok()),
            ("read passwd", fs::read("/etc/passwd").is_ok()),
            ("list", fs::read_dir(&inside).is_ok()),
            ("write", fs::write(inside.join("file"), "x").is_ok()),
            ("make", fs::write(inside.join("new"), "x").is_ok()),
            ("folder", fs::create_dir(inside.join("new")).is_ok()),
            ("remove", fs::remove_file(inside.join("file")).is_ok()),
            ("move", fs::rename(inside.join("file"), inside.join("moved")).is_ok()),
            ("hard link", fs::hard_link(outside.join("secret"), inside.join("h")).is_ok()),
            ("through a link", fs::read(inside.join("link")).is_ok()),
            ("tcp", TcpStream::connect(address).is_ok()),
            ("udp", UdpSocket::bind("127.0.0.1:0").is_ok()),
            ("unix", UnixStream::connect(outside.join("socket")).is_ok()),
            ("pair", UnixStream::pair().is_ok()),
            ("exec", Command::new("/bin/true").status().is_ok()),
            ("thread", std::thread::Builder::new().spawn(|| {}).is_ok()),
        ];
        here.write_all(b"still here").unwrap();
        tries.into_iter().filter(|(_, done)| *done).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let names = std::thread::scope(|scope| scope.spawn(work).join().unwrap());
    assert_eq!(names, Vec::<&str>::new());
    let mut received = String::new();
    there.read_to_string(&mut received).unwrap();
    assert_eq!(received, "still here");
}

#[test]
fn who_may_only_read_changes_nothing_and_starts_nothing_but_a_thread() {
    let Places { inside, outside, _home } = places();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let _unix = UnixListener::bind(outside.join("socket")).unwrap();
    let file = inside.join("file");
    let truncating = || {
        let mut options = fs::File::options();
        options.read(true).custom_flags(libc::O_TRUNC).open(&file).is_ok()
    };
    let touching = || {
        let then = std::time::SystemTime::UNIX_EPOCH;
        fs::File::open(&file).is_ok_and(|file| file.set_modified(then).is_ok())
    };
    let reach = Reach { read: vec![inside.clone()], run: Vec::new() };
    let work = || {
        confine_reader(&reach).unwrap();
        let tries: Vec<(&str, bool)> = vec![
            ("read outside", fs::read(outside.join("secret")).is_ok()),
            ("list outside", fs::read_dir(&outside).is_ok()),
            ("write", fs::write(&file, "x").is_ok()),
            ("make", fs::write(inside.join("new"), "x").is_ok()),
            ("empty", truncating()),
            ("touch", touching()),
            ("mode", fs::set_permissions(&file, fs::Permissions::from_mode(0o777)).is_ok()),
            ("folder", fs::create_dir(inside.join("new")).is_ok()),
            ("move", fs::rename(&file, inside.join("moved")).is_ok()),
            ("remove", fs::remove_file(&file).is_ok()),
            ("symlink", symlink(&outside, inside.join("link")).is_ok()),
            ("tcp", TcpStream::connect(address).is_ok()),
            ("udp", UdpSocket::bind("127.0.0.1:0").is_ok()),
            ("unix", UnixStream::connect(outside.join("socket")).is_ok()),
            ("process", Command::new("/bin/true").status().is_ok()),
            // Where it is run it ends this test, and not well.
            ("program", Command::new("/bin/false").exec().kind() == ErrorKind::NotFound),
        ];
        let done = tries.into_iter().filter(|(_, done)| *done).map(|(name, _)| name);
        let has_thread = std::thread::Builder::new().spawn(|| {}).is_ok();
        (done.collect::<Vec<_>>(), has_thread, fs::read_to_string(&file).ok())
    };
    let (done, has_thread, read) = std::thread::scope(|scope| scope.spawn(work).join().unwrap());
    assert_eq!(done, Vec::<&str>::new());
    assert_eq!((has_thread, read.as_deref()), (true, Some("mine")));
}

#[test]
fn a_kernel_without_landlock_is_refused_by_name() {
    let refused = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            without_landlock().unwrap();
            confine_client()
        });
        thread.join().unwrap()
    });
    assert!(refused.as_ref().is_err_and(|reason| reason.contains("Landlock")), "{refused:?}");
}
