//! File notifications as a kernel delivers them: late, twice, never, or as an overflow.

use std::fs;

use notify::event::Flag;
use notify::{Event, EventKind};

use super::life::{BEFORE_MS, DEBOUNCE_MS, Life};

impl Life {
    /// Delivers notifications. After all of them, or after an overflow, everything has been read without a listing of ours.
    pub(super) fn notice(&mut self) -> String {
        if self.world.changes.is_empty() {
            return "nothing to notice".to_owned();
        }
        let at = usize::try_from(self.chance.below(self.world.changes.len() as u64)).unwrap();
        match self.chance.below(11) {
            0 => {
                self.world.changes.remove(at);
                self.is_notice_lost = true;
                "a notice is lost".to_owned()
            }
            1 => {
                self.deliver(at..at + 1);
                "a notice comes, and will come again".to_owned()
            }
            2..5 => {
                self.deliver(0..self.world.changes.len());
                self.world.changes.clear();
                if !self.is_notice_lost {
                    self.check_all_read("all notices came");
                }
                "all notices come".to_owned()
            }
            5 => {
                self.world.changes.clear();
                self.notify(&[Event::new(EventKind::Other).set_flag(Flag::Rescan)]);
                self.is_notice_lost = false;
                self.check_all_read("the queue of notices overflowed");
                "notices overflow".to_owned()
            }
            _ => {
                self.deliver(at..at + 1);
                self.world.changes.remove(at);
                "a notice comes".to_owned()
            }
        }
    }

    fn deliver(&self, which: std::ops::Range<usize>) {
        let events: Vec<Event> =
            self.world.changes[which].iter().map(super::world::Change::event).collect();
        self.notify(&events);
    }

    fn notify(&self, events: &[Event]) {
        self.front.pass(BEFORE_MS);
        for event in events {
            self.services.ingest.notice(event.clone());
        }
        self.front.run(async {});
        self.front.pass(DEBOUNCE_MS - 1);
        self.front.pass(1);
    }

    /// The store knows every transcript as it is on disk.
    fn check_all_read(&self, after: &str) {
        let files = self.services.ingest.tables().0;
        for path in self.world.transcripts.iter().filter_map(|transcript| transcript.path.as_ref())
        {
            let row = self.front.run(files.by_path(path.to_str().unwrap())).unwrap();
            let size = fs::metadata(path).unwrap().len();
            let read = row.filter(|row| row.gone_at_ms.is_none()).map(|row| row.stat.size);
            assert_eq!(read, Some(size), "{}: {after}, but it was not read", path.display());
        }
    }
}
