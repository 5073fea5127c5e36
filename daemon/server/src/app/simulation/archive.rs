//! The archive: its passes, what it must be able to give back, and what it gives back.

use std::fs;

use longhaul_protocol::archive::ArchiveState;
use longhaul_store::{ArchiveIndex, ArchivedTranscript};

use super::life::{Life, outcome};
use super::world::{Change, ForgetState, TextPromise};
use crate::archive::{chunks_of_pack, contents_of_pack};
use crate::service::ServiceError;

impl Life {
    /// A pass of the archive. From now on it must be able to return what it has then.
    pub(super) fn archive(&mut self) -> String {
        // Earlier hints, a pass, and what is due after it: never two at once.
        self.archiving.run(async {});
        self.archiving.pass(200);
        self.archiving.pass(1_000);
        let state = self.front.run(self.services.archive.state()).unwrap();
        assert_ne!(
            state.state,
            ArchiveState::Stalled,
            "the archive is stalled: {:?}",
            state.problem
        );
        self.check_archived();
        "the archive has its turn".to_owned()
    }

    /// Everything read before the start, or now, is archived even if no transcript changes again.
    pub(super) fn catch_up(&mut self) {
        self.front.run(self.services.ingest.first_read()).unwrap();
        for _ in 0..4 {
            self.archive();
            if self.front.run(self.services.archive.state()).unwrap().state == ArchiveState::Idle {
                break;
            }
        }
        self.check_all_archived("after a start");
    }

    pub(super) fn verify(&mut self) -> String {
        let found = self.front.run(self.services.archive.check(None));
        if let Ok(found) = &found {
            assert_eq!(found.damaged, 0, "the archive is damaged");
        }
        outcome("verify", &found)
    }

    /// Gives a thread back: to its agent, if that has deleted the transcript.
    pub(super) fn restore(&mut self) -> String {
        let at = self.some_transcript();
        let transcript = &self.world.transcripts[at];
        let (thread_id, forgotten) = (transcript.thread_id.clone(), transcript.forgotten);
        let to = transcript.path.as_ref().map(|_| self.place.file("restored"));
        let index = self.services.archive.archive().index().unwrap();
        let texts = self.archived(&index, &thread_id);
        let restored = self.front.run(self.services.archive.restore(&thread_id, to.clone()));
        match &restored {
            Ok(restored) => {
                assert!(forgotten != ForgetState::Yes, "{thread_id} was forgotten, and restored");
                let (_, whole) = &texts[0];
                let path = &restored.files[0].path;
                let text = fs::read(path).unwrap();
                assert!(text == *whole, "{thread_id}: restored is another text than archived");
                match to {
                    // Texts of several transcripts are in as many files.
                    Some(_) => {
                        for file in &restored.files {
                            fs::remove_file(&file.path).unwrap();
                        }
                    }
                    None => self.give_back(at, path.as_ref(), restored.redacted),
                }
            }
            Err(ServiceError::NotArchived(_)) => {
                assert!(texts.is_empty(), "{thread_id}: an archived text is not given back");
            }
            Err(error) => panic!("{thread_id} cannot be restored: {error}"),
        }
        outcome("restore", &restored)
    }

    fn give_back(&mut self, at: usize, path: &std::path::Path, is_redacted: bool) {
        let transcript = &mut self.world.transcripts[at];
        transcript.path = Some(path.to_owned());
        let text = fs::read(path).unwrap();
        // The archive may have a last line without its newline.
        transcript.rest = (!text.ends_with(b"\n")).then(|| "\n".to_owned());
        let is_kept = |promise: &TextPromise| !is_redacted && promise.is_in(&text, false);
        transcript.archived = transcript.archived.take().filter(is_kept);
        self.world.changes.push(Change::Created(path.to_owned()));
    }

    /// The texts of a thread in the archive, read and compared with their digests.
    pub(super) fn archived(
        &self,
        index: &ArchiveIndex,
        thread_id: &str,
    ) -> Vec<(ArchivedTranscript, Vec<u8>)> {
        let archive = self.services.archive.archive().clone();
        self.front.run(async {
            let mut texts = Vec::new();
            for row in index.transcripts.of_thread(thread_id).await.unwrap() {
                let text = archive.text(index, row.clone()).await.unwrap();
                let mut bytes = vec![0; usize::try_from(row.text_bytes).unwrap()];
                let mut at = 0;
                while at < bytes.len() {
                    let read = text.read_at(at as u64, &mut bytes[at..]).unwrap();
                    assert!(read > 0, "an archived text is shorter than the archive says");
                    at += read;
                }
                texts.push((row, bytes));
            }
            texts
        })
    }

    /// The archive has what it had, except threads that were evicted as a whole and in order. Records what it has now.
    pub(super) fn check_archived(&mut self) {
        let index = self.services.archive.archive().index().unwrap();
        let has_bounds = self.world.archiving.has_bounds();
        let (mut evicted, mut kept) = (Vec::new(), Vec::new());
        let mut transcripts = std::mem::take(&mut self.world.transcripts);
        for transcript in &mut transcripts {
            let (thread_id, before) = (transcript.thread_id.clone(), transcript.archived.take());
            if transcript.forgotten != ForgetState::No {
                continue;
            }
            let texts = self.archived(&index, &thread_id);
            if let Some(before) = &before {
                let has = |(row, text): &(ArchivedTranscript, Vec<u8>)| {
                    before.is_in(text, row.is_redacted)
                };
                let is_there = texts.iter().any(has);
                let is_evicted = has_bounds && texts.is_empty();
                assert!(is_there || is_evicted, "{thread_id}: an archived text is lost");
                // What grew may have been evicted with the others, and archived again.
                let is_as_before = texts.iter().any(|(_, text)| text.len() == before.bytes);
                match is_evicted {
                    true => evicted.push(thread_id),
                    false if is_as_before => kept.push(thread_id),
                    false => {}
                }
            }
            transcript.archived = match transcript.text() {
                Some(now) => longest(&texts, &now),
                None => before.filter(|_| !texts.is_empty()),
            };
        }
        self.world.transcripts = transcripts;
        self.check_evicted(&evicted, &kept);
    }

    /// No pack has anything of a forgotten thread, or a secret after all were redacted.
    pub(super) fn check_packs(&self) {
        let state = self.front.run(self.services.archive.state()).unwrap();
        let is_gone =
            |transcript: &&super::world::Transcript| transcript.forgotten == ForgetState::Yes;
        for transcript in self.world.transcripts.iter().filter(is_gone) {
            let thread_id = &transcript.thread_id;
            let is_named = self.packed().any(|(names, _)| names.contains(thread_id));
            assert!(!is_named, "{thread_id} was forgotten, but a pack names it");
            self.check_no_text_of(thread_id);
        }
        if state.all_redacted {
            let has = |chunk: &[u8]| contains(chunk, super::agents::SECRET_END);
            assert!(!self.packed().any(|(_, text)| has(&text)), "a redacted pack has a secret");
        }
    }

    /// No pack has text of the thread. One without any text may still name a thread that was evicted.
    pub(super) fn check_no_text_of(&self, thread_id: &str) {
        let is_there = self.packed().any(|(_, text)| contains(&text, thread_id.as_bytes()));
        assert!(!is_there, "a pack has text of {thread_id}, which was evicted or forgotten");
    }

    /// The threads that each pack names, and its text.
    fn packed(&self) -> impl Iterator<Item = (std::collections::BTreeSet<String>, Vec<u8>)> {
        let folder = fs::read_dir(self.services.archive.archive().folder()).unwrap();
        let packs = folder.map(|entry| entry.unwrap().path());
        packs.filter(|path| path.extension().is_some_and(|end| end == "pack")).map(|path| {
            let contents = contents_of_pack(&path).unwrap();
            let mut text = Vec::new();
            let keep = |_, chunk: &[u8]| {
                text.extend(chunk);
                Ok(())
            };
            chunks_of_pack(&path, contents.chunks, keep).unwrap();
            (contents.transcripts.into_iter().map(|row| row.thread_id).collect(), text)
        })
    }

    /// The archive is idle, and has everything that was read of the existing transcripts.
    pub(super) fn check_all_archived(&self, when: &str) {
        let index = self.services.archive.archive().index().unwrap();
        let state = self.front.run(self.services.archive.state()).unwrap();
        assert_eq!(state.state, ArchiveState::Idle, "{when} the archive does not come to rest");
        let evicted = self.front.run(index.threads.evicted()).unwrap();
        let has_bounds = self.world.archiving.has_bounds();
        for transcript in &self.world.transcripts {
            let (Some(path), Some(now)) = (&transcript.path, transcript.text()) else { continue };
            if transcript.forgotten != ForgetState::No {
                continue;
            }
            let path = path.to_str().unwrap();
            let row = self.front.run(self.services.ingest.tables().0.by_path(path)).unwrap();
            let offset = row.unwrap().cursor.offset;
            let texts = self.archived(&index, &transcript.thread_id);
            if has_bounds && texts.is_empty() && evicted.contains(&(path.to_owned(), offset)) {
                continue;
            }
            let now = &now[..usize::try_from(offset).unwrap()];
            let has = texts.iter().any(|(row, text)| {
                row.path == path && longest_of(row, text, now).is_some_and(|all| all == now.len())
            });
            let kept = texts.iter().map(|(row, text)| (&row.path, row.generation, text.len()));
            let kept: Vec<_> = kept.collect();
            assert!(
                has,
                "{path}: {when} the archive has not all {offset} bytes that were read, but {kept:?}"
            );
        }
    }
}

/// The longest archived beginning of a transcript.
fn longest(texts: &[(ArchivedTranscript, Vec<u8>)], now: &[u8]) -> Option<TextPromise> {
    let bytes = texts.iter().filter_map(|(row, text)| longest_of(row, text, now)).max()?;
    Some(TextPromise::of(&now[..bytes]))
}

/// The bytes at the beginning of a transcript of which this is the archived text.
fn longest_of(row: &ArchivedTranscript, text: &[u8], now: &[u8]) -> Option<usize> {
    if !row.is_redacted {
        return now.starts_with(text).then_some(text.len());
    }
    assert!(!contains(text, super::agents::SECRET_END), "a redacted text has a secret");
    let lines = text.split_inclusive(|byte| *byte == b'\n').count();
    let first = now.split_inclusive(|byte| *byte == b'\n').take(lines).map(<[u8]>::len);
    let (count, bytes) = first.fold((0, 0), |(count, bytes), line| (count + 1, bytes + line));
    let is_cut = !text.ends_with(b"\n") && now[..bytes].ends_with(b"\n");
    let bytes = bytes - usize::from(is_cut);
    let is_same = count == lines && TextPromise::of(&now[..bytes]).is_in(text, true);
    is_same.then_some(bytes)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}
