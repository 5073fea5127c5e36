//! What a confined thread cannot do, and that nothing is run where it cannot be confined.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use longhaul_daemon::sandbox::confine::{Reach, confine, confine_reader};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

/// What a thread found out after it was confined to a folder, by name.
fn confined<T: Send>(folder: &Path, tries: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            confine(folder).unwrap();
            tries()
        });
        thread.join().unwrap()
    })
}

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
fn files_below_the_folder_can_be_worked_on() {
    let Places { inside, _home, .. } = places();
    let work = || -> std::io::Result<String> {
        fs::create_dir(inside.join("a"))?;
        fs::write(inside.join("a/b"), "text")?;
        fs::rename(inside.join("a/b"), inside.join("c"))?;
        fs::remove_file(inside.join("file"))?;
        fs::remove_dir(inside.join("a"))?;
        fs::read_to_string(inside.join("c"))
    };
    assert_eq!(confined(&inside, work).unwrap(), "text");
}

#[test]
fn nothing_outside_can_be_read_written_or_reached_through_a_link() {
    let Places { inside, outside, _home } = places();
    symlink(&outside, inside.join("up")).unwrap();
    symlink(outside.join("secret"), inside.join("link")).unwrap();
    let names = confined(&inside, || {
        let tries: Vec<(&str, bool)> = vec![
            ("read", fs::read(outside.join("secret")).is_ok()),
            ("read passwd", fs::read("/etc/passwd").is_ok()),
            ("write", fs::write(outside.join("secret"), "x").is_ok()),
            ("make", fs::write(outside.join("new"), "x").is_ok()),
            ("folder", fs::create_dir(outside.join("new")).is_ok()),
            ("remove", fs::remove_file(outside.join("secret")).is_ok()),
            ("move out", fs::rename(inside.join("file"), outside.join("file")).is_ok()),
            ("move in", fs::rename(outside.join("secret"), inside.join("s")).is_ok()),
            ("hard link", fs::hard_link(outside.join("secret"), inside.join("h")).is_ok()),
            ("symlink", symlink(&outside, inside.join("new-link")).is_ok()),
            ("through a link", fs::write(inside.join("up/secret"), "x").is_ok()),
            ("linked file", fs::write(inside.join("link"), "x").is_ok()),
            ("read linked", fs::read(inside.join("link")).is_ok()),
        ];
        tries.into_iter().filter(|(_, done)| *done).map(|(name, _)| name).collect::<Vec<_>>()
    });
    assert_eq!(names, Vec::<&str>::new());
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "secret");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn no_socket_and_no_program() {
    let Places { inside, outside, _home } = places();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let _unix = UnixListener::bind(outside.join("socket")).unwrap();
    fs::copy("/bin/true", inside.join("program")).unwrap();
    assert!(Command::new(inside.join("program")).status().unwrap().success(), "it could run");
    let names = confined(&inside, || {
        let tries: Vec<(&str, bool)> = vec![
            ("tcp", TcpStream::connect(address).is_ok()),
            ("udp", UdpSocket::bind("127.0.0.1:0").is_ok()),
            ("unix", UnixStream::connect(outside.join("socket")).is_ok()),
            ("listen", UnixListener::bind(inside.join("socket")).is_ok()),
            ("exec", Command::new("/bin/true").status().is_ok()),
            ("exec inside", Command::new(inside.join("program")).status().is_ok()),
            ("thread", std::thread::Builder::new().spawn(|| {}).is_ok()),
        ];
        tries.into_iter().filter(|(_, done)| *done).map(|(name, _)| name).collect::<Vec<_>>()
    });
    assert_eq!(names, Vec::<&str>::new());
    assert!(TcpStream::connect(address).is_ok(), "the others are as free as before");
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

/// Makes the calling thread believe in a kernel without Landlock; programs it starts believe it too.
pub fn without_landlock() {
    let calls = [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_restrict_self];
    let rules: BTreeMap<i64, Vec<_>> = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    apply_filter(&program).unwrap();
}

#[test]
fn a_kernel_without_landlock_is_refused_by_name() {
    let Places { inside, _home, .. } = places();
    let refused = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            without_landlock();
            confine(&inside)
        });
        thread.join().unwrap()
    });
    assert!(refused.as_ref().is_err_and(|reason| reason.contains("Landlock")), "{refused:?}");
}
