//! What is refused, and in which words.

use std::net::TcpListener;

use longhaul_client::gateway::GatewaySettings;

use crate::desk::{Desk, program};
use crate::provider::{Headers, Provider, answer, gzipped, post};

#[test]
fn without_the_secret_there_is_nothing() {
    let provider = Provider::saying(answer("200 OK", "", "ok"));
    let desk = Desk::new(&provider.url());
    let secret = &desk.settings.secret;
    let shorter = &secret[..secret.len() - 1];
    let paths = [
        "/".to_owned(),
        "/v1/responses".to_owned(),
        format!("/{shorter}/corp/responses"),
        format!("/{secret}0/corp/responses"),
        format!("/{}/corp/responses", secret.replace(|_: char| true, "0")),
        format!("/{secret}/unknown/responses"),
        format!("//{secret}/corp/responses"),
    ];
    for path in paths {
        let refused = desk.send(&post(&path, &[("authorization", "Bearer k")], b"{}"));
        assert_eq!(refused.start, "HTTP/1.1 404 Not Found", "{path}");
    }
    assert!(provider.received().is_empty());
}

#[test]
fn websockets_are_refused_by_the_status_that_sends_codex_to_http() {
    let provider = Provider::saying(answer("200 OK", "", "ok"));
    let desk = Desk::new(&provider.url());
    let request = format!(
        "GET {} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        desk.path("/responses")
    );
    let refused = desk.send(request.as_bytes());
    assert_eq!(refused.start, "HTTP/1.1 426 Upgrade Required");
    assert!(refused.text().contains("use HTTP"), "{}", refused.text());
    assert!(provider.received().is_empty());
}

#[test]
fn a_provider_that_is_not_there_is_told_without_its_query() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let desk = Desk::new(&format!("http://{free}/v1"));
    let refused = desk.send(&post(&desk.path("/responses?key=sk-hidden"), &[], b"{}"));
    assert_eq!(refused.start, "HTTP/1.1 502 Bad Gateway");
    let text = refused.text();
    assert!(text.contains("longhaul gateway: the provider was not reached"), "{text}");
    assert!(!text.contains("sk-hidden"), "{text}");
}

#[test]
fn a_body_over_the_bound_is_refused_packed_or_not() {
    let provider = Provider::saying(answer("200 OK", "", "ok"));
    let desk = Desk::new(&provider.url());
    let large = vec![b' '; (64 << 20) + 1];
    let bomb = zstd::stream::encode_all(large.as_slice(), 1).unwrap();
    let gzip = gzipped(&large);
    let cases: [(Headers<'_>, &[u8]); 3] = [
        (&[], &large),
        (&[("content-encoding", "zstd")], &bomb),
        (&[("content-encoding", "gzip")], &gzip),
    ];
    for (headers, body) in cases {
        let refused = desk.send(&post(&desk.path("/responses"), headers, body));
        assert_eq!(refused.start, "HTTP/1.1 413 Payload Too Large", "{} bytes", body.len());
    }
    assert!(provider.received().is_empty());
}

#[test]
fn a_body_that_cannot_be_read_reaches_no_provider() {
    let provider = Provider::saying(answer("200 OK", "", "ok"));
    let desk = Desk::new(&provider.url());
    let twice: Headers<'_> = &[("content-encoding", "zstd"), ("content-encoding", "gzip")];
    let cases = [&[("content-encoding", "br")], &[("content-encoding", "gzip, zstd")][..], twice];
    for headers in cases {
        let refused = desk.send(&post(&desk.path("/responses"), headers, b"\x01\x02"));
        assert_eq!(refused.start, "HTTP/1.1 415 Unsupported Media Type", "{headers:?}");
        assert!(refused.text().contains("packed once with zstd or gzip"), "{}", refused.text());
    }
    assert!(provider.received().is_empty());
    let elsewhere = post(&desk.path("/files"), &[("content-encoding", "br")], b"\x01\x02");
    assert_eq!(desk.send(&elsewhere).text(), "ok", "other requests are not looked into");
}

#[test]
fn a_port_in_use_is_said_in_words_and_by_the_exit_code() {
    let desk = Desk::new("http://127.0.0.1:1/v1");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.json");
    let refused = |settings: &GatewaySettings| {
        std::fs::write(&file, serde_json::to_vec(settings).unwrap()).unwrap();
        let output = program(&file).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, printed) = refused(&desk.settings);
    assert!(
        code == 75 && printed.contains("serves") && printed.contains("already"),
        "{code} {printed}"
    );
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = GatewaySettings::new(other.local_addr().unwrap().port()).unwrap();
    drop(std::thread::spawn(move || other.incoming().take(1).for_each(drop)));
    let (code, printed) = refused(&settings);
    assert!(code == 78 && printed.contains("in use by another program"), "{code} {printed}");
    std::fs::remove_file(&file).unwrap();
    let output = program(&file).output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(78) && printed.contains("install codex --gateway"),
        "{printed}"
    );
}
