//! Databases that are lost while no daemon runs, and what the next one makes again from transcripts and archive.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use longhaul_protocol::thread::IndexState;
use longhaul_store::SearchFilter;

use super::Chance;
use super::life::{Life, TURN_MS};
use super::world::{ErasureState, ForgetState, LostDatabase, SeedFolder, Transcript, World};
use crate::service::search::SearchQuery;

/// Removes one of the databases, or none; rather one if something is only in the archive.
pub(super) fn lose(place: &SeedFolder, world: &mut World, chance: &mut Chance) {
    let is_only_archived = |known: &Transcript| known.path.is_none() && known.archived.is_some();
    let is_any = world.transcripts.iter().any(is_only_archived);
    let (lost, name) = match chance.below(if is_any { 5 } else { 10 }) {
        0 => (LostDatabase::ArchiveIndex, "archive/index.db"),
        1 => (LostDatabase::Store, "longhaul.db"),
        2 => (LostDatabase::SearchIndex, "search.db"),
        3 if is_any => (LostDatabase::ArchiveIndex, "archive/index.db"),
        _ => return,
    };
    // What follows from an earlier loss was not checked if its daemon was killed soon.
    if world.lost.is_some() || !place.state().join(name).exists() {
        return;
    }
    world.lost = Some(lost);
    for end in ["", "-wal", "-shm", ".seal"] {
        let file: PathBuf = place.state().join(format!("{name}{end}"));
        fs::remove_file(file).ok();
    }
    if lost == LostDatabase::Store {
        // They were nowhere else.
        world.compactions.clear();
        world.pins.clear();
        world.started.clear();
        world.epochs.clear();
    }
    let mut trace = File::options().append(true).create(true).open(place.file("trace")).unwrap();
    writeln!(trace, "{}.{} {name} is lost", world.life, world.step).unwrap();
}

impl Life {
    /// What was in a lost database and can be made again is there.
    pub(super) fn check_made_again(&mut self) {
        match self.world.lost {
            Some(LostDatabase::Store) => self.check_read_from_archive(),
            Some(LostDatabase::SearchIndex) => self.check_index(),
            Some(LostDatabase::ArchiveIndex) | None => {}
        }
        self.world.lost = None;
    }

    /// The store has the archived texts of threads without a transcript.
    fn check_read_from_archive(&mut self) {
        // The archiver hinted that there may be some.
        self.front.pass(TURN_MS);
        self.front.run(self.services.ingest.idle());
        let index = self.services.archive.archive().index().unwrap();
        let files = self.services.ingest.tables().0;
        for transcript in &self.world.transcripts {
            if transcript.path.is_some() || transcript.forgotten != ForgetState::No {
                continue;
            }
            for (row, _) in self.archived(&index, &transcript.thread_id) {
                let newest = self.front.run(index.transcripts.at(&row.path)).unwrap();
                if newest.first().is_none_or(|newest| newest.id != row.id) {
                    continue;
                }
                let stored = self.front.run(files.gone(std::slice::from_ref(&row.path))).unwrap();
                let reached = stored.iter().map(|file| file.cursor.offset).max();
                let bytes = row.source_bytes.min(row.text_bytes);
                assert!(
                    reached >= Some(bytes),
                    "{}: only the archive has its {bytes} bytes, of which the store has {reached:?}",
                    row.path
                );
            }
        }
    }

    pub(super) fn index(&mut self) -> String {
        self.indexing.run(async {});
        self.indexing.pass(1_000);
        "the index has its turn".to_owned()
    }

    /// The search index comes to rest, and has everything that was read, and nothing that was erased.
    pub(super) fn check_index(&mut self) {
        let searcher = self.services.search.searcher.clone();
        for _ in 0..20 {
            self.index();
            if searcher.index_state().state == IndexState::Idle {
                break;
            }
        }
        assert_eq!(
            searcher.index_state().state,
            IndexState::Idle,
            "the index does not come to rest"
        );
        let index = self.services.search.full_text.index().unwrap();
        let archive = self.services.archive.archive().index().unwrap();
        let indexed = self.front.run(index.files_after(0)).unwrap();
        let files = self.services.ingest.tables().0;
        for transcript in &self.world.transcripts {
            let (thread_id, erased) = (&transcript.thread_id, transcript.erased);
            let search = SearchQuery {
                query: "step".to_owned(),
                filter: SearchFilter { thread_id: Some(thread_id.clone()), ..Default::default() },
                hits_max: 1,
                tokens_max: None,
            };
            let hits = self.front.run(searcher.search(search)).unwrap().hits;
            if matches!(erased, ErasureState::Yes { is_written_again: false, .. }) {
                assert!(hits.is_empty(), "{thread_id} was erased, and can be found");
            }
            let Some(path) = &transcript.path else {
                let is_archived = !self.archived(&archive, thread_id).is_empty();
                let is_indexed = indexed.iter().any(|(_, file)| file.thread_id == *thread_id);
                assert!(is_archived || !is_indexed, "{thread_id} is gone, but not from the index");
                continue;
            };
            let path = path.to_str().unwrap();
            let (row, indexed) = self.front.run(async {
                (files.by_path(path).await.unwrap(), index.file_by_path(path).await.unwrap())
            });
            let read = row.map(|row| (row.cursor.generation, row.cursor.next_seq));
            let indexed = indexed.map(|file| (file.generation, file.next_seq));
            assert_eq!(indexed, read, "{path}: the search index has not what was read");
            let text = transcript.text().unwrap();
            // The rest of a last line may be still to come.
            let whole = memchr::memrchr(b'\n', &text).map_or(&[][..], |end| &text[..end]);
            let says = memchr::memmem::find(whole, b"step ").is_some();
            assert!(!says || !hits.is_empty(), "{thread_id} cannot be found");
        }
    }
}
