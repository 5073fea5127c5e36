use futures_util::FutureExt;

use super::*;

fn hub() -> EventHub {
    EventHub::new(Clock::manual(1_700_000_000_000))
}

/// The next event, which must be ready.
fn ready(subscriber: &mut Subscriber) -> Option<Arc<Event>> {
    subscriber.next().now_or_never().flatten()
}

fn publish(hub: &EventHub, count: usize) -> u64 {
    for at in 0..count {
        hub.publish(EventKind::ThreadUpdated, json!(at));
    }
    hub.latest_seq()
}

#[test]
fn events_arrive_in_order_and_only_of_the_wanted_kinds() {
    let hub = hub();
    let mut all = hub.subscribe(vec![], None);
    let mut some = hub.subscribe(vec![EventKind::StoreRebuilt], None);
    let seq = hub.publish(EventKind::ThreadUpdated, json!(1));
    hub.publish(EventKind::StoreRebuilt, json!(2));
    assert_eq!(ready(&mut all).unwrap().seq, seq);
    assert_eq!(ready(&mut all).unwrap().seq, seq + 1);
    assert!(ready(&mut all).is_none());
    assert_eq!(ready(&mut some).unwrap().data, json!(2));
    assert!(ready(&mut some).is_none());
}

#[tokio::test]
async fn a_waiting_subscriber_is_woken() {
    let hub = hub();
    let mut subscriber = hub.subscribe(vec![], None);
    let (event, seq) = tokio::join!(subscriber.next(), async { publish(&hub, 1) });
    assert_eq!(event.unwrap().seq, seq);
}

#[test]
fn a_subscriber_resumes_after_a_seq_over_the_whole_ring() {
    let hub = hub();
    let last = publish(&hub, EVENT_RING_MAX + 10);
    let since = last - 2000;
    let mut subscriber = hub.subscribe(vec![], Some(since));
    for seq in since + 1..=last {
        assert_eq!(ready(&mut subscriber).unwrap().seq, seq);
    }
    assert!(ready(&mut subscriber).is_none());
    assert_eq!(subscriber.seq(), last);
}

#[test]
fn events_dropped_from_the_ring_are_a_gap() {
    let hub = hub();
    let last = publish(&hub, EVENT_RING_MAX + 10);
    let oldest = last - EVENT_RING_MAX as u64 + 1;
    let mut subscriber = hub.subscribe(vec![], Some(oldest - 5));
    let gap = ready(&mut subscriber).unwrap();
    assert_eq!(gap.kind, EventKind::Gap);
    assert_eq!(gap.data, json!({ "missed": 4, "next_seq": oldest }));
    assert_eq!(gap.seq, oldest - 1, "resuming after the gap loses nothing more");
    assert_eq!(ready(&mut subscriber).unwrap().seq, oldest);
}

#[test]
fn a_slow_subscriber_gets_a_gap_and_the_newest_queue_full() {
    let hub = hub();
    let mut subscriber = hub.subscribe(vec![], None);
    let first = subscriber.seq() + 1;
    let last = publish(&hub, EVENT_QUEUE_MAX + 3);
    let gap = ready(&mut subscriber).unwrap();
    assert_eq!(gap.data, json!({ "missed": 3, "next_seq": first + 3 }));
    let rest: Vec<_> =
        std::iter::from_fn(|| ready(&mut subscriber)).map(|event| event.seq).collect();
    assert_eq!(rest, (first + 3..=last).collect::<Vec<_>>());
}

#[test]
fn a_seq_of_an_earlier_daemon_is_a_gap_also_if_its_clock_was_ahead() {
    let earlier = hub();
    let since = publish(&earlier, 5);
    let later = EventHub::new(Clock::manual(1_700_000_000_001));
    publish(&later, 1);
    let mut subscriber = later.subscribe(vec![], Some(since));
    let gap = ready(&mut subscriber).unwrap();
    assert_eq!((gap.kind, gap.data.get("missed")), (EventKind::Gap, None));
    assert_eq!(ready(&mut subscriber).unwrap().kind, EventKind::ThreadUpdated);
    let ahead = publish(&EventHub::new(Clock::manual(1_800_000_000_000)), 1);
    for since in [ahead, u64::MAX] {
        let mut subscriber = later.subscribe(vec![], Some(since));
        let gap = ready(&mut subscriber).unwrap();
        assert_eq!(gap.kind, EventKind::Gap);
        assert_eq!(gap.data, json!({ "next_seq": later.latest_seq() }));
        assert_eq!(ready(&mut subscriber).unwrap().seq, later.latest_seq());
        assert!(ready(&mut subscriber).is_none());
    }
    let mut newest = later.subscribe(vec![], Some(later.latest_seq()));
    assert!(ready(&mut newest).is_none(), "nothing was lost");
}

#[test]
fn closing_delivers_pending_events_and_then_one_closing_event() {
    let hub = hub();
    let mut subscriber = hub.subscribe(vec![], None);
    publish(&hub, 1);
    hub.close("SIGTERM");
    assert_eq!(ready(&mut subscriber).unwrap().kind, EventKind::ThreadUpdated);
    let closing = ready(&mut subscriber).unwrap();
    assert_eq!(
        (closing.kind, &closing.data),
        (EventKind::Closing, &json!({ "reason": "SIGTERM" }))
    );
    assert!(subscriber.next().now_or_never().unwrap().is_none());
    let mut late = hub.subscribe(vec![], None);
    assert_eq!(ready(&mut late).unwrap().kind, EventKind::Closing);
}
