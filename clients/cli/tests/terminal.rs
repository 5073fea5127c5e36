//! Questions to a person at a terminal.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use longhaul_protocol::archive::{ArchiveList, Forget};
use longhaul_protocol::memory;
use longhaul_protocol::thread::ThreadForget;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;

use crate::answers::{THREAD, script};
use crate::{Desk, Done, run};

/// What hides and shows a terminal's cursor.
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

/// A terminal: the person's side and the program's.
fn terminal() -> (OwnedFd, File) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let name = std::ffi::OsStr::from_bytes(name.as_bytes());
    let programs = File::options().read(true).write(true).open(name).unwrap();
    (terminal, programs)
}

/// Runs a command at a terminal at which `typed` has been typed.
fn at_terminal(desk: &Desk, args: &[&str], typed: &str) -> Done {
    let (terminal, keyboard) = terminal();
    rustix::io::write(&terminal, typed.as_bytes()).unwrap();
    run(desk.program().stdin(keyboard).args(args))
}

#[test]
fn removing_for_good_asks_first() {
    for (typed, is_agreed) in [("n\n", false), ("\n", false), ("y\n", true), ("Yes\n", true)] {
        let desk = Desk::new(script());
        let done = at_terminal(&desk, &["thread", "forget", THREAD], typed);
        assert!(done.stdout.contains("[y/N]") && done.stdout.contains(THREAD), "{done:?}");
        assert_eq!(done.code, i32::from(!is_agreed), "{typed:?}: {done:?}");
        assert_eq!(done.stderr.contains("nothing was changed"), !is_agreed, "{done:?}");
        assert_eq!(desk.server.calls::<ThreadForget>().unwrap().len(), usize::from(is_agreed));
    }
    let desk = Desk::new(script());
    let done = at_terminal(&desk, &["thread", "forget", THREAD, "--yes"], "");
    assert!(done.code == 0 && !done.stdout.contains("[y/N]"), "{done:?}");
}

/// An archive with one transcript of the thread.
fn archive(is_gone: bool) -> Desk {
    let listed = json!({ "threads": [{
        "thread_id": THREAD, "source": "codex", "path": "/home/user/a.jsonl", "bytes": 7,
        "updated_at": 1, "gone": is_gone, "redacted": false,
    }] });
    Desk::new(script().result::<ArchiveList>(listed))
}

/// Calls that forgot something.
fn forgotten(desk: &Desk) -> usize {
    desk.server.calls::<Forget>().unwrap().len()
        + desk.server.calls::<memory::Forget>().unwrap().len()
        + desk.server.calls::<ThreadForget>().unwrap().len()
}

/// A copy is worth a question, also while the transcript is there: it will have none again.
#[test]
fn forgetting_an_archived_thread_asks_and_says_what_is_lost() {
    for is_gone in [true, false] {
        let desk = archive(is_gone);
        let done = at_terminal(&desk, &["archive", "forget", THREAD], "n\n");
        assert_eq!(done.stdout.contains("this is the only copy"), is_gone, "{done:?}");
        assert_eq!(done.stdout.contains("nothing protects it"), !is_gone, "{done:?}");
        assert_eq!(forgotten(&desk), 0, "{done:?}");
        let desk = archive(is_gone);
        let done = at_terminal(&desk, &["memory", "forget", "--thread", THREAD], "n\n");
        assert_eq!(done.stdout.contains("the only copy"), is_gone, "{done:?}");
        assert_eq!(forgotten(&desk), 0, "{done:?}");
    }
}

/// A script that only wanted to see the JSON loses nothing.
#[test]
fn nothing_is_removed_for_good_where_nobody_can_be_asked() {
    for command in [
        &["thread", "forget", THREAD][..],
        &["archive", "forget", THREAD],
        &["memory", "forget", "--thread", THREAD],
        &["memory", "forget", "--cwd", "/home/user/project"],
    ] {
        let desk = archive(true);
        for done in [
            desk.run(command),
            desk.run(&[command, &["--json"]].concat()),
            at_terminal(&desk, &[command, &["--json"]].concat(), "y\n"),
        ] {
            assert_eq!((done.code, done.stdout.as_str()), (64, ""), "{command:?}: {done:?}");
            assert!(done.stderr.contains("--yes"), "{command:?}: {done:?}");
        }
        let json = desk.run(&[command, &["--json"]].concat()).stderr;
        assert!(json.contains(r#""kind":"not_confirmed""#), "{json}");
        assert_eq!(forgotten(&desk), 0, "{command:?}");
        let done = desk.run(&[command, &["--yes"]].concat());
        assert_eq!((done.code, forgotten(&desk)), (0, 1), "{command:?}: {done:?}");
    }
    let done = Desk::new(script().result::<ArchiveList>(json!({ "threads": [] })))
        .run(&["archive", "forget", THREAD]);
    assert_eq!(done.code, 0, "there is no copy to lose: {done:?}");
    let desk = archive(true);
    let one = desk.run(&["memory", "forget", "--entry", "5f0c1d2e"]);
    assert_eq!((one.code, forgotten(&desk)), (0, 1), "one line needs no yes: {one:?}");
}

#[test]
fn a_thread_that_does_not_exist_is_no_question() {
    let desk = Desk::new(script().result::<ArchiveList>(json!({ "threads": [] })));
    let done = at_terminal(&desk, &["thread", "forget", "nope"], "n\n");
    assert!(!done.stdout.contains("[y/N]"), "{done:?}");
}

/// The shell of the person needs its cursor.
#[test]
fn a_list_that_is_interrupted_shows_the_cursor_again() {
    let desk = Desk::new(script());
    let (terminal, programs) = terminal();
    // The terminal drops what was printed when a typed key raises a signal; the list raises it itself.
    let mut modes = tcgetattr(&programs).unwrap();
    modes.local_modes.remove(LocalModes::ISIG | LocalModes::ECHO);
    tcsetattr(&programs, OptionalActions::Now, &modes).unwrap();
    let mut command = desk.program();
    command.stdin(programs.try_clone().unwrap()).stderr(programs).args(["pick", THREAD]);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    let mut piece = [0; 4096];
    let mut is_interrupted = false;
    // Fails when the program has ended and closed the terminal.
    while let Ok(count @ 1..) = rustix::io::read(&terminal, &mut piece) {
        shown.extend_from_slice(&piece[..count]);
        if !is_interrupted && String::from_utf8_lossy(&shown).contains(HIDE) {
            rustix::io::write(&terminal, b"\x03").unwrap();
            is_interrupted = true;
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.rfind(SHOW) > shown.rfind(HIDE), "{shown:?}");
    assert!(shown.contains("interrupted"), "{shown:?}");
}
