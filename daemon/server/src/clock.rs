//! The only reader of the system's clocks and of randomness.
//!
//! Other code takes `now_ms` as a parameter or gets a [`Clock`], so that tests can stop time, jump and replay. Timers and
//! deadlines use tokio's clock, which tests pause instead.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use longhaul_core::job::Moment;
use uuid::{Builder, NoContext, Timestamp, Uuid};

/// A handle on time; clones read the same time.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System { started: Instant, began: StartTimes },
    Manual(Arc<Manual>),
}

/// Both clocks at the daemon's start.
#[derive(Debug, Clone, Copy)]
struct StartTimes {
    wall_ms: i64,
    boot_ms: u64,
}

/// Milliseconds by which the wall clock may run ahead of the boot clock before it counts as changed.
const DRIFT_MS: i64 = 3_600_000;

#[derive(Debug)]
struct Manual {
    start_ms: i64,
    wall_ms: AtomicI64,
    boot_ms: AtomicU64,
    boots: AtomicU64,
    ids: AtomicU64,
}

impl Clock {
    /// The machine's clock.
    #[expect(clippy::disallowed_methods, reason = "this module is the one reader of time")]
    pub fn system() -> Self {
        let began = StartTimes { wall_ms: wall_ms(), boot_ms: boot_ms(Duration::ZERO) };
        Self(Source::System { started: Instant::now(), began })
    }

    /// A clock that stays at `now_ms` (Unix milliseconds) until it is moved, for tests.
    pub fn manual(now_ms: i64) -> Self {
        let [boot_ms, boots, ids] = std::array::from_fn(|_| AtomicU64::new(0));
        let wall_ms = AtomicI64::new(now_ms);
        Self(Source::Manual(Arc::new(Manual { start_ms: now_ms, wall_ms, boot_ms, boots, ids })))
    }

    /// Now in whole Unix milliseconds; jumps when the machine's clock is set.
    pub fn now_ms(&self) -> i64 {
        match &self.0 {
            Source::System { .. } => wall_ms(),
            Source::Manual(manual) => manual.wall_ms.load(Ordering::Relaxed),
        }
    }

    /// Now in whole Unix milliseconds, for deletion by age: it does not advance when the clock is set ahead after the
    /// daemon's start.
    pub fn steady_ms(&self) -> i64 {
        let began = match &self.0 {
            Source::System { began, .. } => *began,
            Source::Manual(manual) => StartTimes { wall_ms: manual.start_ms, boot_ms: 0 },
        };
        let moment = self.moment();
        let since_ms = moment.boot_ms.saturating_sub(began.boot_ms);
        let expected_ms = began.wall_ms.saturating_add_unsigned(since_ms);
        moment.wall_ms.min(expected_ms.saturating_add(DRIFT_MS))
    }

    /// Local time in milliseconds, counted as if it were UTC; on a manual clock UTC itself.
    pub fn local_ms(&self) -> i64 {
        let now_ms = self.now_ms();
        let (Source::System { .. }, Ok(at)) = (&self.0, jiff::Timestamp::from_millisecond(now_ms))
        else {
            return now_ms;
        };
        let offset = jiff::tz::TimeZone::system().to_offset(at);
        now_ms.saturating_add(i64::from(offset.seconds()) * 1_000)
    }

    /// Time since the clock was created; never jumps, so differences are durations.
    pub fn elapsed(&self) -> Duration {
        match &self.0 {
            Source::System { started, .. } => started.elapsed(),
            Source::Manual(manual) => Duration::from_millis(manual.boot_ms.load(Ordering::Relaxed)),
        }
    }

    /// Whole milliseconds since `began`, an earlier [`Self::elapsed`].
    pub fn ms_since(&self, began: Duration) -> u64 {
        u64::try_from(self.elapsed().saturating_sub(began).as_millis()).unwrap_or(u64::MAX)
    }

    /// A new id: a version 7 UUID, sortable by time; counted on a manual clock.
    pub fn new_id(&self) -> String {
        let now_ms = u64::try_from(self.now_ms()).unwrap_or(0);
        let uuid = match &self.0 {
            Source::System { .. } => {
                let nanos = u32::try_from(now_ms % 1000).unwrap_or(0) * 1_000_000;
                Uuid::new_v7(Timestamp::from_unix(NoContext, now_ms / 1000, nanos))
            }
            Source::Manual(manual) => {
                let count = manual.ids.fetch_add(1, Ordering::Relaxed);
                let mut bytes = [0; 10];
                bytes[2..].copy_from_slice(&count.to_be_bytes());
                Builder::from_unix_timestamp_millis(now_ms, &bytes).into_uuid()
            }
        };
        uuid.to_string()
    }

    /// Now on both clocks, for what must survive a jump of the wall clock and a restart. If the machine does not reveal
    /// its boot id, each process counts as a boot.
    pub fn moment(&self) -> Moment {
        let boot_ms = match &self.0 {
            Source::System { .. } => boot_ms(self.elapsed()),
            Source::Manual(manual) => manual.boot_ms.load(Ordering::Relaxed),
        };
        Moment { wall_ms: self.now_ms(), boot: self.boot_id(), boot_ms }
    }

    /// A random number in 0..1, to spread simultaneous work; 0.5 on a manual clock.
    pub fn chance(&self) -> f64 {
        match &self.0 {
            Source::System { .. } => {
                // The last four bytes of a version 7 UUID are random.
                let bytes = Uuid::now_v7().into_bytes();
                let number = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
                f64::from(number) / (f64::from(u32::MAX) + 1.0)
            }
            Source::Manual(_) => 0.5,
        }
    }

    fn boot_id(&self) -> String {
        static BOOT: OnceLock<String> = OnceLock::new();
        match &self.0 {
            Source::System { .. } => BOOT
                .get_or_init(|| {
                    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
                    id.map_or_else(|_| self.new_id(), |id| id.trim().to_owned())
                })
                .clone(),
            Source::Manual(manual) => {
                format!("manual-{}", manual.boots.load(Ordering::Relaxed))
            }
        }
    }

    /// Advances a manual clock by `ms` milliseconds, which may be negative; does not change the system clock.
    pub fn advance_ms(&self, ms: i64) {
        if let Source::Manual(manual) = &self.0 {
            manual.wall_ms.fetch_add(ms, Ordering::Relaxed);
            manual.boot_ms.fetch_add(u64::try_from(ms).unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// Sets the wall clock of a manual clock, as a person or a time server would; no time passes.
    pub fn set_wall_ms(&self, now_ms: i64) {
        if let Source::Manual(manual) = &self.0 {
            manual.wall_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Simulates a reboot on a manual clock: the boot clock restarts at 0, with another boot id.
    pub fn reboot(&self) {
        if let Source::Manual(manual) = &self.0 {
            manual.boots.fetch_add(1, Ordering::Relaxed);
            manual.boot_ms.store(0, Ordering::Relaxed);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this module is the one reader of time")]
fn wall_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
    }
}

/// Milliseconds since the machine started, including sleep.
#[cfg(target_os = "linux")]
fn boot_ms(_: Duration) -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds
        .saturating_mul(1_000)
        .saturating_add(u64::try_from(time.tv_nsec / 1_000_000).unwrap_or(0))
}

/// On other systems, the time since the daemon started.
#[cfg(not(target_os = "linux"))]
fn boot_ms(since: Duration) -> u64 {
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_advanced_and_counts_its_ids() {
        let clock = Clock::manual(1_700_000_000_000);
        let (first, second) = (clock.new_id(), clock.new_id());
        assert!(first < second, "{first} before {second}");
        assert_eq!(Clock::manual(1_700_000_000_000).new_id(), first);
        clock.advance_ms(1500);
        assert_eq!(clock.now_ms(), 1_700_000_001_500);
        assert_eq!(clock.elapsed(), Duration::from_millis(1500));
    }

    #[test]
    fn setting_the_wall_clock_moves_no_other_clock() {
        let clock = Clock::manual(1_000);
        clock.advance_ms(5);
        clock.set_wall_ms(-7);
        let moment = clock.moment();
        assert_eq!((moment.wall_ms, moment.boot_ms, clock.steady_ms()), (-7, 5, -7));
        clock.set_wall_ms(i64::MAX);
        assert_eq!(clock.steady_ms(), 1_005 + DRIFT_MS, "setting it ahead makes nothing older");
        clock.reboot();
        assert_eq!(clock.moment().boot_ms, 0);
        assert_ne!(clock.moment().boot, moment.boot);
    }

    #[test]
    fn the_system_clock_is_plausible_and_its_ids_differ() {
        let clock = Clock::system();
        assert!(clock.now_ms() > 1_700_000_000_000);
        assert_ne!(clock.new_id(), clock.new_id());
    }
}
