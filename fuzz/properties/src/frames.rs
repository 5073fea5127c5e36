//! A stream of a client: cut into frames, each taken apart, its params read.

use longhaul_daemon::socket::envelope::{self, Envelope, ID_BYTES_MAX};
use longhaul_protocol::frame::{self, Decoder, Frame};
use longhaul_protocol::limit::FRAME_HEAD_BYTES;
use longhaul_protocol::method::{Method, MethodVisitor, visit_methods};
use serde_json::Value;

use crate::input::Dice;

/// Small, so that inputs of a few KiB go over it.
const LINE_BYTES_MAX: usize = 1_500;

/// The input is what the client sends.
pub fn check(bytes: &[u8]) {
    let mut dice = Dice::of(bytes);
    let whole = frames(bytes, bytes.len());
    assert_eq!(whole, frames(bytes, 1 + dice.below(64)), "frames depend on the chunks");
    for line in whole.into_iter().flatten() {
        message(&line);
    }
}

/// The frames of a stream that arrives in chunks; `None` for one that is too long.
fn frames(bytes: &[u8], chunk: usize) -> Vec<Option<Vec<u8>>> {
    let mut decoder = Decoder::with_line_bytes_max(LINE_BYTES_MAX);
    let mut found = Vec::new();
    let mut take = |frame: Frame<'_>| match frame {
        Frame::Line(line) => {
            assert!(!line.is_empty() && line.len() <= LINE_BYTES_MAX && !line.contains(&b'\n'));
            found.push(Some(line.to_vec()));
        }
        Frame::TooLong { head, bytes } => {
            assert!(bytes > LINE_BYTES_MAX as u64 && head.len() <= FRAME_HEAD_BYTES);
            assert_is_an_id(&envelope::recover_id(&head));
            found.push(None);
        }
    };
    for chunk in bytes.chunks(chunk.max(1)) {
        decoder.push(chunk);
        while let Some(frame) = decoder.next_frame() {
            take(frame);
        }
        assert!(decoder.buffered_bytes() <= LINE_BYTES_MAX, "an unfinished line over the bound");
    }
    decoder.finish().into_iter().for_each(take);
    found
}

fn message(line: &[u8]) {
    assert_is_an_id(&envelope::recover_id(line));
    match envelope::open(line) {
        Envelope::Notification => {}
        Envelope::Refused(refusal) => {
            assert_is_an_id(&refusal.id);
            assert!(!refusal.error.message.is_empty());
        }
        Envelope::Call(call) => {
            let id = serde_json::to_string(&call.id).unwrap();
            assert!(id.len() <= ID_BYTES_MAX * 6, "an id of {} bytes", id.len());
            let params = call.params.map_or("{}", |params| params.get());
            visit_methods(&mut Params { method: &call.method, params });
            assert_eq!(frame::encode(params.as_bytes()).iter().filter(|b| **b == b'\n').count(), 1);
        }
    }
}

/// An answer is `{"id":…}`: what is put there has to be one JSON value that is an id.
fn assert_is_an_id(id: &str) {
    assert!(id.len() <= ID_BYTES_MAX, "an id of {} bytes", id.len());
    let value: Value = serde_json::from_str(id).expect("an id is JSON");
    assert!(value.is_null() || value.is_string() || value.is_number(), "{id}");
}

/// Reads params as the method's own type; what is read is written and read again.
struct Params<'a> {
    method: &'a str,
    params: &'a str,
}

impl MethodVisitor for Params<'_> {
    fn visit<M: Method>(&mut self) {
        if self.method != M::NAME {
            return;
        }
        if let Ok(read) = serde_json::from_str::<M::Params>(self.params) {
            let written = serde_json::to_string(&read).unwrap();
            let again: M::Params =
                serde_json::from_str(&written).expect("params read what they write");
            assert_eq!(serde_json::to_string(&again).unwrap(), written, "{}", M::NAME);
        }
    }
}
