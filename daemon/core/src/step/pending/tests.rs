//! How many calls wait, and how many answered ones are remembered.

use super::*;
use crate::rollout::shell::CommandEffects;

/// A call whose size is `bytes`.
fn call(number: usize, bytes: usize) -> Call {
    let id = format!("c{number:02}");
    let call = Call {
        seq: 0,
        what: String::new(),
        base: None,
        work: Work::View { path: "p".repeat(bytes - id.len()) },
        effects: CommandEffects::default(),
        is_aside: false,
        is_outside: false,
        is_unconfined: false,
        id,
    };
    assert_eq!(call.bytes(), bytes);
    call
}

#[test]
fn the_newest_calls_wait_up_to_a_number_and_a_size() {
    let whole = limits::PENDING_BYTES;
    for (what, sizes, dropped) in [
        ("as many as fit", vec![20; limits::PENDING_CALLS], 0),
        ("more", vec![20; limits::PENDING_CALLS + 9], 9),
        ("as large as fits", vec![whole / 2; 2], 0),
        ("larger", vec![whole / 2, whole / 2, 20], 1),
        ("the newest alone is larger", vec![20, 20, 3 * whole], 2),
        ("a small one after it", vec![3 * whole, 20], 1),
    ] {
        let mut pending = Pending::default();
        for (number, bytes) in sizes.iter().enumerate() {
            pending.push(call(number, *bytes));
        }
        let waiting =
            (0..sizes.len()).filter(|number| pending.is_waiting(&format!("c{number:02}")));
        assert_eq!(
            waiting.collect::<Vec<_>>(),
            (dropped..sizes.len()).collect::<Vec<_>>(),
            "{what}"
        );
    }
}

#[test]
fn the_newest_answered_calls_are_remembered() {
    let mut pending = Pending::default();
    let ids: Vec<String> = (0..limits::PENDING_CALLS + 9).map(|n| format!("c{n}")).collect();
    ids.iter().for_each(|id| pending.settle(id));
    let settled: Vec<&String> = ids.iter().filter(|id| pending.is_settled(id)).collect();
    assert_eq!(settled, ids[9..].iter().collect::<Vec<_>>());
}
