//! The clients' steps under faults, and the answers they got.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_protocol::archive::{
    ArchiveState, Forget, ForgetParams, Overview, OverviewParams, Restore, RestoreParams,
};
use longhaul_protocol::checkpoint::{
    ChoiceAction, Choices, ChoicesParams, Choose, ChooseParams, Unchoose, UnchooseParams,
};
use longhaul_protocol::compaction::{Run, RunParams};
use longhaul_protocol::memory::{
    AddNote, AddNoteParams, Forget as ForgetMemory, ForgetParams as ForgetMemoryParams, Origin,
    Run as RunMemory, RunParams as MemoryRun,
};
use longhaul_protocol::message_history::{Append as AppendPrompt, AppendParams as PromptParams};
use longhaul_protocol::thread::{
    Append, AppendParams, Open, OpenParams, Sync, SyncParams, ThreadForget, ThreadForgetParams,
};
use longhaul_protocol::{ErrorKind, Method, WireError};

use super::shim::{Fault, PATIENCE, Subject};
use crate::archive::{add_rounds, long, pack_says, packs};
use crate::support::rollout::Rollout;
use crate::support::{Client, configure, message, of_thread};
use crate::threads::addition;

pub const FIRST: &str = "019cadd3-0000-7000-8000-0000000000f1";
pub const SECOND: &str = "019cadd3-0000-7000-8000-0000000000f2";
/// Forgotten by the archive, and after its transcript is deleted, by all.
pub const THIRD: &str = "019cadd3-0000-7000-8000-0000000000f3";

/// A word of the third thread alone.
pub const OF_THIRD: &str = "governor";

pub const NOTES: [&str; 2] = ["Write dates as 2026-11-21.", "Never force a push."];
pub const FORGOTTEN: &str = "The boiler is called Berta.";
pub const PINS: [&str; 2] = ["Keep the turbine cold.", "Keep the turbine dry."];
pub const PROMPT: &str = "Rename parse() to parse_line().";

/// Memory reads threads immediately, and an unreadable transcript is retried soon.
const CONFIG: &str = "\
[memory]\nmin_idle_hours = 0\n[ingest]\nscan_interval_s = 1\n[jobs.extract]\nretry_s = 1\n[jobs.consolidate]\nretry_s = 1\n";

/// Attempts per step. A client retries after an error.
const ATTEMPTS: usize = 4;

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(400);

/// Time limit of an answer under any fault. Memory waits this long for transcripts that cannot be stored.
const ANSWER: Duration = Duration::from_secs(40);

/// The promises a client got.
#[derive(Debug, Clone, Default)]
pub struct Promises {
    /// The thread that was opened.
    pub thread: Option<String>,
    /// Client ids of items, in order.
    pub appended: Vec<String>,
    /// Ids and views of compactions.
    pub compactions: Vec<(String, String)>,
    /// Handles named in a receipt.
    pub handles: Vec<String>,
    pub installed: bool,
    pub notes: Vec<&'static str>,
    /// No file has the note that was forgotten.
    pub is_note_forgotten: bool,
    /// Pins of the first thread.
    pub pins: Vec<&'static str>,
    /// Those that were removed.
    pub unpinned: Vec<&'static str>,
    /// The generation of memory.
    pub generation: u64,
    pub has_prompt: bool,
    /// All existing transcripts.
    pub is_archived: bool,
    /// The archive has nothing of the third thread.
    pub is_forgotten: bool,
    /// No file has.
    pub is_erased: bool,
    /// The first thread is in [`restored`].
    pub is_restored: bool,
}

/// The two agents' transcripts; the second one grows while a script runs.
/// The first continues the second, by reference.
fn transcripts() -> (Rollout, Rollout) {
    let second = long(SECOND, "compressor", 12);
    let mut first = Rollout::forked(FIRST, &second, 9);
    add_rounds(&mut first, "turbine", 20);
    (first, second)
}

/// Writes the initial transcripts of a script.
pub fn lay_out(home: &Path) {
    configure(home, CONFIG);
    let (first, second) = transcripts();
    first.write(home);
    second.write(home);
    long(THIRD, OF_THIRD, 2).write(home);
}

/// The progress of a script.
pub struct Script<'a> {
    subject: &'a mut Subject,
    client: Client,
    pub promises: Promises,
    /// The promises after each answer.
    pub answers: Vec<(usize, Promises)>,
    received: usize,
    /// Whether a fault lasts for ever, so that steps may finally fail.
    is_lasting: bool,
    pub complaints: Vec<String>,
}

impl<'a> Script<'a> {
    /// A client of `subject`; `None` if the daemon has exited.
    pub async fn of(subject: &'a mut Subject, is_lasting: bool) -> Option<Self> {
        let client = Client::try_connect(&subject.socket).await.ok()?;
        let (promises, answers, complaints) = Default::default();
        // Its start was already answered.
        Some(Self { subject, client, promises, answers, received: 1, is_lasting, complaints })
    }

    /// Continues with earlier promises.
    pub fn going_on(self, promises: Promises, received: usize) -> Self {
        Self { promises, received: self.received + received, ..self }
    }

    pub fn received(&self) -> usize {
        self.received
    }

    /// Calls until it succeeds; `None` if it never does.
    async fn call<M: Method>(&mut self, params: M::Params) -> Option<M::Result>
    where
        M::Params: Clone,
    {
        let mut last = String::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let attempt = self.client.attempt::<M>(params.clone());
            let Ok(answer) = tokio::time::timeout(ANSWER, attempt).await else {
                self.complaints.push(format!("{}: no answer within {ANSWER:?}", M::NAME));
                self.client = Client::try_connect(&self.subject.socket).await.ok()?;
                return None;
            };
            match answer {
                Some(Ok(result)) => {
                    self.received += 1;
                    return Some(result);
                }
                Some(Err(error)) => {
                    self.received += 1;
                    self.judge(M::NAME, &error);
                    let is_forgotten =
                        M::NAME == ForgetMemory::NAME && error.kind() == ErrorKind::InvalidParams;
                    if is_forgotten
                        || matches!(error.kind(), ErrorKind::FileExists | ErrorKind::ChoiceNotFound)
                    {
                        // The attempt before failed only after it had put the file there, or removed the pin or the note.
                        return None;
                    }
                    last = format!("{:?}: {}", error.kind(), error.message);
                }
                None => {
                    if self.subject.has_ended() {
                        self.complaints.push(format!("{}: the daemon ended", M::NAME));
                        return None;
                    }
                    self.complaints.push(format!("{}: the connection was closed", M::NAME));
                    self.client = Client::try_connect(&self.subject.socket).await.ok()?;
                }
            }
        }
        if !self.is_lasting {
            self.complaints.push(format!("{} fails still: {last}", M::NAME));
        }
        None
    }

    /// Whether a client may get this error for a disk fault.
    fn judge(&mut self, method: &str, error: &WireError) {
        if error.kind() == ErrorKind::Internal {
            let answer = serde_json::to_string(error).unwrap();
            self.complaints
                .push(format!("{method}: a disk fault is reported as an internal error: {answer}"));
        }
        if error.kind() == ErrorKind::ArchiveDamaged {
            self.complaints.push(format!("{method}: a disk fault is reported as damage"));
        }
        let is_full = self.subject.fault == Fault::Full;
        if is_full && method == Sync::NAME && error.kind() == ErrorKind::ThreadNotFound {
            self.complaints.push("thread/sync: an existing thread is not found".into());
        }
    }

    fn promise(&mut self, change: impl FnOnce(&mut Promises)) {
        change(&mut self.promises);
        self.answers.push((self.received, self.promises.clone()));
    }

    /// The steps, once.
    pub async fn run(&mut self, home: &Path) {
        self.sync(FIRST).await;
        self.sync(SECOND).await;
        self.sync(THIRD).await;
        self.open().await;
        self.append(&["a", "b"]).await;
        self.append(&["c", "d"]).await;
        self.compact(FIRST, false).await;
        if let Some(thread_id) = self.promises.thread.clone() {
            self.compact(&thread_id, true).await;
        }
        self.append(&["e"]).await;
        self.pin(PINS[0]).await;
        self.pin(PINS[1]).await;
        self.unpin(PINS[0]).await;
        self.note(NOTES[0]).await;
        let run = MemoryRun { wait: Some(true), ..Default::default() };
        if let Some(run) = self.call::<RunMemory>(run).await {
            self.promise(|promises| promises.generation = run.generation);
        }
        self.forget_note().await;
        self.prompt().await;
        self.archived().await;
        self.forget(home).await;
        self.restore(home).await;
        grow(home);
        self.sync(SECOND).await;
        self.archived().await;
    }

    /// The steps after a restart.
    pub async fn run_again(&mut self) {
        self.open().await;
        self.append(&["f"]).await;
        self.note(NOTES[1]).await;
        self.sync(FIRST).await;
        self.compact(SECOND, false).await;
        self.archived().await;
    }

    async fn sync(&mut self, thread_id: &str) {
        let (thread_id, timeout_ms) = (Some(thread_id.to_owned()), Some(5_000));
        let params = SyncParams { thread_id, timeout_ms, ..Default::default() };
        self.call::<Sync>(params).await;
    }

    async fn open(&mut self) {
        if let Some(opened) = self.call::<Open>(opening()).await {
            self.promise(|promises| promises.thread = Some(opened.thread_id));
        }
    }

    async fn append(&mut self, ids: &[&str]) {
        let Some(thread_id) = self.promises.thread.clone() else { return };
        let items = ids.iter().map(|id| addition(id, item(id))).collect();
        let params = AppendParams { thread_id, items, expected_seq: None };
        if self.call::<Append>(params).await.is_some() {
            let ids = ids.iter().map(|id| (*id).to_owned());
            self.promise(|promises| promises.appended.extend(ids));
        }
    }

    async fn compact(&mut self, thread_id: &str, is_installed: bool) {
        let install = is_installed.then_some(true);
        let params = RunParams { install, max_tokens: Some(900), ..of_thread(thread_id) };
        let Some(run) = self.call::<Run>(params).await else { return };
        // After an error, a client does not rely on the note.
        if run.warnings.iter().any(|warning| warning.kind == "not_kept") {
            return;
        }
        let handles: Vec<String> =
            run.receipt.dropped.iter().map(|entry| entry.handle.clone()).collect();
        self.promise(|promises| {
            promises.compactions.push((run.compaction_id, run.view.to_string()));
            promises.handles.extend(handles);
            promises.installed |= is_installed && run.installed_seq.is_some();
        });
    }

    async fn note(&mut self, text: &'static str) {
        let params =
            AddNoteParams { text: text.to_owned(), cwd: None, origin: Some(Origin::Person) };
        if let Some(note) = self.call::<AddNote>(params).await {
            self.promise(|promises| {
                promises.notes.push(text);
                promises.generation = promises.generation.max(note.generation);
            });
        }
    }

    async fn forget_note(&mut self) {
        let text = FORGOTTEN.to_owned();
        let params = AddNoteParams { text, cwd: None, origin: Some(Origin::Person) };
        let Some(note) = self.call::<AddNote>(params).await else { return };
        let note_id = Some(note.note_id);
        let params = ForgetMemoryParams { note_id, ..Default::default() };
        if self.call::<ForgetMemory>(params).await.is_some() {
            self.promise(|promises| promises.is_note_forgotten = true);
        }
    }

    async fn pin(&mut self, text: &'static str) {
        let thread_id = FIRST.to_owned();
        let (action, text_given) = (ChoiceAction::Pin, Some(text.to_owned()));
        let params = ChooseParams { thread_id, action, text: text_given, handle: None };
        if self.call::<Choose>(params).await.is_some() {
            self.promise(|promises| promises.pins.push(text));
        }
    }

    async fn unpin(&mut self, text: &'static str) {
        let thread_id = FIRST.to_owned();
        let Some(found) = self.call::<Choices>(ChoicesParams { thread_id }).await else { return };
        let Some(found) = found.choices.into_iter().find(|choice| choice.text.0 == text) else {
            return;
        };
        // From the call until its answer, either may be so.
        self.promise(|promises| promises.pins.retain(|pin| *pin != text));
        let params = UnchooseParams { thread_id: FIRST.into(), choice_id: found.choice_id };
        if self.call::<Unchoose>(params).await.is_some() {
            self.promise(|promises| promises.unpinned.push(text));
        }
    }

    async fn prompt(&mut self) {
        let params = PromptParams { text: PROMPT.into(), thread_id: None, cwd: None };
        if self.call::<AppendPrompt>(params).await.is_some() {
            self.promise(|promises| promises.has_prompt = true);
        }
    }

    async fn forget(&mut self, home: &Path) {
        let params = ForgetParams { thread_id: THIRD.into() };
        if self.call::<Forget>(params).await.is_some() {
            // Not only after the next start, which tidies up.
            if packs(home).iter().any(|pack| pack_says(pack, OF_THIRD)) {
                self.complaints.push("a forgotten thread is in a pack of the archive".into());
            }
            self.promise(|promises| promises.is_forgotten = true);
        }
        fs::remove_file(transcript(home, THIRD)).ok();
        let params = ThreadForgetParams { thread_id: THIRD.into() };
        if self.call::<ThreadForget>(params).await.is_some() {
            self.promise(|promises| promises.is_erased = true);
        }
    }

    async fn restore(&mut self, home: &Path) {
        let to = Some(restored(home).display().to_string());
        let params = RestoreParams { thread_id: FIRST.into(), to };
        if self.call::<Restore>(params).await.is_some() {
            self.promise(|promises| promises.is_restored = true);
        }
    }

    /// Waits until everything is archived, or a fault prevents it.
    async fn archived(&mut self) {
        let until = tokio::time::Instant::now() + PATIENCE;
        while let Some(status) = self.call::<Overview>(OverviewParams {}).await {
            if status.state == ArchiveState::Idle {
                self.promise(|promises| promises.is_archived = true);
                return;
            }
            if self.is_lasting && self.subject.is_met() {
                return;
            }
            if tokio::time::Instant::now() >= until {
                self.complaints.push(format!("the archive does not get ready: {status:?}"));
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

pub fn opening() -> OpenParams {
    OpenParams {
        client_thread_id: Some("k".into()),
        cwd: "/w/demo".into(),
        originator: "editor".into(),
        ..Default::default()
    }
}

/// The item with a client's id, of a few KiB.
pub fn item(id: &str) -> serde_json::Value {
    let role = if id < "b" { "user" } else { "assistant" };
    message(role, &format!("Item {id}. ").repeat(400))
}

/// The agent continues the second thread, if it has not yet.
pub fn grow(home: &Path) {
    let (mut second, path) = (transcripts().1, transcript(home, SECOND));
    if fs::read_to_string(&path).unwrap().contains("Later round") {
        return;
    }
    for round in 0..3 {
        second.message("assistant", &format!("Later round {round}."));
    }
    second.append(&path);
}

pub fn transcript(home: &Path, thread_id: &str) -> PathBuf {
    home.join(format!(".codex/sessions/2026/03/02/rollout-2026-03-02T09-14-07-{thread_id}.jsonl"))
}

/// Where the script restores the first thread to: a folder whose power cuts are simulated.
pub fn restored(home: &Path) -> PathBuf {
    home.join(".local/state/longhaul/restored.jsonl")
}
