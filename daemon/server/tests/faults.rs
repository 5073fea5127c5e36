//! Every disk fault, at every call of a whole daemon.
//!
//! # Theory of operation
//! A script of clients (`script`) runs against `longhauld` with a preloaded library (`shim.c`), which counts the calls on
//! files and makes the n-th one fail. A failed step is retried, as a client would. Then the daemon is restarted without
//! faults and asked for everything that was promised (`promises`).
//!
//! A power cut needs no failing daemon: one whole run is recorded, and for the n-th call the possible contents of a disk
//! that lost power there are computed (`disk`). The recording also has the answers sent until then.
//!
//! `cargo xtask test faults --runs 10000 --seed 7` runs more; `--fault io:123:7` repeats one, at call 123 with the seed 7;
//! `--fault io:all` runs every call.

mod disk;
mod journal;
mod preload;
mod promises;
mod script;
mod shim;
mod watches;

use std::sync::Arc;

use disk::{Disk, Keeping};
use journal::Record;
use promises::{Truth, complaints, copy};
use script::{Promises, Script, grow, lay_out};
use shim::{Fault, Place, Trigger};
use tokio::task::JoinSet;

use crate::support::Chance;

/// Default number of runs: some seconds beside all other tests.
const RUNS: u64 = 36;

/// Concurrent daemons, which mostly wait.
const AT_ONCE: usize = 12;

/// Kinds of fault by name, with their share of the runs in percent.
const KINDS: &[(&str, Kind, u64)] = &[
    ("power", Kind::Power(Keeping::Journalled), 30),
    ("strict-power", Kind::Power(Keeping::Strict), 20),
    ("kill", Kind::Power(Keeping::All), 10),
    ("io", Kind::Call(Fault::Io), 13),
    ("full", Kind::Call(Fault::Full), 12),
    ("interrupted", Kind::Call(Fault::Interrupted), 5),
    ("short", Kind::Call(Fault::Short), 7),
    ("rename", Kind::Call(Fault::Rename), 3),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call(Fault),
    /// A power cut after this many calls.
    Power(Keeping),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    name: &'static str,
    kind: Kind,
    /// Which call, from 1.
    at: u64,
    seed: u64,
}

impl std::fmt::Display for Case {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}:{}", self.name, self.at, self.seed)
    }
}

/// A complete run without faults, and what holds after it.
struct Recording {
    place: Place,
    records: Vec<Record>,
    /// For each record, the number of answers sent before it.
    answered: Vec<usize>,
    /// The promises after this many answers.
    promised: Vec<(usize, Promises)>,
    truth: Truth,
}

impl Recording {
    async fn make() -> Self {
        let place = Place::new();
        lay_out(&place.home());
        let no_fault = Trigger { fault: Fault::None, at: 0, length: 0 };
        let mut subject = place.start(no_fault, true).await.unwrap();
        let mut script = Script::of(&mut subject, false).await.unwrap();
        script.run(&place.home()).await;
        assert!(script.complaints.is_empty(), "{:?}", script.complaints);
        let (promises, received) = (script.promises.clone(), script.received());
        let mut promised = script.answers;
        assert!(subject.stop().await.success());
        let mut subject = place.start(no_fault, true).await.unwrap();
        let script = Script::of(&mut subject, false).await.unwrap();
        let mut script = script.going_on(promises, received);
        script.run_again().await;
        assert!(script.complaints.is_empty(), "{:?}", script.complaints);
        promised.extend(script.answers);
        assert!(subject.stop().await.success());
        let records = journal::parse(&place.journal());
        let answered = answered(&records);
        let truth = Truth::of(&place.home()).await;
        Self { place, records, answered, promised, truth }
    }

    /// The promises at the time of this record.
    fn promises(&self, at: usize) -> Promises {
        let answered = self.answered[at];
        let report = self.promised.iter().rev().find(|(answers, _)| *answers <= answered);
        report.map(|(_, promises)| promises.clone()).unwrap_or_default()
    }
}

/// Answers are lines; each connection of the script is used alone.
fn answered(records: &[Record]) -> Vec<usize> {
    let mut lines = 0;
    let count = |record: &Record| {
        if let Record::Sent { bytes, .. } = record {
            lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        }
        lines
    };
    records.iter().map(count).collect()
}

/// The number of calls that can fail, by kind.
async fn calls_of(kind: Kind, recording: &Recording) -> u64 {
    let Kind::Call(fault) = kind else { return recording.records.len() as u64 };
    let place = Place::new();
    lay_out(&place.home());
    let trigger = Trigger { fault, at: 0, length: 0 };
    let mut subject = place.start(trigger, false).await.unwrap();
    let mut script = Script::of(&mut subject, false).await.unwrap();
    script.run(&place.home()).await;
    subject.stop().await;
    place.calls()
}

/// Runs a case; a failing case is repeated and fails if it does so twice: the number of a call varies slightly between
/// runs, and on a machine under load answers may be late. A single failure is printed.
async fn try_twice(case: Case, recording: Arc<Recording>) -> Result<Option<String>, String> {
    let attempt = || async {
        let attempt = tokio::spawn(try_case(case, Arc::clone(&recording)));
        attempt.await.unwrap_or_else(|panic| Err(format!("{case}: {panic}")))
    };
    match attempt().await {
        Ok(()) => Ok(None),
        Err(why) => attempt().await.map(|()| Some(format!("failed once: {why}"))),
    }
}

/// The errors found after a fault, with the call that failed.
async fn try_case(case: Case, recording: Arc<Recording>) -> Result<(), String> {
    let place = Place::new();
    let (wrong, met) = match case.kind {
        Kind::Power(keeping) => power_cut(&place, case, keeping, &recording).await,
        Kind::Call(fault) => failing_call(&place, case, fault, &recording).await,
    };
    if wrong.is_empty() {
        return Ok(());
    }
    let (log, kept) = (place.log(), place.keep());
    let tail: Vec<&str> = log.lines().rev().take(12).collect();
    let tail = tail.into_iter().rev().collect::<Vec<_>>().join("\n      ");
    let wrong = wrong.join("\n    ");
    let met = met.unwrap_or_default();
    Err(format!("{case} ({met}), {}\n    {wrong}\n      {tail}", kept.display()))
}

async fn power_cut(
    place: &Place,
    case: Case,
    keeping: Keeping,
    recording: &Recording,
) -> (Vec<String>, Option<String>) {
    let at = usize::try_from(case.at).unwrap().min(recording.records.len());
    let disk = Disk::over(&place.state(), keeping).after(&recording.records[..at]);
    let from = recording.place.home();
    for folder in [".codex", ".config"] {
        copy(&from.join(folder), &place.home().join(folder));
    }
    disk.write_to((&from, &place.home()), &mut Chance::new(case.seed));
    let promises = recording.promises(at - 1);
    let met = format!("{:?}", recording.records[at - 1]).chars().take(200).collect();
    (complaints(place, &promises, &recording.truth).await, Some(met))
}

async fn failing_call(
    place: &Place,
    case: Case,
    fault: Fault,
    recording: &Recording,
) -> (Vec<String>, Option<String>) {
    lay_out(&place.home());
    let mut chance = Chance::new(case.seed);
    // Usually once; sometimes a few times, and sometimes until the restart.
    let length = match (chance.below(10), fault) {
        (0..7, _) => 1,
        (7, _) | (_, Fault::Interrupted) => 2 + chance.below(6),
        (8, _) => 8 + chance.below(40),
        _ => 0,
    };
    let trigger = Trigger { fault, at: case.at, length };
    let is_lasting = length != 1 && fault != Fault::Interrupted && fault != Fault::Short;
    let (mut promises, mut wrong) = (Promises::default(), Vec::new());
    match place.start(trigger, false).await {
        // A fault at the start may prevent the start, which is reported.
        Err(status) => {
            let is_told = place.log().lines().any(|line| line.starts_with("longhauld: "));
            if place.met().is_none() || status.code().is_none() || !is_told {
                wrong.push(format!("it did not start: {status}"));
            }
        }
        Ok(mut subject) => {
            if let Some(mut script) = Script::of(&mut subject, is_lasting).await {
                script.run(&place.home()).await;
                (promises, wrong) = (script.promises, script.complaints);
            }
            let ended = subject.stop().await;
            if ended.code().is_none() {
                wrong.push(format!("it ended with {ended}"));
            }
        }
    }
    grow(&place.home());
    let times = if length == 0 { "for ever".to_owned() } else { format!("{length} times") };
    let met = place.met().map(|met| format!("{met}, {times}"));
    wrong.extend(complaints(place, &promises, &recording.truth).await);
    (wrong, met)
}

fn chosen(runs: u64, seed: u64, calls: &[u64]) -> Vec<Case> {
    let mut chance = Chance::new(seed);
    let mut case = |_| {
        let mut share = chance.below(100);
        let is_it = |(_, (_, _, part)): &(usize, &(&str, Kind, u64))| {
            let is_below = share < *part;
            share = share.wrapping_sub(*part);
            is_below
        };
        let (index, (name, kind, _)) = KINDS.iter().enumerate().find(is_it).unwrap();
        let at = 1 + chance.below(calls[index]);
        Case { name, kind: *kind, at, seed: chance.below(1 << 20) }
    };
    (0..runs).map(&mut case).collect()
}

/// `io:123:7`, `io:all` or `io:all:7`.
fn named(text: &str, calls: &[u64]) -> Vec<Case> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap();
    let index = KINDS.iter().position(|(known, ..)| *known == name).expect("a kind of fault");
    let (name, kind, _) = KINDS[index];
    let at = parts.next().expect("the number of a call, or all");
    let seed = parts.next().map_or(0, |seed| seed.parse().unwrap());
    let calls = match at {
        "all" => 1..calls[index] + 1,
        at => at.parse::<u64>().unwrap()..at.parse::<u64>().unwrap() + 1,
    };
    calls.map(|at| Case { name, kind, at, seed }).collect()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promises_hold_under_every_disk_fault() {
    let recording = Arc::new(Recording::make().await);
    let mut calls = Vec::new();
    for (_, kind, _) in KINDS {
        calls.push(calls_of(*kind, &recording).await);
    }
    let (runs, seed) =
        (number("LONGHAUL_FAULT_RUNS").unwrap_or(RUNS), number("LONGHAUL_FAULT_SEED").unwrap_or(1));
    let mut cases = match std::env::var("LONGHAUL_FAULT") {
        Ok(text) => named(&text, &calls),
        Err(_) => chosen(runs, seed, &calls),
    };
    println!("{} faults with the seed {seed}; calls: {calls:?}", cases.len());
    let (mut running, mut failed, mut done) = (JoinSet::new(), Vec::new(), 0);
    cases.reverse();
    loop {
        while running.len() < AT_ONCE
            && let Some(case) = cases.pop()
        {
            let recording = Arc::clone(&recording);
            running.spawn(async move { (case, try_twice(case, recording).await) });
        }
        let Some(ended) = running.join_next().await else { break };
        let (case, outcome) = ended.unwrap();
        done += 1;
        match outcome {
            Ok(report) => report.iter().for_each(|report| println!("{case}: {report}")),
            Err(why) => {
                println!("{why}");
                failed.push(case.to_string());
            }
        }
        if done % 500 == 0 {
            println!("{done} tried, {} failed", failed.len());
        }
    }
    println!("{done} tried, {} failed", failed.len());
    assert!(failed.is_empty(), "again with: cargo xtask test faults --fault {}", failed[0]);
}

/// What a kill between `link` and `unlink` leaves.
#[test]
fn a_file_with_two_names_keeps_its_synced_bytes_under_both() {
    use std::os::unix::fs::MetadataExt as _;
    for keeping in [Keeping::All, Keeping::Journalled, Keeping::Strict] {
        let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let names = ["a", ".a.new"].map(|name| before.path().join(name));
        std::fs::write(&names[0], "old ").unwrap();
        std::fs::hard_link(&names[0], &names[1]).unwrap();
        let file = std::fs::metadata(&names[0]).unwrap().ino();
        let written = Record::Written { file, offset: 4, bytes: b"new".to_vec() };
        let synced = Record::Synced { file, mtime_ns: 1 };
        let disk = Disk::over(before.path(), keeping).after(&[written, synced]);
        disk.write_to((before.path(), after.path()), &mut Chance::new(1));
        for name in ["a", ".a.new"] {
            let bytes = std::fs::read(after.path().join(name)).unwrap();
            assert_eq!(bytes, b"old new", "{name} with {keeping:?}");
        }
    }
}
