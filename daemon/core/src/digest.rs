//! Digests: 128-bit for noticing change, SHA-256 for the content of files.
//!
//! A [`Digest128`] (xxh3) detects changes to bytes already read. It is computed for every ingested byte and
//! need not resist forgery: whoever can forge it can edit the transcript. A [`ContentHash`] (SHA-256) is
//! shown to people and compared with what other programs print.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// The xxh3-128 digest of some bytes; 32 lower-case hex digits as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Digest128(pub u128);

/// Computes a [`Digest128`] of bytes that arrive in pieces.
#[derive(Default)]
pub struct DigestStream(Xxh3);

/// The SHA-256 of a file's content; 64 lower-case hex digits as text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Debug)]
#[serde(transparent)]
pub struct ContentHash(String);

/// The text is not a digest: wrong length, or a character that is not a hex digit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a digest of {expected} hex digits: {text:?}")]
pub struct DigestParseError {
    expected: usize,
    text: String,
}

impl Digest128 {
    pub fn of(bytes: &[u8]) -> Self {
        Self(xxh3_128(bytes))
    }
}

impl DigestStream {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all pieces so far, equal to [`Digest128::of`] their concatenation.
    pub fn finish(&self) -> Digest128 {
        Digest128(self.0.digest128())
    }
}

impl ContentHash {
    /// Hex digits of the short form.
    pub const SHORT: usize = 12;

    pub fn of(bytes: &[u8]) -> Self {
        let mut hex = String::with_capacity(64);
        for byte in sha2::Sha256::digest(bytes) {
            push_hex(&mut hex, byte);
        }
        Self(hex)
    }

    /// Parses 64 hex digits, upper or lower case.
    pub fn parse(text: &str) -> Result<Self, DigestParseError> {
        if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(DigestParseError { expected: 64, text: text.chars().take(80).collect() })
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn short(&self) -> &str {
        self.0.get(..Self::SHORT).unwrap_or(&self.0)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Digest128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Digest128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest128({self})")
    }
}

impl FromStr for Digest128 {
    type Err = DigestParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || DigestParseError { expected: 32, text: text.chars().take(80).collect() };
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(error());
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| error())
    }
}

/// Hex digits in a readable format, else 16 bytes.
impl Serialize for Digest128 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(self),
            false => self.0.to_be_bytes().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Digest128 {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return <[u8; 16]>::deserialize(deserializer)
                .map(|bytes| Self(u128::from_be_bytes(bytes)));
        }
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn push_hex(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_print_parse_and_stream() {
        let whole = Digest128::of(b"long haul");
        let mut stream = DigestStream::default();
        stream.update(b"long ");
        stream.update(b"haul");
        assert_eq!(stream.finish(), whole);
        assert_eq!(whole.to_string().parse::<Digest128>(), Ok(whole));
        assert!("xyz".parse::<Digest128>().is_err());
        assert!("+2345678901234567890123456789012".parse::<Digest128>().is_err());
        let json = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Digest128>(&json).unwrap(), whole);
        let bytes = postcard::to_allocvec(&whole).unwrap();
        assert_eq!(bytes, whole.0.to_be_bytes());
        assert_eq!(postcard::from_bytes::<Digest128>(&bytes).unwrap(), whole);
    }

    #[test]
    fn content_hashes_are_what_sha256sum_prints() {
        let hash = ContentHash::of(b"abc");
        let printed = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), printed);
        assert_eq!(hash.short(), "ba7816bf8f01");
        assert_eq!(ContentHash::parse(&hash.as_str().to_uppercase()).unwrap(), hash);
        assert!(ContentHash::parse("ba78").is_err());
    }
}
