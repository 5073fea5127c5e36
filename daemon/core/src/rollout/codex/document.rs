//! Converts a session of Codex's first command line, one document `{session, items}` that is rewritten after every
//! turn, to lines: the session, then the items.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::source::TranscriptPlace;
use super::super::text_of;

#[derive(Deserialize, Default)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Document<'a> {
    session: Option<&'a RawValue>,
    #[serde(default)]
    items: Vec<&'a RawValue>,
}

/// The lines of a document; none if it is JSON of another kind. Returns `None` if the document is not complete.
pub(super) fn lines(file: &[u8], _: TranscriptPlace<'_>) -> Option<Vec<u8>> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let text = text_of(file);
    let document = match serde_json::from_str::<Document<'_>>(&text) {
        Ok(document) => document,
        Err(error) if error.is_eof() => return None,
        Err(_) => Document::default(),
    };
    let mut lines = Vec::with_capacity(text.len());
    for value in document.session.into_iter().chain(document.items).map(RawValue::get) {
        if value.starts_with('{') {
            // A string in JSON has no line breaks, so all of them are between tokens.
            lines.extend(
                value.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }),
            );
            lines.push(b'\n');
        }
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_and_the_items_become_lines() {
        for (text, expected) in [
            (
                "{\n  \"session\": {\n \"id\": \"a\"\n},\n  \"items\": [\n {\"b\": [1, {}]},\r\n {}\n]\n}\n",
                Some("{  \"id\": \"a\" }\n{\"b\": [1, {}]}\n{}\n"),
            ),
            (
                r#"{"items":[{"a":"]}\"{"},{"b":"\\\n"}],"session":{"c":1}}"#,
                Some("{\"c\":1}\n{\"a\":\"]}\\\"{\"}\n{\"b\":\"\\\\\\n\"}\n"),
            ),
            ("\u{feff}{\"items\":[1,\"{}\",null,{\"a\":1}],\"session\":5}", Some("{\"a\":1}\n")),
            (r#"{"items":[{"a":"\ud83d"}]}"#, Some("{\"a\":\"\u{fffd}\"}\n")),
            (r#"{"session":{"a":1},"items":[{"b":1},{"c":"#, None),
            ("", None),
            (r#"{"items":5}"#, Some("")),
            ("}}]]]{", Some("")),
        ] {
            let found = lines(text.as_bytes(), TranscriptPlace::default());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{text:?}");
        }
    }
}
