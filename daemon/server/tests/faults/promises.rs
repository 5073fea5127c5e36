//! Checks that a daemon started after a fault keeps all earlier promises.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use longhaul_protocol::archive::{
    ArchiveState, Overview, OverviewParams, Restore, RestoreParams, Verify, VerifyParams,
};
use longhaul_protocol::checkpoint::{Choices, ChoicesParams};
use longhaul_protocol::compaction::{CompactionGet, CompactionGetParams};
use longhaul_protocol::daemon::{NoParams, Status};
use longhaul_protocol::history::{Expand, ExpandParams, HistoryGet, HistoryGetParams};
use longhaul_protocol::memory::{ListNotes, ListNotesParams, Read, ReadParams};
use longhaul_protocol::message_history::{Lookup, LookupParams};
use longhaul_protocol::thread::{
    Append, AppendParams, Open, Sync, SyncParams, ThreadGet, ThreadGetParams,
};
use longhaul_protocol::{ErrorKind, Method, WireError};

use super::script::{
    self, FIRST, FORGOTTEN, NOTES, OF_THIRD, PROMPT, Promises, SECOND, THIRD, restored, transcript,
};
use super::shim::{Fault, PATIENCE, Place, Trigger};
use crate::archive::{pack_says, packs};
use crate::support::{Client, file_with, files_below};
use crate::threads::addition;

const NO_FAULT: Trigger = Trigger { fault: Fault::None, at: 0, length: 0 };

/// A daemon's answers about a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    items: u64,
    lines: u64,
    malformed: u64,
    unknown: u64,
    history: Vec<String>,
}

/// The answers about both transcripts of a daemon without any state.
#[derive(Debug, Clone)]
pub struct Truth([Reading; 2]);

impl Truth {
    /// Of a home where a script has completed.
    pub async fn of(home: &Path) -> Self {
        let place = Place::new();
        copy(&home.join(".codex"), &place.home().join(".codex"));
        let mut check = Check::start(&place).await.unwrap();
        let read = [check.reading(FIRST).await, check.reading(SECOND).await];
        Self(read.map(Option::unwrap))
    }
}

/// All errors at `place`.
pub async fn complaints(place: &Place, promises: &Promises, truth: &Truth) -> Vec<String> {
    let mut check = match Check::start(place).await {
        Ok(check) => check,
        Err(status) => return vec![format!("it does not start again: {status}")],
    };
    check.threads(truth).await;
    check.own_thread(promises).await;
    check.compactions(promises).await;
    check.pins(promises).await;
    check.memory(place, promises).await;
    check.prompt(promises).await;
    check.archive(place).await;
    check.forgotten(place, promises).await;
    check.status().await;
    check.end(place).await
}

struct Check {
    subject: super::shim::Subject,
    client: Client,
    wrong: Vec<String>,
}

impl Check {
    async fn start(place: &Place) -> Result<Self, std::process::ExitStatus> {
        let subject = place.start(NO_FAULT, false).await?;
        let client = Client::connect(&subject.socket).await;
        Ok(Self { subject, client, wrong: Vec::new() })
    }

    /// A call that must succeed.
    async fn call<M: Method>(&mut self, what: &str, params: M::Params) -> Option<M::Result> {
        match tokio::time::timeout(PATIENCE, self.client.attempt::<M>(params)).await {
            Ok(Some(Ok(result))) => Some(result),
            Ok(Some(Err(error))) => self.complain(what, &shown(&error)),
            Ok(None) | Err(_) => self.complain(what, "no answer"),
        }
    }

    fn complain<T>(&mut self, what: &str, why: &str) -> Option<T> {
        self.wrong.push(format!("{what}: {why}"));
        None
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(what());
        }
    }

    async fn reading(&mut self, thread_id: &str) -> Option<Reading> {
        let (thread_id, timeout_ms) = (thread_id.to_owned(), Some(15_000));
        let params =
            SyncParams { thread_id: Some(thread_id.clone()), timeout_ms, ..Default::default() };
        self.call::<Sync>("sync", params).await?;
        let params = ThreadGetParams { thread_id: thread_id.clone() };
        let thread = self.call::<ThreadGet>("thread", params).await?.thread;
        let mut params = HistoryGetParams { thread_id, ..Default::default() };
        let mut history = Vec::new();
        loop {
            let page = self.call::<HistoryGet>("history", params.clone()).await?;
            history.extend(page.items.iter().map(|item| item.get().to_owned()));
            params.cursor = page.next_cursor;
            if params.cursor.is_none() {
                break;
            }
        }
        let (items, lines) = (thread.items, thread.lines);
        Some(Reading {
            items,
            lines,
            malformed: thread.malformed,
            unknown: thread.unknown,
            history,
        })
    }

    async fn threads(&mut self, truth: &Truth) {
        for (thread_id, expected) in [FIRST, SECOND].into_iter().zip(&truth.0) {
            let Some(found) = self.reading(thread_id).await else { continue };
            self.expect(found == *expected, || {
                let (found, expected) = (brief(&found), brief(expected));
                format!("{thread_id} is not as a fresh daemon reads it: {found}, not {expected}")
            });
        }
    }

    /// Checks the thread that a client appended to: every acknowledged item once, in order, and appending works.
    async fn own_thread(&mut self, promises: &Promises) {
        let Some(opened) = self.call::<Open>("open", script::opening()).await else { return };
        let is_known = promises.thread.is_some();
        self.expect(!(is_known && opened.created), || "an opened thread is lost".into());
        let thread_id = opened.thread_id.clone();
        let items = vec![addition("z", script::item("z"))];
        let params = AppendParams { thread_id: thread_id.clone(), items, expected_seq: None };
        self.call::<Append>("append", params).await;
        let text = fs::read_to_string(&opened.path).unwrap_or_default();
        let lines: Vec<Option<serde_json::Value>> =
            text.lines().map(|line| serde_json::from_str(line).ok()).collect();
        self.expect(lines.iter().all(Option::is_some), || "a line of a thread is torn".into());
        let id = |line: &serde_json::Value| {
            Some(line.pointer("/metadata/client_item_id")?.as_str()?.to_owned())
        };
        let ids: Vec<String> = lines.iter().flatten().filter_map(id).collect();
        let once: BTreeSet<&String> = ids.iter().collect();
        self.expect(once.len() == ids.len(), || format!("an item occurs twice: {ids:?}"));
        let own: Vec<&String> = ids.iter().filter(|id| id.len() == 1).collect();
        self.expect(own.is_sorted(), || format!("items are out of order: {ids:?}"));
        let lost: Vec<_> = promises.appended.iter().filter(|id| !once.contains(id)).collect();
        self.expect(lost.is_empty(), || format!("items are lost: {lost:?} of {ids:?}"));
        self.same_as_fresh(&thread_id, &opened.path).await;
    }

    /// Whether a daemon with only this recorded transcript gives the same answers.
    async fn same_as_fresh(&mut self, thread_id: &str, path: &str) {
        let Some(found) = self.reading(thread_id).await else { return };
        let fresh = Place::new();
        let below = Path::new(path).components().rev().take(5).collect::<Vec<_>>();
        let below: PathBuf = below.into_iter().rev().collect();
        let copied = fresh.state().join(below);
        let mut folders = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(folders.recursive(true), 0o700);
        folders.create(copied.parent().unwrap()).unwrap();
        fs::copy(path, &copied).unwrap();
        let mut check = Self::start(&fresh).await.unwrap();
        let expected = check.reading(thread_id).await;
        self.expect(expected.as_ref() == Some(&found), || {
            let expected = expected.as_ref().map(brief);
            format!(
                "our thread is not as a fresh daemon reads it: {}, not {expected:?}",
                brief(&found)
            )
        });
    }

    async fn pins(&mut self, promises: &Promises) {
        let params = ChoicesParams { thread_id: FIRST.to_owned() };
        let Some(found) = self.call::<Choices>("pins", params).await else { return };
        let has = |text: &&str| found.choices.iter().any(|choice| choice.text.0 == **text);
        for pin in promises.pins.iter().filter(|pin| !has(pin)) {
            self.expect(false, || format!("a pin is lost: {pin}"));
        }
        for pin in promises.unpinned.iter().filter(|pin| has(pin)) {
            self.expect(false, || format!("a removed pin is back: {pin}"));
        }
    }

    async fn compactions(&mut self, promises: &Promises) {
        for (compaction_id, view) in &promises.compactions {
            let params = CompactionGetParams { compaction_id: compaction_id.clone() };
            let Some(found) = self.call::<CompactionGet>("compaction", params).await else {
                continue;
            };
            let is_same = found.run.view.to_string() == *view;
            self.expect(is_same, || "a compaction has another view".into());
        }
        for handle in promises.handles.iter().step_by(5) {
            let params = ExpandParams { handle: handle.clone(), ..Default::default() };
            let Some(page) = self.call::<Expand>("expand", params).await else { continue };
            self.expect(!page.items.is_empty(), || format!("nothing is behind {handle}"));
        }
    }

    async fn memory(&mut self, place: &Place, promises: &Promises) {
        let Some(listed) = self.call::<ListNotes>("notes", ListNotesParams::default()).await else {
            return;
        };
        for text in NOTES {
            let count = listed.notes.iter().filter(|note| *note.text == *text).count();
            let least = usize::from(promises.notes.contains(&text));
            self.expect((least..=1).contains(&count), || format!("note {text:?}: {count} times"));
        }
        if promises.is_note_forgotten {
            let left = file_with(&place.state(), FORGOTTEN);
            self.expect(left.is_none(), || format!("a forgotten note is in {left:?}"));
        }
        if promises.generation > 0 {
            let params = ReadParams {
                path: "MEMORY.md".into(),
                line: None,
                max_lines: None,
                max_tokens: None,
            };
            let Some(read) = self.call::<Read>("MEMORY.md", params).await else { return };
            for text in &promises.notes {
                let has = read.text.contains(text);
                self.expect(has, || format!("MEMORY.md does not say {text:?}"));
            }
        }
    }

    async fn prompt(&mut self, promises: &Promises) {
        let params = LookupParams::default();
        let Some(found) = self.call::<Lookup>("prompts", params).await else { return };
        let count = found.messages.iter().filter(|message| message.text.bytes() == PROMPT).count();
        let least = usize::from(promises.has_prompt);
        self.expect((least..=1).contains(&count), || format!("the prompt occurs {count} times"));
    }

    /// Checks that the archive becomes ready, is undamaged, and restores a missing transcript.
    async fn archive(&mut self, place: &Place) {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let status = match self.client.attempt::<Overview>(OverviewParams {}).await {
                Some(Ok(status)) => status,
                Some(Err(error)) if error.kind() == ErrorKind::StoreBusy => {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                    continue;
                }
                other => return self.wrong.push(format!("archive: {other:?}")),
            };
            if status.state == ArchiveState::Idle {
                let problem = status.problem.clone();
                self.expect(problem.is_none(), || format!("the archive says {problem:?}"));
                break;
            }
            if tokio::time::Instant::now() > until {
                return self.wrong.push(format!("the archive does not get ready: {status:?}"));
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let Some(found) = self.call::<Verify>("verify", VerifyParams::default()).await else {
            return;
        };
        self.expect(found.damaged == 0, || format!("the archive is damaged: {found:?}"));
        let packs = files_below(&place.state().join("archive"));
        let packs = packs.iter().filter(|path| path.extension().is_some_and(|end| end == "pack"));
        let packs = packs.count() as u64;
        self.expect(packs == found.files, || format!("{packs} packs, {} named", found.files));
        let path = transcript(&place.home(), FIRST);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let params =
            RestoreParams { thread_id: FIRST.into(), to: Some(path.display().to_string()) };
        self.call::<Restore>("restore", params).await;
        let is_same = fs::read(&path).is_ok_and(|bytes| bytes == whole);
        self.expect(is_same, || "a transcript is not given back as it was".into());
    }

    /// Checks that nothing of a forgotten thread is in a pack, and that a restored file is complete.
    async fn forgotten(&mut self, place: &Place, promises: &Promises) {
        let path = restored(&place.home());
        if promises.is_restored || path.exists() {
            let whole = fs::read(transcript(&place.home(), FIRST)).unwrap();
            let is_same = fs::read(&path).is_ok_and(|bytes| bytes == whole);
            self.expect(is_same, || "a restored file is not complete".into());
        }
        if !promises.is_forgotten {
            return;
        }
        for words in [THIRD, OF_THIRD] {
            let is_left = packs(&place.home()).iter().any(|pack| pack_says(pack, words));
            self.expect(!is_left, || format!("{words:?} is in a pack of the archive"));
        }
        if promises.is_erased {
            let left = file_with(&place.state(), OF_THIRD);
            self.expect(left.is_none(), || format!("a forgotten thread is in {left:?}"));
        }
        let to = Some(place.home().join("nothing.jsonl").display().to_string());
        let params = RestoreParams { thread_id: THIRD.into(), to };
        let kind = match self.client.attempt::<Restore>(params).await {
            Some(Err(error)) => Some(error.kind()),
            _ => None,
        };
        let is_gone = kind == Some(ErrorKind::NotArchived);
        self.expect(is_gone, || format!("a forgotten thread is restored: {kind:?}"));
    }

    /// Checks that `longhaul doctor` shows no problem.
    async fn status(&mut self) {
        let Some(status) = self.call::<Status>("status", NoParams {}).await else { return };
        let shown = serde_json::to_string(&status).unwrap();
        let is_well = status.warnings.is_empty() && status.panics == 0;
        self.expect(is_well, || format!("warnings after all is well: {shown}"));
        self.expect(!shown.contains("rebuilt"), || format!("the database was given up: {shown}"));
    }

    async fn end(mut self, place: &Place) -> Vec<String> {
        let status = self.subject.stop().await;
        if !status.success() {
            self.wrong.push(format!("it ends with {status}"));
        }
        let log = place.log();
        self.wrong.extend(log.lines().filter(|line| line.contains("panicked")).map(str::to_owned));
        self.wrong.extend(orphans(place).into_iter().map(|path| format!("left behind: {path}")));
        self.wrong
    }
}

fn shown(error: &WireError) -> String {
    serde_json::to_string(error).unwrap_or_default()
}

fn brief(reading: &Reading) -> String {
    let Reading { items, lines, malformed, unknown, history } = reading;
    let history = history.len();
    format!(
        "{items} items, {lines} lines, {malformed} malformed, {unknown} unknown, {history} in the history"
    )
}

/// Leftover files in the daemon's folder after its exit.
fn orphans(place: &Place) -> Vec<String> {
    let state = place.state();
    let is_known = |path: &str| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match folder {
            "" => {
                let known = ["longhaul.db", "search.db", "longhaul.db.seal", "search.db.seal"];
                let others = ["longhauld.lock", "message_history.jsonl", "message_history.lock"];
                // A kill can leave the hidden file of a restore in the folder that a person named.
                let is_restored = name == "restored.jsonl" || name.starts_with(".restored.jsonl.");
                known.contains(&name) || others.contains(&name) || name == "memory" || is_restored
            }
            "run" => name.ends_with(".lock"),
            "archive" => name == "index.db" || name == "index.db.seal" || name.ends_with(".pack"),
            "archive/forgotten" => true,
            // The journal of a generation.
            "memory.d" => name.starts_with('g') && name.ends_with(".json"),
            _ if folder.starts_with("memory.d/g") => {
                name.ends_with(".md") || name.ends_with(".json")
            }
            _ if folder.starts_with("threads/") => name.starts_with("rollout-"),
            _ => false,
        }
    };
    let below = |path: PathBuf| path.strip_prefix(&state).unwrap().display().to_string();
    let mut found: Vec<String> =
        files_below(&state).into_iter().map(below).filter(|path| !is_known(path)).collect();
    let generations = fs::read_dir(state.join("memory.d")).into_iter().flatten().flatten();
    let count = generations.filter(|entry| entry.path().is_dir()).count();
    if count > 2 {
        found.push(format!("{count} generations of memory"));
    }
    let agents = files_below(&place.home().join(".codex"));
    found.extend(
        agents
            .iter()
            .map(|path| path.display().to_string())
            .filter(|path| !path.ends_with(".jsonl")),
    );
    found
}

/// Files of other programs: the same, under another name.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        match path.is_dir() {
            true => copy(&path, &to),
            false => fs::hard_link(&path, &to).unwrap(),
        }
    }
}
