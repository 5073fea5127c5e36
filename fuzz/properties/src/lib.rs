//! What must hold for any bytes. A property is a function of bytes that panics where it does not hold: the fuzzer
//! calls it with bytes it makes up, and the tests with the corpus that the fuzzer left (`fuzz/corpus`).
//!
//! Inputs are plain text wherever that is possible, so that a seed can be written by hand and a finding be read. What
//! else a property needs to choose (where to cut, what size of chunk) it takes from the digest of the input.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a property fails by panicking")]
#![allow(missing_docs, reason = "a test: a doc comment has to say more than the name does")]

pub mod config;
pub mod documents;
pub mod frames;
mod input;
pub mod memory;
mod transcript;
pub mod views;

use longhaul_core::thread::Source;

/// A property and its name: that of the fuzz target, and of the folder of its corpus.
pub struct Target {
    pub name: &'static str,
    pub check: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "claude", check: claude::check },
    Target { name: "codex", check: codex::check },
    Target { name: "config", check: config::check },
    Target { name: "documents", check: documents::check },
    Target { name: "frames", check: frames::check },
    Target { name: "gemini", check: gemini::check },
    Target { name: "memory", check: memory::check },
    Target { name: "opencode", check: opencode::check },
    Target { name: "views", check: views::check },
];

macro_rules! transcripts {
    ($($module:ident: $source:ident;)+) => {
        $(pub mod $module {
            pub fn check(bytes: &[u8]) {
                crate::transcript::check(crate::Source::$source, bytes);
            }
        })+
    };
}

transcripts! {
    claude: Claude;
    codex: Codex;
    gemini: Gemini;
    opencode: OpenCode;
}
