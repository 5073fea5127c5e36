//! Derives a thread from the name of a transcript.

use std::path::Path;

pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The thread named by a file: agents end the name with the id, before the suffixes.
pub(super) fn thread_in_name(path: &str) -> Option<&str> {
    let stem = name_of(path).split('.').next()?;
    let id = stem.get(stem.len().checked_sub(UUID_BYTES)?..)?;
    is_uuid(id).then_some(id)
}

/// The thread of a file in which no line names one: the UUID in its name, else the name.
pub(crate) fn thread_of_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    match uuid_in(&name) {
        Some(uuid) => uuid.to_owned(),
        None => {
            format!("file-{:016x}", xxhash_rust::xxh3::xxh3_64(path.as_os_str().as_encoded_bytes()))
        }
    }
}

fn uuid_in(name: &str) -> Option<&str> {
    let starts = 0..(name.len() + 1).checked_sub(UUID_BYTES)?;
    starts.filter_map(|at| name.get(at..at + UUID_BYTES)).find(|text| is_uuid(text))
}

/// Bytes of a UUID in its usual form.
const UUID_BYTES: usize = 36;

pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == UUID_BYTES && uuid::Uuid::try_parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_derived_from_the_name() {
        let id = "0199a213-81b7-7800-8a1c-4a6a4c0c8f52";
        for name in ["rollout-2026-01-01T00-00-00-ID.jsonl", "ID.jsonl", "rollout-x-ID.jsonl.zst"] {
            let path = format!("/a/{}", name.replace("ID", id));
            assert_eq!(thread_in_name(&path), Some(id), "{name}");
        }
        for name in ["", "rollout-2026.jsonl", "é99a213-81b7-7800-8a1c-4a6a4c0c8f52.jsonl"] {
            assert_eq!(thread_in_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_holds_the_thread() {
        let id = "01a1fb8b-e82f-7561-87b0-8fe7ffe642be";
        for name in [
            format!("rollout-2026-11-21T00-40-12-{id}.jsonl"),
            format!("rollout-2026-11-21T00-40-12-{id}_01a1fb8c-a005-7a50-81ef-c09c2e0140b2.jsonl"),
            format!("{id}.jsonl.zst"),
        ] {
            assert_eq!(thread_of_name(Path::new(&name)), id);
        }
        assert!(
            thread_of_name(Path::new("/x/entire-3c_162d1d8ad4_1_full.jsonl")).starts_with("file-")
        );
    }
}
