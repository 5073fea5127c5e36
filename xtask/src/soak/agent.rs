//! One simulated agent: writes and resumes transcripts until the run ends.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;

use super::Day;
use super::chance::Chance;
use super::lines::{Heading, Program};
use crate::codex_lines;
use crate::daemon::pause;

/// Maximum transcripts per agent; the oldest are deleted, as by Claude Code.
const KEPT: usize = 10;

/// Maximum milliseconds between two lines.
const LINE_MS_MAX: u64 = 700;

/// Maximum turns of a sitting, and in a short run.
const TURNS_MAX: u64 = 40;
const TURNS_MAX_OF_A_SHORT_DAY: u64 = 4;
const SHORT_DAY: Duration = Duration::from_secs(300);

/// Counts of the agents' actions.
#[derive(Default)]
pub(super) struct ActionCounts {
    lines: AtomicU64,
    sessions: AtomicU64,
    forks: AtomicU64,
    resumes: AtomicU64,
    renames: AtomicU64,
    deletes: AtomicU64,
    truncations: AtomicU64,
}

impl ActionCounts {
    pub(super) fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    pub(super) fn show(&self) -> String {
        let all = [
            ("lines", &self.lines),
            ("sessions", &self.sessions),
            ("forks", &self.forks),
            ("resumes", &self.resumes),
            ("renames", &self.renames),
            ("deletes", &self.deletes),
            ("truncations", &self.truncations),
        ];
        let shown = all.map(|(what, count)| format!("{} {what}", count.load(Ordering::Relaxed)));
        shown.join(", ")
    }
}

fn count(action: &AtomicU64) {
    action.fetch_add(1, Ordering::Relaxed);
}

/// A transcript that the agent wrote.
struct Transcript {
    heading: Heading,
    path: PathBuf,
    /// Byte offsets of the line ends.
    ends: Vec<u64>,
    /// A fork continues from it, so it must not change.
    is_base: bool,
}

pub(super) struct Agent<'a> {
    day: &'a Day,
    program: Program,
    number: u32,
    chance: Chance,
    past: Vec<Transcript>,
    begun: u32,
}

impl<'a> Agent<'a> {
    pub(super) fn new(day: &'a Day, number: u32, chance: Chance) -> Self {
        let program = if number.is_multiple_of(2) { Program::Codex } else { Program::Claude };
        Self { day, program, number, chance, past: Vec::new(), begun: 0 }
    }

    /// Works on one transcript after another.
    pub(super) fn live(mut self) -> anyhow::Result<()> {
        while !self.day.is_over() {
            let mut current = match self.chance.below(8) {
                0 | 1 => self.resume(),
                2 => self.fork()?,
                3 => self.lose_the_end()?,
                _ => None,
            };
            let current = match current.take() {
                Some(current) => current,
                None => self.begin(None)?,
            };
            self.sit(current)?;
            self.tidy_up()?;
        }
        Ok(())
    }

    /// Writes some turns, a line at a time.
    fn sit(&mut self, mut current: Transcript) -> anyhow::Result<()> {
        let is_short = self.day.whole <= SHORT_DAY;
        let turns_max = if is_short { TURNS_MAX_OF_A_SHORT_DAY } else { TURNS_MAX };
        for _ in 0..=self.chance.below(turns_max) {
            current.heading.second = self.day.watch.elapsed().as_secs() * 12 + 9 * 3_600;
            for line in current.heading.turn(&mut self.chance) {
                if self.day.is_over() {
                    break;
                }
                self.append(&mut current, &line)?;
                pause(Duration::from_millis(self.chance.below(LINE_MS_MAX)));
            }
        }
        self.past.push(current);
        Ok(())
    }

    fn append(&mut self, current: &mut Transcript, line: &str) -> anyhow::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).open(&current.path)?;
        let bytes = format!("{line}\n").into_bytes();
        // Sometimes write a line in two parts: the daemon may read in between.
        let cut = if self.chance.one_in(20) { self.chance.place(bytes.len()) } else { bytes.len() };
        file.write_all(&bytes[..cut])?;
        if cut < bytes.len() {
            pause(Duration::from_millis(30));
            file.write_all(&bytes[cut..])?;
        }
        current.ends.push(file.metadata()?.len());
        count(&self.day.actions.lines);
        Ok(())
    }

    fn begin(&mut self, base: Option<(String, usize, u64)>) -> anyhow::Result<Transcript> {
        self.begun += 1;
        let thread = format!("019b{:04x}-{:04x}-7000-8000-000000000001", self.number, self.begun);
        let path = match self.program {
            Program::Codex => codex_lines::path(&self.day.codex_home, "2026-03-02", &thread),
            Program::Claude => {
                let folder = self.day.claude_home.join("projects/-home-dev-importer");
                folder.join(format!("{thread}.jsonl"))
            }
        };
        fs::create_dir_all(path.parent().context("a path without a folder")?)?;
        let heading =
            Heading { program: self.program, thread, base, second: 9 * 3_600, written: 0 };
        let mut begun = Transcript { heading, path, ends: Vec::new(), is_base: false };
        if let Some(line) = begun.heading.first() {
            self.append(&mut begun, &line)?;
        }
        count(&self.day.actions.sessions);
        Ok(begun)
    }

    /// Resumes an earlier transcript.
    fn resume(&mut self) -> Option<Transcript> {
        let wanted = |past: &Transcript| {
            !past.path.starts_with(self.day.codex_home.join("archived_sessions"))
        };
        let found: Vec<usize> = (0..self.past.len()).filter(|at| wanted(&self.past[*at])).collect();
        let at = *found.get(self.chance.place(found.len()))?;
        count(&self.day.actions.resumes);
        Some(self.past.swap_remove(at))
    }

    /// Codex references the lines that a fork continues from; Claude Code copies them.
    fn fork(&mut self) -> anyhow::Result<Option<Transcript>> {
        let Some(at) = self.past.iter().position(|past| past.ends.len() > 4) else {
            return Ok(None);
        };
        let base = &mut self.past[at];
        let (thread, path) = (base.heading.thread.clone(), base.path.clone());
        count(&self.day.actions.forks);
        if self.program == Program::Codex {
            base.is_base = true;
            let lines = 1 + self.chance.place(base.ends.len() - 1);
            let bytes = base.ends[lines - 1];
            return Ok(Some(self.begin(Some((thread, lines, bytes)))?));
        }
        let written = base.heading.written;
        let mut forked = self.begin(None)?;
        let own = forked.heading.thread.clone();
        let mark = format!("\"forkedFrom\":{{\"sessionId\":\"{thread}\"}},\"gitBranch\"");
        for line in fs::read_to_string(path)?.lines() {
            let line = line.replace("\"gitBranch\"", &mark);
            let line = line.replace(
                &format!("\"sessionId\":\"{thread}\",\"timestamp\""),
                &format!("\"sessionId\":\"{own}\",\"timestamp\""),
            );
            self.append(&mut forked, &line)?;
        }
        forked.heading.written = written;
        Ok(Some(forked))
    }

    /// Simulates a crash of the machine: the transcript loses its end, maybe mid-line, and the agent continues.
    fn lose_the_end(&mut self) -> anyhow::Result<Option<Transcript>> {
        let Some(at) = self.past.iter().position(|past| !past.is_base && past.ends.len() > 4)
        else {
            return Ok(None);
        };
        let mut current = self.past.swap_remove(at);
        let kept = 2 + self.chance.place(current.ends.len() - 2);
        let torn = if self.chance.one_in(2) { 7 } else { 0 };
        current.ends.truncate(kept);
        let file = OpenOptions::new().write(true).open(&current.path)?;
        file.set_len(current.ends[kept - 1] - torn)?;
        count(&self.day.actions.truncations);
        Ok(Some(current))
    }

    /// Sometimes moves a transcript, and deletes the oldest.
    fn tidy_up(&mut self) -> anyhow::Result<()> {
        if self.chance.one_in(4)
            && let Some(past) = self.past.first_mut()
        {
            let folder = match self.program {
                Program::Codex => self.day.codex_home.join("archived_sessions"),
                Program::Claude => self.day.claude_home.join("projects/-home-dev-moved"),
            };
            past.path = moved(&past.path, &folder)?;
            count(&self.day.actions.renames);
        }
        let is_full = self.past.len() > KEPT;
        if (is_full || self.past.len() > 2 && self.chance.one_in(12))
            && let Some(at) = self.past.iter().position(|past| !past.is_base)
        {
            fs::remove_file(&self.past.remove(at).path)?;
            count(&self.day.actions.deletes);
        }
        Ok(())
    }
}

fn moved(path: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let place = folder.join(path.file_name().unwrap_or_default());
    fs::rename(path, &place)?;
    Ok(place)
}
