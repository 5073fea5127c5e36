//! Child processes that may do little: work on the files of one folder, or read one repository ([`git`]).
//!
//! # Theory of operation
//! The consolidation agent is a language model: its words are not trusted with the user's files. Its file tools
//! run in a child, this same program in another role, which locks itself in before it reads a word: Landlock
//! leaves it one folder ([`confine`]), seccomp the few system calls that reading and writing need, and no
//! others: no socket, no program, no process. Only then does it say that it is ready; a kernel that cannot
//! do this is told by name, and nothing is run without it.
//!
//! The daemon speaks to it over its standard input and output, one JSON value a line ([`child`] reads,
//! [`client`] asks). The child holds nothing: killing it at any time leaves a folder that somebody else
//! looks through before anything of it is used.

pub mod child;
pub mod client;
pub mod confine;
pub mod git;
mod tools;

use serde::{Deserialize, Serialize};

pub use client::{Sandbox, SandboxError};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hello {
    Ready,
    Refused(String),
}

/// What the child is asked: one of its tools. Paths are below the folder, with `/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    /// The files below a folder, with their bytes; empty for all.
    List {
        /// Folder.
        path: String,
    },
    /// Lines of a file, numbered.
    Read {
        /// File.
        path: String,
        /// First line, from 1.
        line: u64,
        /// Lines at most; 0: as many as fit.
        lines: u64,
    },
    /// Makes a file, or another one in its place.
    Write {
        /// File.
        path: String,
        /// All of it.
        text: String,
    },
    /// Puts other words in the place of words that stand in a file once.
    Replace {
        /// File.
        path: String,
        /// The words as they stand.
        old: String,
        /// The words instead.
        new: String,
    },
    /// Lines that hold words, whatever their case.
    Search {
        /// File or folder; empty for all.
        path: String,
        /// The words.
        words: String,
    },
    /// Removes a file.
    Delete {
        /// File.
        path: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub ok: bool,
    /// What was asked for, or why it was not done.
    pub text: String,
}

/// Bytes of one line between daemon and child.
pub const LINE_BYTES_MAX: usize = 4 << 20;
