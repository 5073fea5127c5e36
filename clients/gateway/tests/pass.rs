//! What is passed through, byte for byte, in both directions.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::sync::mpsc;
use std::time::Duration;

use crate::desk::Desk;
use crate::provider::{
    Headers, LIMIT_SECONDS, Message, Provider, answer, connect, exchange, gzipped, post,
};

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\
                      x-request-id: r1\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\n";
const LIMIT: Duration = Duration::from_secs(LIMIT_SECONDS);

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Answers as providers give them, the unpleasant ones included.
fn answers() -> Vec<String> {
    let stream = ["event: a\ndata: {\"t\":\"\u{e9}\"}\n\n", "event: b\n", "data: 2\n\n"];
    let chunks: String = stream.iter().map(|text| chunk(text)).collect();
    vec![
        format!("{EVENTS}{chunks}0\r\n\r\n"),
        answer("200 OK", "content-type: application/json\r\netag: \"x\"\r\n", "{\"data\": [1.50]}"),
        answer(
            "400 Bad Request",
            "content-type: application/json\r\n",
            "{\"error\":{\"code\":\"context_length_exceeded\"}}",
        ),
        answer("401 Unauthorized", "www-authenticate: Bearer\r\n", ""),
        answer("307 Temporary Redirect", "location: https://elsewhere.example/\r\n", ""),
        answer("429 Too Many Requests", "retry-after: 7\r\nx-ratelimit-reset: 1s\r\n", "slow down"),
        answer("500 Internal Server Error", "", "oh"),
        answer("503 Service Unavailable", "content-type: text/html\r\n", "<html>"),
        // Packed, and not unpacked on the way.
        answer("200 OK", "content-encoding: gzip\r\n", "\u{1f}not really gzip"),
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nup to the end".to_owned(),
        "HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n".to_owned(),
    ]
}

#[test]
fn every_answer_comes_back_as_the_provider_gave_it() {
    for answer in answers() {
        let provider = Provider::saying(answer.clone());
        let desk = Desk::new(&provider.url());
        let direct = exchange(provider.address, &post("/v1/responses", &[], b"{\"input\":[]}"));
        let through = desk.send(&post(&desk.path("/responses"), &[], b"{\"input\":[]}"));
        assert_eq!(through.of_the_end(), direct.of_the_end(), "{answer}");
    }
}

#[test]
fn every_request_goes_out_as_the_client_sent_it() {
    let provider = Provider::saying(answer("200 OK", "", "ok"));
    let desk = Desk::new(&provider.url());
    let packed = zstd::stream::encode_all(&b"{\"input\": [ 1 ]}"[..], 3).unwrap();
    let odd = b"{ \"input\" : [ {\"a\":1.0,  \"a\":\"\\u00e9\"} ], \"n\": 1e2 }\n".to_vec();
    let headers = [
        ("authorization", "Bearer k"),
        ("x-codex-window-id", "w:0"),
        ("accept", "text/event-stream"),
    ];
    let zstd = [("content-encoding", "zstd"), ("accept", "*/*")];
    let gzip = [("content-encoding", "gzip"), ("accept", "*/*")];
    let requests: [(&str, Headers<'_>, &[u8]); 8] = [
        ("/responses", &headers, &odd),
        ("/responses?a=%20b&c", &headers, b"{\"input\":\"words\"}"),
        ("/responses", &headers, b"{\"input\":[1,}"),
        ("/responses", &zstd, &packed),
        ("/responses", &zstd, b"not zstd"),
        ("/responses", &gzip, &gzipped(b"{\"input\": [ 1 ]}")),
        ("/responses", &gzip, &[0, 159, 146, 150]),
        ("/files/x%2Fy", &headers, &[0, 255, 10, 13]),
    ];
    for (rest, headers, body) in requests {
        desk.send(&post(&desk.path(rest), headers, body));
        exchange(provider.address, &post(&format!("/v1{rest}"), headers, body));
        let mut both = provider.received().into_iter().rev().map(Message::of_the_end);
        let (direct, through) = (both.next().unwrap(), both.next().unwrap());
        assert_eq!(through, direct, "{rest}");
        assert_eq!(through.body, body);
    }
    desk.send(
        format!("GET {} HTTP/1.1\r\nhost: x\r\naccept: a\r\n\r\n", desk.path("/models")).as_bytes(),
    );
    let last = provider.received().pop().unwrap();
    assert_eq!((last.start.as_str(), last.body.len()), ("GET /v1/models HTTP/1.1", 0));
    assert_eq!(last.header("host"), Some(provider.address.to_string().as_str()));
    assert_eq!(desk.status().passed, 9);
}

#[test]
fn a_body_in_chunks_arrives_whole() {
    let provider = Provider::saying(answer("200 OK", "", "ok"));
    let desk = Desk::new(&provider.url());
    for rest in ["/responses", "/other"] {
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n",
            desk.path(rest)
        );
        let body = chunk("{\"inp") + &chunk("ut\":[]}") + "0\r\n\r\n";
        assert_eq!(desk.send((head + &body).as_bytes()).text(), "ok");
        assert_eq!(provider.received().pop().unwrap().text(), "{\"input\":[]}");
    }
}

#[test]
fn an_event_arrives_before_the_next_one_is_made() {
    let (read, waits) = mpsc::channel();
    let waits = std::sync::Mutex::new(waits);
    let provider = Provider::start(move |_, stream| {
        stream.write_all(EVENTS.as_bytes()).unwrap();
        for number in 0..5 {
            stream.write_all(chunk(&format!("data: {number}\n\n")).as_bytes()).unwrap();
            waits.lock().unwrap().recv_timeout(LIMIT).unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let desk = Desk::new(&provider.url());
    let mut stream = connect(desk.address());
    stream.write_all(&post(&desk.path("/responses"), &[], b"{}")).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    for number in 0..5 {
        let wanted = format!("data: {number}");
        assert!(lines.any(|line| line == wanted), "{wanted}");
        read.send(()).unwrap();
    }
    assert!(lines.any(|line| line == "0"), "the end");
}

#[test]
fn a_client_that_hangs_up_ends_the_request_upstream() {
    for sends_first in [false, true] {
        let (gone, ended) = mpsc::channel();
        let gone = std::sync::Mutex::new(gone);
        let provider = Provider::start(move |_, stream| {
            if sends_first {
                stream.write_all((EVENTS.to_owned() + &chunk("data: 1\n\n")).as_bytes()).unwrap();
            }
            // Nothing more comes from the client: this ends when the gateway closes the connection.
            let read = stream.read(&mut [0; 16]);
            gone.lock().unwrap().send(matches!(read, Ok(0) | Err(_))).unwrap();
        });
        let desk = Desk::new(&provider.url());
        let mut stream = connect(desk.address());
        stream.write_all(&post(&desk.path("/responses"), &[], b"{}")).unwrap();
        if sends_first {
            assert!(BufReader::new(&stream).lines().any(|line| line.unwrap() == "data: 1"));
        } else {
            while provider.received().is_empty() {
                std::thread::yield_now();
            }
        }
        stream.shutdown(Shutdown::Both).unwrap();
        let is_gone = ended.recv_timeout(LIMIT - Duration::from_secs(5));
        assert_eq!(is_gone, Ok(true), "after a first event: {sends_first}");
    }
}

#[test]
fn a_client_that_reads_slowly_holds_the_provider_up_and_costs_no_memory() {
    const OFFERED_BYTES: usize = 256 << 20;
    let (counts, stalled) = mpsc::channel();
    let counts = std::sync::Mutex::new(counts);
    let provider = Provider::start(move |_, stream| {
        stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
        stream
            .write_all(
                format!("HTTP/1.1 200 OK\r\ncontent-length: {OFFERED_BYTES}\r\n\r\n").as_bytes(),
            )
            .unwrap();
        let piece = vec![b'x'; 64 << 10];
        let taken =
            (0..OFFERED_BYTES / piece.len()).take_while(|_| stream.write_all(&piece).is_ok());
        counts.lock().unwrap().send(taken.count() * piece.len()).unwrap();
    });
    let desk = Desk::new(&provider.url());
    let before = desk.resident_kib();
    let mut stream = connect(desk.address());
    stream.write_all(&post(&desk.path("/responses"), &[], b"{}")).unwrap();
    let taken = stalled.recv_timeout(LIMIT).unwrap();
    assert!(taken < 64 << 20, "{taken} bytes were read although the client reads nothing");
    let grown = desk.resident_kib().saturating_sub(before);
    assert!(grown < 32 << 10, "{grown} KiB more");
}

#[test]
fn an_upstream_that_lies_about_lengths_is_no_worse_than_without_us() {
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it";
    let long = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nwords and more";
    let torn = format!("{EVENTS}{}ff\r\nhalf", chunk("data: 1\n\n"));
    for answer in [short, long, &torn] {
        let provider = Provider::saying(answer);
        let desk = Desk::new(&provider.url());
        let direct = exchange(provider.address, &post("/v1/responses", &[], b"{}"));
        let through = desk.send(&post(&desk.path("/responses"), &[], b"{}"));
        assert_eq!(through.is_whole, direct.is_whole, "{answer}");
        assert!(direct.body.starts_with(&through.body) && !through.body.is_empty(), "{through:?}");
    }
}

#[test]
fn a_route_that_is_added_while_it_runs_is_taken_and_one_whose_file_is_gone_stays() {
    let provider = Provider::saying(answer("200 OK", "", "ok"));
    let desk = Desk::new(&provider.url());
    let file = desk.folder.path().join("gateway.json");
    let mut settings = desk.settings.clone();
    settings.routes.insert("later".to_owned(), settings.routes.get("corp").unwrap().clone());
    let path = format!("/{}/later/models", settings.secret);
    let start = || desk.send(&post(&path, &[], b"")).start;
    assert_eq!(start(), "HTTP/1.1 404 Not Found");
    std::fs::write(&file, serde_json::to_vec(&settings).unwrap()).unwrap();
    assert_eq!(start(), "HTTP/1.1 200 OK");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(start(), "HTTP/1.1 200 OK");
    // An installation of later has another secret; the sessions of this one go on.
    settings.secret = "0".repeat(32);
    settings.routes.clear();
    std::fs::write(&file, serde_json::to_vec(&settings).unwrap()).unwrap();
    assert_eq!(start(), "HTTP/1.1 200 OK");
}
