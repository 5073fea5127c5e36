//! Recorded answers of a provider, in the form of the Responses API: the gateway returns the bytes that a direct
//! connection returns.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use crate::desk::Desk;
use crate::provider::{LIMIT_SECONDS, Message, Provider, connect, exchange, gzipped, post};

const TURN: &str = include_str!("recordings/turn.sse");
const RECORDINGS: [&str; 5] = [
    TURN,
    include_str!("recordings/tools.sse"),
    // Ends with `response.failed`.
    include_str!("recordings/failed.sse"),
    // An `error` event in the middle; ends inside a field.
    include_str!("recordings/torn.sse"),
    // Comments, a byte order mark, fields without a value, a split `data`.
    include_str!("recordings/odd.sse"),
];
/// `turn.sse`, compressed by another program.
const TURN_BROTLI: &[u8] = include_bytes!("recordings/turn.sse.br");
const REQUEST: &[u8] = b"{\"input\":[]}";
const LIMIT: Duration = Duration::from_secs(LIMIT_SECONDS);

/// How an answer announces its end.
#[derive(Clone, Copy, Debug)]
enum Framing {
    Chunks,
    Length,
    Close,
}

/// An answer in the pieces in which it is sent.
struct Recording {
    head: String,
    pieces: Vec<Vec<u8>>,
    end: &'static [u8],
}

impl Recording {
    fn new(pieces: &[&[u8]], framing: Framing, headers: &str) -> Self {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let (header, end): (_, &[u8]) = match framing {
            Framing::Chunks => ("transfer-encoding: chunked\r\n".to_owned(), b"0\r\n\r\n"),
            Framing::Length => (format!("content-length: {length}\r\n"), b""),
            Framing::Close => (String::new(), b""),
        };
        let pieces = pieces.iter().map(|piece| match framing {
            Framing::Chunks => chunk(piece),
            Framing::Length | Framing::Close => piece.to_vec(),
        });
        let kind = "content-type: text/event-stream; charset=utf-8\r\n";
        let head = format!("HTTP/1.1 200 OK\r\n{kind}{headers}{header}connection: close\r\n\r\n");
        Self { head, pieces: pieces.collect(), end }
    }

    fn send(&self, stream: &mut TcpStream) {
        stream.set_nodelay(true).unwrap();
        // A client that left is not the provider's fault.
        let mut write = |bytes: &[u8]| stream.write_all(bytes).unwrap_or_default();
        write(self.head.as_bytes());
        self.pieces.iter().for_each(|piece| write(piece));
        write(self.end);
    }
}

fn chunk(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}

/// Cuts of a stream: none, everywhere, inside each character of several bytes, in the middle of each line.
fn cuts(text: &str) -> [Vec<&[u8]>; 4] {
    let characters = text.char_indices().filter(|(_, character)| character.len_utf8() > 1);
    let inside = characters.map(|(at, _)| at + 1).collect();
    let mut at = 0;
    let middles = text.split_inclusive('\n').map(|line| {
        at += line.len();
        at - line.len() / 2 - 1
    });
    let middles: Vec<usize> = middles.collect();
    let bytes = text.as_bytes();
    [vec![bytes], bytes.chunks(1).collect(), cut(bytes, inside), cut(bytes, middles)]
}

fn cut(mut bytes: &[u8], at: Vec<usize>) -> Vec<&[u8]> {
    let whole = bytes.len();
    let mut pieces = Vec::new();
    for at in at {
        let (piece, rest) = bytes.split_at(at - (whole - bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    // An empty chunk would end the stream.
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// A provider that sends the recording whose number is in the query.
fn provider(recordings: Vec<Recording>) -> Provider {
    Provider::start(move |request, stream| {
        let (_, number) = request.start.split_once("?n=").unwrap();
        let number: usize = number.split(' ').next().unwrap().parse().unwrap();
        recordings[number].send(stream);
    })
}

/// The same answer over a direct connection and through the gateway.
fn both(provider: &Provider, desk: &Desk, number: usize) -> [Message; 2] {
    let rest = format!("/responses?n={number}");
    let accepts = [("accept-encoding", "gzip, br, zstd")];
    let direct = exchange(provider.address, &post(&format!("/v1{rest}"), &accepts, REQUEST));
    let through = desk.send(&post(&desk.path(&rest), &accepts, REQUEST));
    [direct, through].map(Message::of_the_end)
}

#[test]
fn a_recorded_stream_arrives_unchanged_however_it_is_cut_and_framed() {
    let (mut recordings, mut wanted) = (Vec::new(), Vec::new());
    let with_returns = TURN.replace('\n', "\r\n");
    for text in RECORDINGS.into_iter().chain([with_returns.as_str()]) {
        for pieces in cuts(text) {
            for framing in [Framing::Chunks, Framing::Length, Framing::Close] {
                recordings.push(Recording::new(&pieces, framing, ""));
                wanted.push((text.to_owned(), framing));
            }
        }
    }
    let provider = provider(recordings);
    let desk = Desk::new(&provider.url());
    for (number, (text, framing)) in wanted.iter().enumerate() {
        let [direct, through] = both(&provider, &desk, number);
        assert_eq!(direct.text(), text, "the recording itself");
        assert!(direct.is_whole);
        assert!(
            through == direct,
            "{number}, {framing:?}: {:?}",
            String::from_utf8_lossy(&through.body)
        );
    }
}

#[test]
fn a_compressed_stream_arrives_compressed() {
    let packed = [
        ("gzip", gzipped(TURN.as_bytes())),
        ("zstd", zstd::stream::encode_all(TURN.as_bytes(), 3).unwrap()),
        ("br", TURN_BROTLI.to_vec()),
    ];
    let recordings = packed.iter().map(|(encoding, body)| {
        let header = format!("content-encoding: {encoding}\r\nvary: accept-encoding\r\n");
        let pieces: Vec<&[u8]> = body.chunks(7).collect();
        Recording::new(&pieces, Framing::Chunks, &header)
    });
    let provider = provider(recordings.collect());
    let desk = Desk::new(&provider.url());
    for (number, (encoding, body)) in packed.iter().enumerate() {
        let [direct, through] = both(&provider, &desk, number);
        assert_eq!(through.header("content-encoding"), Some(*encoding));
        assert!(through.body == *body && through == direct, "{encoding}");
    }
}

#[test]
fn a_stream_that_breaks_off_delivers_what_a_direct_connection_delivers() {
    let bytes = TURN.as_bytes();
    // Inside a character.
    let half = TURN.find('解').unwrap() + 1;
    let torn_chunk = [b"fff\r\n".as_slice(), &bytes[half..half + 100]].concat();
    let lie = |length: usize| {
        let mut recording = Recording::new(&[&bytes[..half]], Framing::Close, "");
        let header = format!("content-length: {length}\r\nconnection: close\r\n");
        recording.head = recording.head.replace("connection: close\r\n", &header);
        recording
    };
    let mut without_end = Recording::new(&[&bytes[..half]], Framing::Chunks, "");
    without_end.end = b"";
    let mut inside_chunk = Recording::new(&[&bytes[..half]], Framing::Chunks, "");
    inside_chunk.pieces.push(torn_chunk);
    inside_chunk.end = b"";
    let recordings = vec![lie(bytes.len()), lie(half - 200), without_end, inside_chunk];
    let provider = provider(recordings);
    let desk = Desk::new(&provider.url());
    for (number, is_whole) in [false, true, false, false].into_iter().enumerate() {
        let [direct, through] = both(&provider, &desk, number);
        assert_eq!((direct.is_whole, through.is_whole), (is_whole, is_whole), "{number}");
        let lengths = (through.body.len(), direct.body.len());
        assert!(through.body == direct.body, "{number}: {lengths:?} bytes");
        assert!(bytes.starts_with(&through.body) && !through.body.is_empty(), "{number}");
    }
}

#[test]
fn after_a_cancelled_stream_the_next_one_arrives_whole() {
    let (left, seen) = mpsc::channel();
    let left = Mutex::new(left);
    let whole = Recording::new(&[TURN.as_bytes()], Framing::Chunks, "");
    let provider = Provider::start(move |request, stream| {
        if request.start.contains("?n=0") {
            return whole.send(stream);
        }
        stream.write_all(whole.head.as_bytes()).unwrap();
        stream.write_all(&chunk(&TURN.as_bytes()[..100])).unwrap();
        // Only the client's end stops this.
        let read = stream.read(&mut [0; 16]);
        left.lock().unwrap().send(matches!(read, Ok(0) | Err(_))).unwrap();
    });
    let desk = Desk::new(&provider.url());
    let mut client = connect(desk.address());
    client.write_all(&post(&desk.path("/responses?n=1"), &[], REQUEST)).unwrap();
    let mut read = Vec::new();
    while !read.windows(20).any(|bytes| bytes == &TURN.as_bytes()[80..100]) {
        let mut buffer = [0; 64];
        let count = client.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "the stream ended early");
        read.extend_from_slice(&buffer[..count]);
    }
    client.shutdown(Shutdown::Both).unwrap();
    assert_eq!(seen.recv_timeout(LIMIT - Duration::from_secs(5)), Ok(true));
    let [direct, through] = both(&provider, &desk, 0);
    assert!(through.is_whole && through.text() == TURN);
    assert!(through == direct);
}

#[test]
fn a_reader_that_stalls_gets_every_byte_in_order() {
    const COPIES: usize = 8_000;
    let (stalled, waits) = mpsc::channel();
    let stalled = Mutex::new(stalled);
    let provider = Provider::start(move |_, stream| {
        let body = TURN.repeat(COPIES).into_bytes();
        let whole = Recording::new(&[&body], Framing::Length, "");
        stream.write_all(whole.head.as_bytes()).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut rest = body.as_slice();
        while !rest.is_empty() {
            match stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    stalled.lock().unwrap().send(()).unwrap_or_default();
                }
                Err(error) => panic!("{error}"),
            }
        }
    });
    let desk = Desk::new(&provider.url());
    let mut client = connect(desk.address());
    client.write_all(&post(&desk.path("/responses"), &[], REQUEST)).unwrap();
    waits.recv_timeout(LIMIT).unwrap();
    let mut reader = std::io::BufReader::new(client);
    let answer = Message::read(&mut reader).unwrap();
    assert!(answer.is_whole && answer.body == TURN.repeat(COPIES).into_bytes());
}
