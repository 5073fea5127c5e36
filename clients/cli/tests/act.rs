//! The policy's sequence in Codex while its app server fails, at each of its calls.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use longhaul_client::scripted::{Reply, Script};
use longhaul_protocol::policy::StepEvent;
use longhaul_protocol::socket::of_agents;
use longhaul_protocol::{policy, thread};
use serde_json::json;

use crate::answers::script;
use crate::codex_server::{CodexServer, ServerFailure};
use crate::hook::stepped_in;
use crate::{Desk, Done, run_with};

/// A call takes at most ten seconds, and one fails.
const BOUND: Duration = Duration::from_secs(15);

/// A daemon whose policy has the effect `first` at the turn's end, then compacts.
fn policy(first: &'static str) -> Script {
    script()
        .result::<thread::Sync>(json!({ "thread_id": "0199", "offset": 9, "seq": 9 }))
        .on::<policy::Step>(move |params| stepped(first, &params.event))
}

fn stepped(first: &str, event: &StepEvent) -> Reply {
    let effect = match event {
        StepEvent::TurnEnded { compact_only: Some(true), .. } => "compact",
        StepEvent::TurnEnded { message: Some(_), .. } => first,
        StepEvent::TurnEnded { .. } => "compact",
        StepEvent::Compacted { .. } => "inject_handoff",
        _ => "warn",
    };
    let effects = [json!({ "effect": effect, "prompt": "write", "text": "go on" })];
    Reply::Result(stepped_in("auto", &json!(effects)))
}

impl Desk {
    /// Runs what the hook at a turn's end starts.
    fn act(&self, thread_id: &str) -> Done {
        self.event("TurnComplete", thread_id)
    }

    fn event(&self, name: &str, thread_id: &str) -> Done {
        let home = self.folder.path().join("codex");
        fs::create_dir_all(&home).unwrap();
        let payload = json!({
            "hook_event_name": name, "protocol": 1, "session_id": thread_id,
            "transcript_path": "/nowhere/rollout-0199.jsonl", "last_assistant_message": "Done.",
        });
        let mut command = self.program();
        command.args(["hook", name, "--agent", "codex"]).env("CODEX_HOME", home);
        run_with(&mut command, &payload.to_string())
    }

    /// The events that the policy received.
    fn events(&self) -> Vec<StepEvent> {
        let steps = self.server.calls::<policy::Step>().unwrap();
        steps.into_iter().map(|params| params.event).collect()
    }
}

fn serve(desk: &Desk, failure: Option<(&'static str, usize, ServerFailure)>) -> CodexServer {
    CodexServer::start(&desk.folder.path().join("codex"), failure)
}

#[expect(clippy::disallowed_methods, reason = "the test measures the time")]
fn now() -> Instant {
    Instant::now()
}

fn names(events: &[StepEvent]) -> Vec<&'static str> {
    let name = |event: &StepEvent| match event {
        StepEvent::TurnEnded { .. } => "turn_ended",
        StepEvent::Compacted { .. } => "compacted",
        StepEvent::CompactionEnded { .. } => "compaction_ended",
        StepEvent::CompactionFailed { .. } => "compaction_failed",
        other => panic!("{other:?}"),
    };
    events.iter().map(name).collect()
}

/// Why the newest event says that there was no compaction.
fn reason(events: &[StepEvent]) -> &str {
    match events.last().unwrap() {
        StepEvent::CompactionEnded { reason: Some(reason), .. }
        | StepEvent::CompactionFailed { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sequence_ends_with_the_handoff() {
    for (first, turns) in [("compact", 0), ("request_packet", 1), ("request_scratch", 1)] {
        let desk = Desk::new(policy(first));
        let server = serve(&desk, None);
        let done = desk.act("0199");
        assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (0, "", ""), "{first}");
        let calls = server.calls();
        let count = |method: &str| calls.iter().filter(|called| *called == method).count();
        assert_eq!((count("turn/start"), count("thread/compact/start")), (turns, 1), "{calls:?}");
        assert_eq!(calls.last().unwrap(), "thread/inject_items");
        assert_eq!(*names(&desk.events()).last().unwrap(), "compacted");
    }
}

/// The daemon may have logged the decision, and only its answer is late.
#[test]
fn a_hook_that_gets_no_answer_in_time_still_starts_the_sequence() {
    let script = || {
        policy("compact").on::<policy::Step>(|params| match params.event {
            StepEvent::TurnEnded { notify_only: Some(true), .. } => Reply::Lines(Vec::new()),
            event => stepped("compact", &event),
        })
    };
    let late = || {
        let desk = Desk::new(script());
        // A hook asks on the agents' socket, and what it starts on the person's.
        symlink(desk.server.path(), of_agents(desk.server.path())).unwrap();
        desk
    };
    let desk = late();
    let server = serve(&desk, None);
    let done = desk.event("Stop", "0199");
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (0, "", ""));
    let begun = now();
    while server.calls().last().is_none_or(|called| called != "thread/inject_items") {
        assert!(begun.elapsed() < BOUND, "{:?}, {:?}", server.calls(), desk.events());
        std::thread::yield_now();
    }
    assert_eq!(*names(&desk.events()).last().unwrap(), "compacted");
    // Without an app server nothing can be carried out, and the hook says why it is silent.
    let done = late().event("Stop", "0199");
    assert!(done.stderr.contains("the daemon did not answer"), "{done:?}");
}

/// The log says why the decision at the turn's end had no effect.
#[test]
fn server_lost_before_the_sequence_is_reported_as_compaction_not_made() {
    let gone = "Codex's app server closed the connection";
    for (failure, why) in [
        (("handshake", 1, ServerFailure::Closed), "Codex's app server sent an invalid message"),
        (("initialize", 1, ServerFailure::Closed), gone),
        (("initialize", 1, ServerFailure::ClosedAfterAnswer), gone),
        (("thread/read", 1, ServerFailure::Closed), gone),
        (("thread/read", 1, ServerFailure::ClosedAfterAnswer), gone),
        (("thread/read", 1, ServerFailure::Garbled), "sent an invalid message"),
    ] {
        let desk = Desk::new(policy("compact"));
        let server = serve(&desk, Some(failure));
        let done = desk.act("0199");
        assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{failure:?}");
        assert!(done.stderr.contains(why), "{failure:?}: {}", done.stderr);
        let events = desk.events();
        assert_eq!(names(&events), ["turn_ended", "compaction_ended"], "{failure:?}");
        assert!(reason(&events).contains(why), "{failure:?}: {events:?}");
        assert!(!server.calls().contains(&"thread/compact/start".to_owned()), "{failure:?}");
    }
    let desk = Desk::new(policy("compact"));
    assert!(desk.act("0199").stderr.contains("no session is open"), "no server");
    assert_eq!(names(&desk.events()), ["turn_ended", "compaction_ended"]);
}

#[test]
fn server_lost_in_the_sequence_is_reported_as_failure_in_time() {
    for (first, failure) in [
        ("compact", ("thread/read", 2, ServerFailure::Closed)),
        ("compact", ("thread/compact/start", 1, ServerFailure::Closed)),
        ("compact", ("thread/compact/start", 1, ServerFailure::ClosedAfterAnswer)),
        ("compact", ("thread/compact/start", 1, ServerFailure::Torn)),
        ("compact", ("thread/compact/start", 1, ServerFailure::Refused)),
        ("compact", ("thread/turns/list", 1, ServerFailure::Closed)),
        ("request_packet", ("turn/start", 1, ServerFailure::Closed)),
        ("request_packet", ("turn/start", 1, ServerFailure::ClosedAfterAnswer)),
        ("request_scratch", ("turn/start", 1, ServerFailure::Refused)),
    ] {
        let desk = Desk::new(policy(first));
        let server = serve(&desk, Some(failure));
        let begun = now();
        let done = desk.act("0199");
        assert!(begun.elapsed() < BOUND, "{failure:?} took {:?}", begun.elapsed());
        assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{failure:?}");
        let events = desk.events();
        assert_eq!(names(&events), ["turn_ended", "compaction_failed"], "{failure:?}");
        let reason = reason(&events);
        assert!(reason.starts_with("Codex"), "{failure:?}: {reason}");
        assert!(reason.len() < 400 && !reason.contains(['\u{1b}', '\n']), "{failure:?}: {reason}");
        assert_eq!(server.calls().last().unwrap(), failure.0, "no further calls");
    }
    // A lost handoff does not undo the compaction.
    let desk = Desk::new(policy("compact"));
    let _server = serve(&desk, Some(("thread/inject_items", 1, ServerFailure::Closed)));
    assert!(desk.act("0199").stderr.contains("closed the connection"));
    assert_eq!(names(&desk.events()), ["turn_ended", "compacted"]);
}

#[test]
fn hostile_server_costs_bounded_memory_and_time() {
    for (failure, why) in [
        (ServerFailure::Huge, "sent an invalid message"),
        (ServerFailure::Flood, "messages"),
        (ServerFailure::Garbled, "sent an invalid message"),
    ] {
        for method in ["initialize", "thread/read", "thread/compact/start"] {
            let desk = Desk::new(policy("compact"));
            let _server = serve(&desk, Some((method, 1, failure)));
            let begun = now();
            let done = desk.act("0199");
            assert!(begun.elapsed() < BOUND, "{failure:?} at {method}: {:?}", begun.elapsed());
            let events = desk.events();
            let reason = reason(&events);
            let is_bounded = reason.contains(why) || reason.contains("took more than 10 s");
            assert!(is_bounded, "{failure:?} at {method}: {reason}, {done:?}");
        }
    }
}

#[test]
fn socket_that_others_could_have_created_is_not_called() {
    let call = |prepare: &dyn Fn(&Desk)| {
        let desk = Desk::new(policy("compact"));
        let server = serve(&desk, None);
        prepare(&desk);
        let done = desk.act("0199");
        assert_eq!(server.calls(), [""; 0], "{done:?}");
        assert_eq!(names(&desk.events()), ["turn_ended", "compaction_ended"]);
        done.stderr
    };
    let folder = |desk: &Desk| desk.folder.path().join("codex/app-server-control");
    let socket = |desk: &Desk| folder(desk).join("app-server-control.sock");
    for mode in [0o720, 0o702, 0o777] {
        let stderr = call(&|desk| {
            fs::set_permissions(folder(desk), Permissions::from_mode(mode)).unwrap();
        });
        assert!(stderr.contains("others can write into its folder"), "{mode:o}: {stderr}");
    }
    // Codex creates a link to a folder below /tmp.
    let linked = |desk: &Desk, mode| {
        let elsewhere = desk.folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::set_permissions(&elsewhere, Permissions::from_mode(mode)).unwrap();
        fs::rename(socket(desk), elsewhere.join("s")).unwrap();
        symlink(elsewhere.join("s"), socket(desk)).unwrap();
    };
    let stderr = call(&|desk| linked(desk, 0o777));
    assert!(stderr.contains("others can write into its folder"), "{stderr}");
    let stderr = call(&|desk| {
        fs::remove_file(socket(desk)).unwrap();
        fs::write(socket(desk), "").unwrap();
    });
    assert!(stderr.contains("it is not a socket"), "{stderr}");
    let desk = Desk::new(policy("compact"));
    let server = serve(&desk, None);
    linked(&desk, 0o700);
    assert_eq!(desk.act("0199").stderr, "", "as Codex creates it");
    assert_eq!(server.calls().last().unwrap(), "thread/inject_items");
    let stderr = call(&|desk| {
        let elsewhere = desk.folder.path().join("elsewhere");
        fs::rename(folder(desk), &elsewhere).unwrap();
        symlink(elsewhere, folder(desk)).unwrap();
    });
    assert!(stderr.contains("its folder is a link"), "{stderr}");
}

/// The payload names the thread to compact, and its transcript the one that the policy decided on.
#[test]
fn payload_with_two_threads_compacts_neither() {
    let desk = Desk::new(policy("compact"));
    let server = serve(&desk, None);
    let done = desk.act("0200");
    assert!(done.stderr.contains("not 0200"), "{done:?}");
    assert_eq!(desk.events(), []);
    assert!(!server.calls().contains(&"thread/compact/start".to_owned()));
}
