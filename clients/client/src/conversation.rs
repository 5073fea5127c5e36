//! A conversation with a model that never overflows its window.
//!
//! The loop that every program with a model needs, in one struct: it appends messages to a thread of the daemon, asks
//! before each request whether the window is full, and if so compacts the history and installs the result.
//! [`Conversation::prompt`] returns what to send.
//!
//! The daemon's thread is authoritative. This struct holds a copy of its history and the additions the daemon has not
//! acknowledged yet. Each addition has its own id, so it is always safe to send it again. A killed daemon thus loses
//! nothing, and without a daemon the conversation continues with as much of the copy as fits:
//! [`Conversation::trouble`] says why.

mod daemon;
mod fitting;

use std::collections::VecDeque;

use longhaul_protocol::compaction::{
    self, Phase, Reason, RunParams, RunResult, Should, ShouldParams, Trigger, Undo, UndoParams,
};
use longhaul_protocol::context::{
    Diff, DiffParams, Normalize, NormalizeParams, OptionalSetting, Settings,
};
use longhaul_protocol::limit::{APPEND_ITEM_BYTES_MAX, APPEND_ITEMS_MAX};
use longhaul_protocol::thread::{Append, AppendItem, AppendParams, Marker, Open, OpenParams};
use longhaul_protocol::{ErrorKind, history};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{ClientError, ConnectOptions};
use daemon::Daemon;
use fitting::{fitting, shortened};

/// Maximum tokens of a view by default. In a smaller window, a quarter of it bounds the view and the request together.
const DEFAULT_VIEW_TOKENS: u64 = 8_000;

/// Characters of a refused item in the hint of its error.
const REFUSED_CHARS: usize = 120;

/// Which conversation, and with whom.
#[derive(Debug, Clone)]
pub struct ConversationOptions {
    /// Your program, and the socket if not the default one.
    pub connect: ConnectOptions,
    /// Your id of the conversation: the same id finds it again, even after a restart of your program.
    pub key: String,
    /// The folder it works in, an absolute path.
    pub cwd: String,
    /// The model that answers.
    pub model: String,
    /// Tokens of its window.
    pub window: u64,
    /// Tokens kept free for instructions, definitions of tools and the answer; `None`: a quarter of the window.
    pub reserve: Option<u64>,
    /// Whether the project's AGENTS.md and memory are sent with the settings of [`Conversation::set`].
    pub include: Vec<OptionalSetting>,
    /// Milliseconds to wait for a daemon that does not answer, before continuing without it.
    pub patience_ms: u64,
}

impl ConversationOptions {
    /// A conversation of this program, key, folder and model, otherwise with the defaults.
    #[must_use]
    pub fn new(
        connect: ConnectOptions,
        key: &str,
        cwd: &str,
        (model, window): (&str, u64),
    ) -> Self {
        Self {
            connect,
            key: key.to_owned(),
            cwd: cwd.to_owned(),
            model: model.to_owned(),
            window,
            reserve: None,
            include: Vec::new(),
            patience_ms: 3_000,
        }
    }
}

/// What to send next.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The history: every call with its output, within the window.
    pub items: Vec<Value>,
    /// The compaction made for it, if any.
    pub compaction: Option<RunResult>,
}

/// A conversation; see the module.
#[derive(Debug)]
pub struct Conversation {
    options: ConversationOptions,
    daemon: Daemon,
    thread_id: Option<String>,
    settings: Option<Settings>,
    /// The history as last read, and what was added since.
    items: Vec<Value>,
    /// Additions that the daemon has not acknowledged.
    unsaved: VecDeque<AppendItem>,
    /// The first refusal that no call has returned yet.
    refusal: Option<ClientError>,
}

impl Conversation {
    /// Does nothing yet; the first call connects to the daemon.
    #[must_use]
    pub fn new(options: ConversationOptions) -> Self {
        Self {
            daemon: Daemon::new(options.connect.clone(), options.patience_ms),
            options,
            thread_id: None,
            settings: None,
            items: Vec::new(),
            unsaved: VecDeque::new(),
            refusal: None,
        }
    }

    /// The daemon's id of the thread, for `longhaul compact`, `longhaul search` and your own calls.
    #[must_use]
    pub fn thread_id(&self) -> Option<&str> {
        self.thread_id.as_deref()
    }

    /// Why the last call could not reach the daemon, if it could not.
    #[must_use]
    pub fn trouble(&self) -> Option<&ClientError> {
        self.daemon.trouble()
    }

    /// The settings sent to the model: once, when they change, and after a compaction.
    pub fn set(&mut self, settings: Settings) {
        self.settings = Some(settings);
    }

    /// Adds items: the person's messages, the model's answers, outputs of tools. They are on disk when this returns,
    /// unless [`trouble`](Self::trouble) says otherwise; then the next call that reaches the daemon adds them. A tool
    /// output larger than a quarter of the window loses its middle.
    ///
    /// # Errors
    /// The daemon refused an item as invalid or too large, maybe one that was added earlier without a daemon. It is left
    /// out of the conversation; the others were added.
    pub async fn add(&mut self, items: Vec<Value>) -> Result<(), ClientError> {
        if items.iter().any(|item| item["role"] == "user") {
            let initial = self.add_settings().await;
            self.daemon.note(initial)?;
        }
        let limit = self.room() / 4;
        for item in items {
            let item = shortened(item, limit);
            self.items.push(item.clone());
            self.keep(Some(item), None);
        }
        let saved = self.save().await;
        self.daemon.note(saved)
    }

    /// Ends the model's turn: its last message counts as its report.
    ///
    /// # Errors
    /// As [`add`](Self::add), for items that were added without a daemon.
    pub async fn end_turn(&mut self) -> Result<(), ClientError> {
        self.keep(None, Some(Marker::TurnComplete));
        let saved = self.save().await;
        self.daemon.note(saved)
    }

    /// Returns what to send to the model next. Compacts the history first if it would not fit.
    ///
    /// # Errors
    /// As [`add`](Self::add), for items that were added without a daemon.
    pub async fn prompt(&mut self) -> Result<Prompt, ClientError> {
        let mut compaction = None;
        let read = self.read(&mut compaction).await;
        self.daemon.note(read)?;
        let items = match self.trouble() {
            Some(_) => fitting(&self.items, self.room()),
            None => self.items.clone(),
        };
        Ok(Prompt { items, compaction })
    }

    /// Undoes a compaction: restores the old history, followed by everything added since.
    ///
    /// # Errors
    /// A later compaction is installed, or the daemon is not running.
    pub async fn undo(&mut self, compaction: &RunResult) -> Result<(), ClientError> {
        let compaction_id = compaction.compaction_id.clone();
        self.daemon.ask::<Undo>(|| UndoParams { compaction_id: compaction_id.clone() }).await?;
        Ok(())
    }

    /// Saves what the daemon has not acknowledged; the key opens the conversation again.
    ///
    /// # Errors
    /// It could not be saved, and is lost with your program; or an item was refused, and all others are saved.
    pub async fn close(mut self) -> Result<(), ClientError> {
        self.daemon.look_again();
        self.save().await
    }

    /// Maximum tokens of the history.
    fn room(&self) -> u64 {
        let window = self.options.window;
        window.saturating_sub(self.options.reserve.unwrap_or_else(|| window.div_ceil(4)))
    }

    fn keep(&mut self, item: Option<Value>, marker: Option<Marker>) {
        let client_item_id = self.daemon.new_id();
        self.unsaved.push_back(AppendItem { client_item_id, item, marker });
    }

    /// Updates the copy of the history, compacted if it would not fit.
    async fn read(&mut self, compaction: &mut Option<RunResult>) -> Result<(), ClientError> {
        self.save().await?;
        let thread_id = self.open().await?;
        let (model, room) = (self.options.model.clone(), self.room());
        let due = || ShouldParams {
            thread_id: Some(thread_id.clone()),
            phase: Some(Phase::MidTurn),
            model: Some(model.clone()),
            context_window: Some(room),
            ..Default::default()
        };
        if self.daemon.ask::<Should>(due).await?.compact {
            *compaction = self.compact(&thread_id).await?;
        }
        self.items = self.history(&thread_id).await?;
        Ok(())
    }

    /// The thread of the key; a new one gets everything known here.
    async fn open(&mut self) -> Result<String, ClientError> {
        if let Some(thread_id) = self.thread_id.as_ref().filter(|_| !self.daemon.lost_the_thread())
        {
            return Ok(thread_id.clone());
        }
        let (name, version) = self.options.connect.program();
        let params = OpenParams {
            client_thread_id: Some(self.options.key.clone()),
            cwd: self.options.cwd.clone(),
            originator: name.to_owned(),
            version: Some(version.to_owned()),
            model: Some(self.options.model.clone()),
            context_window: Some(self.options.window),
            ..Default::default()
        };
        let opened = self.daemon.ask::<Open>(|| params.clone()).await?;
        let unsaved = self.unsaved.iter().filter(|addition| addition.item.is_some()).count();
        if opened.created && self.items.len() > unsaved {
            self.unsaved.clear();
            for item in self.items.clone() {
                self.keep(Some(item), None);
            }
        }
        self.thread_id = Some(opened.thread_id.clone());
        Ok(opened.thread_id)
    }

    /// Appends what is unsaved. A refused addition is dropped, so that it does not block the others; the first refusal is
    /// the error, of a later call if this one fails otherwise.
    async fn save(&mut self) -> Result<(), ClientError> {
        let thread_id = self.open().await?;
        let mut items_max = APPEND_ITEMS_MAX;
        while !self.unsaved.is_empty() {
            let items = batch(&self.unsaved, items_max);
            let params = || AppendParams {
                thread_id: thread_id.clone(),
                items: items.clone(),
                expected_seq: None,
            };
            let error = match self.daemon.ask::<Append>(params).await {
                Ok(_) => {
                    self.unsaved.drain(..items.len());
                    continue;
                }
                Err(error) if daemon::is_mistake(&error) => error,
                Err(error) => return Err(error),
            };
            let named = refused_id(&error);
            let at = items.iter().position(|item| Some(item.client_item_id.as_str()) == named);
            match at.or((items.len() == 1).then_some(0)) {
                Some(at) => {
                    let item = self.drop_unsaved(at);
                    self.refusal.get_or_insert_with(|| about(error, item.as_ref()));
                }
                None => items_max = 1,
            }
        }
        self.refusal.take().map_or(Ok(()), Err)
    }

    /// Drops an addition from the copy of the history, whose newest items are the unsaved ones.
    fn drop_unsaved(&mut self, at: usize) -> Option<Value> {
        let newer = self.unsaved.range(at..).filter(|addition| addition.item.is_some()).count();
        let dropped = self.unsaved.remove(at)?.item?;
        self.items.remove(self.items.len() - newer);
        Some(dropped)
    }

    /// Compacts and installs the result; `None` if it would gain nothing.
    async fn compact(&mut self, thread_id: &str) -> Result<Option<RunResult>, ClientError> {
        let initial = match self.settings.clone() {
            Some(current) => Some(self.diff(DiffParams { current, ..Default::default() }).await?),
            None => None,
        };
        let room = self.room();
        let params = RunParams {
            thread_id: Some(thread_id.to_owned()),
            install: Some(true),
            trigger: Some(Trigger::Auto),
            reason: Some(Reason::ContextLimit),
            phase: Some(Phase::MidTurn),
            model: Some(compaction::Model {
                name: self.options.model.clone(),
                context_window: Some(room),
                provider: None,
            }),
            max_tokens: Some(room / 4).filter(|most| *most < DEFAULT_VIEW_TOKENS),
            initial_context: initial,
            ..Default::default()
        };
        match self.daemon.ask::<compaction::Run>(|| params.clone()).await {
            Ok(run) => {
                if self.settings.is_some() {
                    self.keep(None, Some(self.in_force()));
                    self.save().await?;
                }
                Ok(Some(run))
            }
            Err(ClientError::Refused(error)) if error.kind() == ErrorKind::NotWorthwhile => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Adds a message about changed settings before the person's next message.
    async fn add_settings(&mut self) -> Result<(), ClientError> {
        let Some(current) = self.settings.clone() else { return Ok(()) };
        let thread_id = Some(self.open().await?);
        let include = Some(self.options.include.clone()).filter(|include| !include.is_empty());
        let initial =
            self.diff(DiffParams { thread_id, current, include, ..Default::default() }).await?;
        if !initial.is_empty() {
            self.keep(None, Some(self.in_force()));
        }
        for item in initial {
            self.items.push(item.clone());
            self.keep(Some(item), None);
        }
        Ok(())
    }

    async fn diff(&mut self, params: DiffParams) -> Result<Vec<Value>, ClientError> {
        Ok(self.daemon.ask::<Diff>(|| params.clone()).await?.items.into_bytes())
    }

    /// Records that the model knows the settings from here on.
    fn in_force(&self) -> Marker {
        Marker::Settings {
            cwd: Some(self.options.cwd.clone()),
            model: Some(self.options.model.clone()),
        }
    }

    /// The whole history in a form that providers accept: an unanswered call gets an output that says so.
    async fn history(&mut self, thread_id: &str) -> Result<Vec<Value>, ClientError> {
        let mut params =
            history::HistoryGetParams { thread_id: thread_id.to_owned(), ..Default::default() };
        let mut items = Vec::new();
        loop {
            let page = self.daemon.ask::<history::HistoryGet>(|| params.clone()).await?;
            items.extend(page.items);
            params.cursor = page.next_cursor;
            if params.cursor.is_none() {
                break;
            }
        }
        let whole = || NormalizeParams { items: items.clone(), ..Default::default() };
        let values = |items: &[Box<RawValue>]| -> Vec<Value> {
            items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()).collect()
        };
        match self.daemon.ask::<Normalize>(whole).await {
            Ok(normal) => Ok(values(&normal.items)),
            // More than a message can carry, such as many images.
            Err(ClientError::TooLarge { .. }) => Ok(fitting(&values(&items), self.room())),
            Err(error) => Err(error),
        }
    }
}

/// The first of the additions, at most `items_max` and at least one, in a message with room to spare.
fn batch(unsaved: &VecDeque<AppendItem>, items_max: usize) -> Vec<AppendItem> {
    let mut bytes = 0;
    let fits = |addition: &&AppendItem| {
        let is_first = bytes == 0;
        bytes += serde_json::to_vec(addition).map_or(0, |json| json.len());
        is_first || bytes <= APPEND_ITEM_BYTES_MAX
    };
    unsaved.iter().take(items_max).take_while(fits).cloned().collect()
}

/// The addition because of which the daemon refused a batch.
fn refused_id(error: &ClientError) -> Option<&str> {
    let ClientError::Refused(error) = error else { return None };
    error.data.as_ref()?.detail.as_ref()?.get("client_item_id")?.as_str()
}

/// The refusal, with the beginning of the item: the caller may have added it long before.
fn about(error: ClientError, item: Option<&Value>) -> ClientError {
    match (error, item) {
        (ClientError::Refused(error), Some(item)) => {
            let start: String = item.to_string().chars().take(REFUSED_CHARS).collect();
            let hint = format!("it was left out of the conversation: {start}");
            ClientError::Refused(Box::new(error.with_hint(hint)))
        }
        // Its beginning says little of so large an item.
        (ClientError::TooLarge { bytes, max, .. }, Some(item)) => {
            ClientError::TooLarge { bytes, max, item: Some(kind_of(item)) }
        }
        (error, _) => error,
    }
}

/// What kind of item it is, by the fields that name it, as in `message user` and `function_call_output call_7`.
fn kind_of(item: &Value) -> String {
    let fields = ["type", "role", "name", "call_id"].map(|field| item[field].as_str());
    fields.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
