//! Jobs: decided and stored atomically under concurrent callers.

use std::sync::Arc;

use longhaul_core::job::{self, JobKey, Kind, Rules, State};
use longhaul_store::{EVENTS_PER_JOB_MAX, JobFilter, SCAN_MAX, Store};

use crate::sample::{Temp, ask, at, request};

fn key(subject: &str) -> JobKey {
    JobKey { kind: Kind::Extract, subject: subject.to_owned() }
}

/// Claims the next job and returns its subject and token.
async fn claim(store: &Store, rules: &Rules, nonce: &str) -> Option<(String, job::Token)> {
    let decide = |jobs: &[job::Job]| {
        let running = jobs.iter().filter(|job| job.state == State::Running).count();
        let running = u32::try_from(running).unwrap();
        let Some(next) = job::next(jobs, running, rules, &at(2)) else { return (vec![], None) };
        let claimed = job::claim(next.clone(), running, rules, ("w", nonce), &at(2)).unwrap();
        (vec![claimed.0], Some((next.key.subject.clone(), claimed.1.token)))
    };
    store.jobs.decide_together(Kind::Extract, SCAN_MAX, decide).await.unwrap()
}

#[tokio::test]
async fn two_racing_daemons_never_claim_the_same_job() {
    let (temp, store) = Temp::opened().await;
    let (other, _) = temp.open().await;
    for n in 0..40 {
        ask(&store, request(&key(&format!("t{n:02}")), "i")).await.unwrap();
    }
    let rules = Rules { running_max: 8, ..Rules::default() };
    let mut workers = Vec::new();
    for worker in 0..6 {
        let store = if worker % 2 == 0 { store.clone() } else { other.clone() };
        workers.push(tokio::spawn(async move {
            let mut done = Vec::new();
            while let Some((subject, token)) = claim(&store, &rules, &format!("w{worker}")).await {
                let finish = |found: Option<job::Job>| {
                    let finished = job::finish(found.unwrap(), &token, &rules, &at(3));
                    (finished.ok(), ())
                };
                store.jobs.decide(&key(&subject), finish).await.unwrap();
                done.push(subject);
            }
            done
        }));
    }
    let mut done = Vec::new();
    for worker in workers {
        done.extend(worker.await.unwrap());
    }
    done.sort();
    let all: Vec<String> = (0..40).map(|n| format!("t{n:02}")).collect();
    assert_eq!(done, all, "each job once");
    let filter = JobFilter { state: Some(State::Done), ..JobFilter::default() };
    assert_eq!(other.jobs.list(&filter, 100).await.unwrap().len(), 40);
}

#[tokio::test]
async fn events_are_kept_and_bounded() {
    let (_temp, store) = Temp::opened().await;
    ask(&store, request(&key("t"), "i")).await.unwrap();
    claim(&store, &Rules::default(), "n").await.unwrap();
    let events = store.jobs.events(&key("t")).await.unwrap();
    let reported: Vec<_> = events.iter().map(|e| (e.state.as_str(), e.detail.as_str())).collect();
    assert_eq!(reported, [("queued", ""), ("running", "w")]);
    for _ in 0..EVENTS_PER_JOB_MAX {
        let cancel = |found: Option<job::Job>| (found.map(|job| job::cancel(job, &at(9))), ());
        store.jobs.decide(&key("t"), cancel).await.unwrap();
        let retry = |found: Option<job::Job>| (found.map(|job| job::retry(job, &at(9))), ());
        store.jobs.decide(&key("t"), retry).await.unwrap();
    }
    assert_eq!(store.jobs.events(&key("t")).await.unwrap().len(), EVENTS_PER_JOB_MAX as usize);
}

#[tokio::test]
async fn a_decision_without_a_change_stores_nothing() {
    let (_temp, store) = Temp::opened().await;
    let store = Arc::new(store);
    let answer = store.jobs.decide(&key("t"), |found| (None, found.is_none())).await.unwrap();
    assert!(answer);
    assert_eq!(store.jobs.get(&key("t")).await.unwrap(), None);
}
