//! Questions to a person at a terminal.

use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;

use longhaul_protocol::archive::{ArchiveList, Forget};
use longhaul_protocol::memory;
use longhaul_protocol::thread::ThreadForget;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::answers::{THREAD, script};
use crate::{Desk, Done, program, run};

/// Runs a command at a terminal at which `typed` has been typed.
fn at_terminal(desk: &Desk, args: &[&str], typed: &str) -> Done {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let name = std::ffi::OsStr::from_bytes(name.as_bytes());
    let keyboard = File::options().read(true).write(true).open(name).unwrap();
    rustix::io::write(&terminal, typed.as_bytes()).unwrap();
    let mut command = program(desk.folder.path());
    run(command.stdin(keyboard).arg("--socket").arg(desk.server.path()).args(args))
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

/// Only the last copy of a text is worth a question.
#[test]
fn forgetting_an_archived_thread_asks_if_its_transcript_is_gone() {
    let commands = [&["archive", "forget", THREAD][..], &["memory", "forget", "--thread", THREAD]];
    for (command, is_gone) in commands.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let listed = json!({ "threads": [{
            "thread_id": THREAD, "source": "codex", "path": "/home/user/a.jsonl", "bytes": 7,
            "updated_at": 1, "gone": is_gone, "redacted": false,
        }] });
        let desk = Desk::new(script().result::<ArchiveList>(listed));
        let done = at_terminal(&desk, command, "n\n");
        assert_eq!(done.stdout.contains("this is the only copy"), is_gone, "{done:?}");
        let sent = desk.server.calls::<Forget>().unwrap().len()
            + desk.server.calls::<memory::Forget>().unwrap().len();
        assert_eq!(sent, usize::from(!is_gone), "{done:?}");
    }
}
