use proptest::prelude::*;

use super::*;

/// A frame that owns its bytes.
#[derive(Debug, PartialEq, Eq)]
enum Owned {
    Line(Vec<u8>),
    TooLong(Vec<u8>, u64),
}

fn drain(decoder: &mut Decoder, into: &mut Vec<Owned>) {
    while let Some(frame) = decoder.next_frame() {
        into.push(own(frame));
    }
}

fn own(frame: Frame<'_>) -> Owned {
    match frame {
        Frame::Line(line) => Owned::Line(line.to_vec()),
        Frame::TooLong { head, bytes } => Owned::TooLong(head, bytes),
    }
}

fn decode(line_bytes_max: usize, chunks: &[&[u8]]) -> Vec<Owned> {
    let mut decoder = Decoder::with_line_bytes_max(line_bytes_max);
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        drain(&mut decoder, &mut frames);
        assert!(decoder.buffered_bytes() <= line_bytes_max, "an unfinished line is bounded");
    }
    frames.extend(decoder.finish().map(own));
    frames
}

/// What the frames of a stream are, said without a state machine.
fn expected(line_bytes_max: usize, stream: &[u8]) -> Vec<Owned> {
    let frame = |line: &[u8]| match line.len() > line_bytes_max {
        true => Some(Owned::TooLong(
            line[..line.len().min(FRAME_HEAD_BYTES)].to_vec(),
            line.len() as u64,
        )),
        false => {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            (!line.is_empty()).then(|| Owned::Line(line.to_vec()))
        }
    };
    stream.split(|byte| *byte == b'\n').filter_map(frame).collect()
}

proptest! {
    #[test]
    fn any_chunking_of_any_stream_yields_the_same_frames(
        stream in prop::collection::vec(prop_oneof![2 => Just(b'\n'), 1 => Just(b'\r'), 9 => any::<u8>()], 0..600),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        line_bytes_max in 0_usize..40,
    ) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        at.extend([0, stream.len()]);
        at.sort_unstable();
        let chunks: Vec<&[u8]> = at.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decode(line_bytes_max, &chunks), expected(line_bytes_max, &stream));
    }

    #[test]
    fn any_message_is_encoded_as_exactly_one_line(keys in prop::collection::vec(".{0,12}", 0..6)) {
        let message = serde_json::json!({ "keys": keys, "text": keys.join("\r\n") });
        for written in [serde_json::to_vec(&message).unwrap(), serde_json::to_vec_pretty(&message).unwrap()] {
            let line = encode(&written);
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            let frames = decode(FRAME_BYTES_MAX, &[&line]);
            let Some(Owned::Line(line)) = frames.first() else { panic!("one line") };
            prop_assert_eq!(&serde_json::from_slice::<serde_json::Value>(line).unwrap(), &message);
        }
    }
}

#[test]
fn an_over_long_line_is_counted_skipped_and_the_next_one_served() {
    let long = vec![b'x'; 3 * FRAME_HEAD_BYTES];
    let frames = decode(100, &[b"{\"id\":7,", &long, &long, b"\n{}\n"]);
    let Owned::TooLong(head, bytes) = &frames[0] else { panic!("over-long") };
    assert!(head.starts_with(b"{\"id\":7,"));
    assert_eq!((head.len(), *bytes), (FRAME_HEAD_BYTES, 8 + 6 * FRAME_HEAD_BYTES as u64));
    assert_eq!(frames[1..], [Owned::Line(b"{}".to_vec())]);
}

#[test]
fn an_over_long_line_without_an_end_takes_no_memory() {
    let mut decoder = Decoder::with_line_bytes_max(1000);
    for _ in 0..10_000 {
        decoder.push(&[b'x'; 1024]);
        assert_eq!(decoder.next_frame(), None);
        assert!(decoder.buffer.capacity() <= 8 * 1024);
    }
}

#[test]
fn a_long_line_gives_its_buffer_back() {
    let mut decoder = Decoder::default();
    decoder.push(&vec![b'x'; 1024 * 1024]);
    decoder.push(b"\n");
    assert!(matches!(decoder.next_frame(), Some(Frame::Line(line)) if line.len() == 1024 * 1024));
    decoder.push(b"");
    assert!(decoder.buffer.capacity() <= IDLE_BUFFER_BYTES);
}
