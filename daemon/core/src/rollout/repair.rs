//! Repairs lines that are not valid JSON text.

/// Repairs a line with bytes that are not UTF-8 or with halves of surrogate pairs. Both occur inside strings,
/// where a replacement character will do.
pub(crate) fn repair(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let mut out = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(at) = rest.find("\\u") {
        let escaped_backslash =
            rest[..at].bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1;
        let unit = |from: usize| {
            rest.get(from..from + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok())
        };
        let first = unit(at + 2);
        let pair = rest.get(at + 6..at + 8) == Some("\\u");
        let second = if pair { unit(at + 8) } else { None };
        out.push_str(&rest[..at]);
        let taken = match (first, second) {
            _ if escaped_backslash => 2,
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push('\u{FFFD}');
                rest = &rest[at + 6..];
                continue;
            }
            _ => 2,
        };
        out.push_str(&rest[at..at + taken]);
        rest = &rest[at + taken..];
    }
    out.push_str(rest);
    (out.as_bytes() != line).then_some(out)
}

/// The text of a line that needs no repair.
pub(crate) fn intact(line: &[u8]) -> Option<&str> {
    let text = simdutf8::basic::from_utf8(line).ok()?;
    // A parser that leaves strings undecoded accepts half of a surrogate pair; who decodes the string then fails.
    let mut escapes = memchr::memmem::find_iter(line, b"\\u");
    let has_units = escapes.any(|at| matches!(line.get(at + 2), Some(b'd' | b'D')));
    (!has_units || repair(line).is_none()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_text_is_replaced() {
        for (line, expected) in [
            (&br#"{"a":"\ud83d\ude00 \u0041 \n"}"#[..], None),
            (br#"{"a":"\\ud83d"}"#, None),
            (br#"{"a":"\ud83d x"}"#, Some("{\"a\":\"\u{fffd} x\"}")),
            (br#"{"a":"\ude00\u0041"}"#, Some("{\"a\":\"\u{fffd}\\u0041\"}")),
            (br#"{"a":"\ud83d\u0041"}"#, Some("{\"a\":\"\u{fffd}\\u0041\"}")),
            (br#"{"a":"\ud83d\ud83d\ude00"}"#, Some("{\"a\":\"\u{fffd}\\ud83d\\ude00\"}")),
            (br#"{"a":"\\\ud83d"}"#, Some("{\"a\":\"\\\\\u{fffd}\"}")),
            (b"{\"a\":\"\xff \\ud83d\\ude00\"}", Some("{\"a\":\"\u{fffd} \\ud83d\\ude00\"}")),
            (br#"{"a":"\ud8"#, None),
        ] {
            assert_eq!(repair(line).as_deref(), expected, "{}", String::from_utf8_lossy(line));
        }
    }
}
