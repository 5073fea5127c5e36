//! What a string on the wire may contain.
//!
//! Results are written by [`gated`], which passes every string through the gate of `longhaul-printable`: a field
//! of type `String` arrives as one line without hidden characters. The type of a field states an exception:
//! [`Block`] keeps its lines, [`Raw`] and [`RawValue`] keep their bytes.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Deref;

use longhaul_printable as printable;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use serde_json::value::RawValue;

/// Text, or JSON with text in it, that may have several lines. Hidden characters become escapes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Block<T>(pub T);

/// The user's own bytes, unchanged, for programs. They may contain terminal escapes; [`fmt::Display`] shows them as a
/// [`Block`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Raw<T>(T);

impl<T: Serialize> Serialize for Block<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        written(&self.0, Gate { keeps_lines: true })
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

impl<T> Deref for Block<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: AsRef<str>> fmt::Display for Block<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable::block(self.0.as_ref()))
    }
}

impl<T> From<T> for Block<T> {
    fn from(text: T) -> Self {
        Self(text)
    }
}

impl<T> Raw<T> {
    /// The bytes as they are.
    pub fn bytes(&self) -> &T {
        &self.0
    }

    /// As [`Self::bytes`], by value.
    pub fn into_bytes(self) -> T {
        self.0
    }
}

/// Items are JSON; printing code prints their texts one by one.
impl Deref for Raw<Vec<Value>> {
    type Target = Vec<Value>;

    fn deref(&self) -> &Vec<Value> {
        &self.0
    }
}

impl<T: Serialize> Serialize for Raw<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::value::to_raw_value(&self.0).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<T: AsRef<str>> fmt::Display for Raw<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable::block(self.0.as_ref()))
    }
}

impl<T> From<T> for Raw<T> {
    fn from(bytes: T) -> Self {
        Self(bytes)
    }
}

/// The member of a schema that says what a field may hold: `block` or `raw`; without it, one line.
pub const SCHEMA_MARK: &str = "x-text";

impl<T: JsonSchema> JsonSchema for Block<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Block_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        marked::<T>(generator, "block")
    }
}

impl<T: JsonSchema> JsonSchema for Raw<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Raw_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        marked::<T>(generator, "raw")
    }
}

fn marked<T: JsonSchema>(generator: &mut SchemaGenerator, mark: &str) -> Schema {
    let mut schema = generator.subschema_for::<T>();
    schema.insert(SCHEMA_MARK.to_owned(), mark.into());
    schema
}

/// A value as JSON in which every string passed the gate.
///
/// # Errors
/// Those of [`serde_json`]: a map whose keys are no strings.
pub fn gated(value: &impl Serialize) -> serde_json::Result<Box<RawValue>> {
    written(value, Gate { keeps_lines: false })
}

/// The same, at the end of `out`.
///
/// # Errors
/// As above; `out` then ends with a part of it.
pub fn gate_into(out: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    let gate = Gate { keeps_lines: false };
    value.serialize(&mut serde_json::Serializer::with_formatter(out, gate))
}

fn written(value: &impl Serialize, gate: Gate) -> serde_json::Result<Box<RawValue>> {
    let mut out = Vec::with_capacity(256);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, gate))?;
    let text = String::from_utf8(out).map_err(serde_json::Error::custom)?;
    RawValue::from_string(text)
}

/// Writes strings through the gate.
struct Gate {
    keeps_lines: bool,
}

impl Formatter for Gate {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        match printable::one_line(fragment) {
            Cow::Borrowed(clean) => writer.write_all(clean.as_bytes()),
            // The fragment had no backslash: those of the gate are to be read as such.
            Cow::Owned(shown) => writer.write_all(shown.replace('\\', "\\\\").as_bytes()),
        }
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let shown = match escape {
            CharEscape::LineFeed | CharEscape::Tab if self.keeps_lines => {
                return CompactFormatter.write_char_escape(writer, escape);
            }
            CharEscape::Quote | CharEscape::ReverseSolidus | CharEscape::Solidus => {
                return CompactFormatter.write_char_escape(writer, escape);
            }
            CharEscape::LineFeed => "\n",
            CharEscape::Tab => "\t",
            CharEscape::CarriageReturn => "\r",
            CharEscape::Backspace => "\u{8}",
            CharEscape::FormFeed => "\u{c}",
            CharEscape::AsciiControl(byte) => {
                return write!(writer, "\\\\u{{{byte:x}}}");
            }
        };
        writer.write_all(printable::one_line(shown).replace('\\', "\\\\").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOSTILE: &str = "a\u{1b}[31m\"\\\n\t\u{7}\u{202e}é";
    const ONE_LINE: &str = "a\\u{1b}[31m\"\\\\n\\t\\u{7}\\u{202e}é";
    const LINES: &str = "a\\u{1b}[31m\"\\\n\t\\u{7}\\u{202e}é";

    #[derive(Serialize)]
    struct Everything {
        line: &'static str,
        block: Block<&'static str>,
        tree: Block<Value>,
        raw: Raw<&'static str>,
        json: Box<RawValue>,
    }

    #[test]
    fn a_string_is_one_line_unless_its_type_says_otherwise() {
        let everything = Everything {
            line: HOSTILE,
            block: Block(HOSTILE),
            tree: Block(json!({ HOSTILE: [HOSTILE] })),
            raw: Raw(HOSTILE),
            json: serde_json::value::to_raw_value(HOSTILE).unwrap(),
        };
        let read: Value = serde_json::from_str(gated(&everything).unwrap().get()).unwrap();
        let expected = json!({
            "line": ONE_LINE, "block": LINES, "tree": { LINES: [LINES] },
            "raw": HOSTILE, "json": HOSTILE,
        });
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_clean_is_written_as_ever() {
        let value = json!({ "a": ["b\"\\", 1, null, { "é": "全文" }], "c": 1.5 });
        assert_eq!(gated(&value).unwrap().get(), value.to_string());
    }
}
