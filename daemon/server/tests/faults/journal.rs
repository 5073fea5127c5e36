//! The calls of a daemon on its files, as recorded by `shim.c`.

use std::path::PathBuf;

/// The numbers are those of `enum record`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    Created {
        file: u64,
        path: PathBuf,
    },
    Cut {
        file: u64,
        length: u64,
    },
    Written {
        file: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
    Synced {
        file: u64,
        mtime_ns: u64,
    },
    SyncedFolder {
        path: PathBuf,
    },
    Renamed {
        from: PathBuf,
        to: PathBuf,
    },
    Removed {
        path: PathBuf,
    },
    Made {
        path: PathBuf,
    },
    Linked {
        from: PathBuf,
        to: PathBuf,
    },
    Symlinked {
        target: PathBuf,
        path: PathBuf,
    },
    /// Bytes sent to a client.
    Sent {
        socket: u64,
        bytes: Vec<u8>,
    },
}

/// Bytes of a record before its strings and bytes: five numbers.
const HEAD: usize = 40;

pub fn parse(mut journal: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    while !journal.is_empty() {
        let number = |index: usize| {
            u64::from_ne_bytes(journal[index * 8..index * 8 + 8].try_into().unwrap())
        };
        let (kind, file, offset) = (number(0), number(1), number(2));
        let words_end = HEAD + usize::try_from(number(3)).unwrap();
        let end = words_end + usize::try_from(number(4)).unwrap();
        let words = std::str::from_utf8(&journal[HEAD..words_end]).unwrap();
        let bytes = journal[words_end..end].to_vec();
        records.push(record((kind, file, offset), words, bytes));
        journal = &journal[end..];
    }
    records
}

fn record((kind, file, offset): (u64, u64, u64), words: &str, bytes: Vec<u8>) -> Record {
    let path = PathBuf::from(words);
    let (first, second) = words.split_once('\0').unwrap_or_default();
    let (from, to) = (PathBuf::from(first), PathBuf::from(second));
    match kind {
        1 => Record::Created { file, path },
        2 => Record::Cut { file, length: offset },
        3 => Record::Written { file, offset, bytes },
        4 => Record::Synced { file, mtime_ns: offset },
        5 => Record::SyncedFolder { path },
        6 => Record::Renamed { from, to },
        7 => Record::Removed { path },
        8 => Record::Made { path },
        9 => Record::Linked { from, to },
        10 => Record::Symlinked { target: from, path: to },
        11 => Record::Sent { socket: file, bytes },
        _ => panic!("no record has the number {kind}"),
    }
}
