//! Bounds of the archive that come and go, and `archive.redact`.

use super::life::Life;

/// Without a bound: more than a seed can fill.
const UNBOUNDED: u64 = 1 << 30;

const DAY_MS: i64 = 86_400_000;

impl Life {
    /// Sets other bounds, which apply from the archive's next turn on.
    pub(super) fn set_bounds(&mut self) -> String {
        let index = self.services.archive.archive().index().unwrap();
        let (totals, space) =
            self.front.run(async { (index.totals().await.unwrap(), index.space().await.unwrap()) });
        let (max_bytes, max_age_days, what) = match self.chance.below(7) {
            0..3 => (None, 0, "no bounds".to_owned()),
            3..6 => {
                let part = self.chance.below(4);
                let bound = space.fixed + (totals.bytes + space.rows) * part / 4;
                (Some(bound), 0, format!("a bound of {part} quarters"))
            }
            _ => {
                self.clock.advance_ms(2 * DAY_MS);
                (None, 1, "two days pass, and a bound of one".to_owned())
            }
        };
        self.world.archiving.max_bytes = max_bytes;
        self.world.archiving.max_age_days = max_age_days;
        self.reload();
        if self.world.archiving.has_bounds() && self.chance.below(2) == 0 {
            self.check_bounds();
            return format!("{what}, which is kept");
        }
        what
    }

    pub(super) fn set_redaction(&mut self) -> String {
        let redact = !self.world.archiving.redact;
        self.world.archiving.redact = redact;
        self.reload();
        if redact && self.chance.below(2) == 0 {
            self.check_redacted();
            return "redaction true, and all is redacted".to_owned();
        }
        format!("redaction {redact}")
    }

    fn reload(&mut self) {
        // A pass under these settings may be interrupted.
        self.save();
        super::life::configure(&self.place, &self.world.archiving);
        self.services.daemon.reload.run().unwrap();
    }

    /// Threads are evicted for a reason: for space those with a pin go last, for their age they do not go.
    pub(super) fn check_evicted(&self, evicted: &[String], kept: &[String]) {
        if evicted.is_empty() {
            return;
        }
        let choices = &self.services.checkpoint.choices;
        let pinned = self.front.run(choices.updates.pinned_threads()).unwrap();
        for thread_id in evicted {
            let is_pinned = self.world.pins.iter().any(|(of, _)| of == thread_id);
            let has_receipt =
                self.world.compactions.iter().any(|made| made.thread_id == *thread_id);
            match self.world.archiving.max_bytes {
                Some(_) => {
                    let before = kept.iter().find(|kept| !pinned.contains(kept));
                    assert!(
                        !is_pinned || before.is_none(),
                        "{thread_id} has a pin and was evicted before {before:?}"
                    );
                }
                None => assert!(
                    !is_pinned && !has_receipt,
                    "{thread_id} has a pin or a receipt and was evicted for its age"
                ),
            }
            self.check_no_text_of(thread_id);
        }
    }

    /// The archive comes within its bounds. Its texts have the age that they had before.
    fn check_bounds(&mut self) {
        let index = self.services.archive.archive().index().unwrap();
        let before = self.front.run(index.threads.ages()).unwrap();
        for _ in 0..3 {
            self.services.archive.settings_changed();
            self.archive();
        }
        let threads = self.front.run(index.threads.ages()).unwrap();
        if let Some(max_bytes) = self.world.archiving.max_bytes {
            let state = self.front.run(self.services.archive.state()).unwrap();
            let is_within = state.bytes <= max_bytes || threads.is_empty();
            assert!(is_within, "{state:?} exceeds its bound");
        }
        if self.world.archiving.max_age_days == 0 {
            return;
        }
        let pinned = self.services.checkpoint.choices.updates.pinned_threads();
        let pinned = self.front.run(pinned).unwrap();
        for thread in threads.iter().filter(|thread| before.contains(thread)) {
            let receipts = self.services.compaction.log.list(Some(&thread.thread_id), 1, None);
            let (receipts, _) = self.front.run(receipts).unwrap();
            let is_kept = pinned.contains(&thread.thread_id) || !receipts.is_empty();
            assert!(is_kept, "{thread:?} is older than a day and was not evicted");
        }
    }

    /// With `archive.redact`, no secret is left in the archive, wherever its texts come from.
    fn check_redacted(&mut self) {
        for _ in 0..4 {
            self.services.archive.settings_changed();
            self.archive();
        }
        let state = self.front.run(self.services.archive.state()).unwrap();
        let is_redacted = state.all_redacted && state.unredacted == 0;
        assert!(is_redacted || !state.redacts, "not all is redacted: {state:?}");
        self.check_packs();
    }

    /// Without bounds, everything that was evicted and exists is archived again.
    pub(super) fn lift_bounds(&mut self) {
        if self.world.archiving.max_bytes.is_some() {
            self.check_bounds();
        }
        (self.world.archiving.max_bytes, self.world.archiving.max_age_days) = (None, 0);
        self.reload();
        for _ in 0..4 {
            self.archive();
        }
        let state = self.front.run(self.services.archive.state()).unwrap();
        assert_eq!(state.evicted, 0, "evicted threads do not come back without bounds");
        self.check_redacted();
    }
}

/// The table of the configuration.
pub(super) fn table(settings: &super::world::ArchiveSettings) -> String {
    let super::world::ArchiveSettings { max_bytes, max_age_days, redact } = settings;
    let max_bytes = max_bytes.unwrap_or(UNBOUNDED).max(1);
    format!(
        "[archive]\nmax_bytes = {max_bytes}\nmax_age_days = {max_age_days}\nredact = {redact}\n"
    )
}
