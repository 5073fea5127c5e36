//! The conversation of one run: a step of the model, its tools, what they answered, and so on.
//!
//! What the model sees stays below its window: older answers of tools are left out first, and it may ask for
//! them again. Everything a tool answers is redacted before it leaves.

use std::collections::VecDeque;
use std::time::Duration;

use longhaul_core::memory::Files;
use longhaul_core::memory::agent::{AgentStep, AgentTask, ToolCall, ToolName, schema};
use longhaul_core::memory::input::budget_tokens;
use longhaul_core::model::Schema;
use longhaul_core::model::budget::Spending;
use longhaul_core::redact::redact;
use longhaul_core::{text, tokens};
use serde_json::value::RawValue;

use super::super::ask::{MemoryQuestion, item};
use super::error::AgentError;
use super::staging::Staging;
use crate::config::tables::MemorySettings;
use crate::model::{Answered, ModelChoice, Models, Purpose};
use crate::sandbox::{Call, Sandbox};
use crate::service::error::ServiceError;

/// Bytes of a tool's answer that the model sees.
const ANSWER_BYTES: usize = 32 * 1_024;

/// Times in a row that a model may answer with what is no step, and times that its files may be refused.
const MISTAKES_MAX: u32 = 2;

/// Stands where an answer was left out.
const LEFT_OUT: &str = "(left out to make room: ask again if you need it)";

pub(super) struct Turns<'a> {
    asking: MemoryQuestion<'a>,
    turns_max: u64,
    tokens_max: u64,
    window_bytes: usize,
    taken: u64,
    task: AgentTask,
    exchanges: VecDeque<Exchange>,
}

/// A step and what it was answered.
struct Exchange {
    step: String,
    answer: String,
}

impl<'a> Turns<'a> {
    pub(super) fn new(
        models: &'a Models,
        choice: &'a ModelChoice,
        settings: &MemorySettings,
        task: AgentTask,
    ) -> Self {
        let asking = MemoryQuestion {
            models,
            choice,
            purpose: Purpose::Consolidation,
            timeout: Duration::from_secs(*settings.answer_timeout_s),
            spent: Spending::default(),
        };
        Self {
            asking,
            turns_max: *settings.agent_turns,
            tokens_max: *settings.agent_tokens,
            window_bytes: tokens::bytes_of(budget_tokens(Some(choice.context_window))),
            taken: 0,
            task,
            exchanges: VecDeque::new(),
        }
    }

    /// Requests so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Tokens so far.
    pub(super) fn spent_tokens(&self) -> u64 {
        self.asking.spent.tokens
    }

    /// Runs until the model is done and `check` takes its files.
    ///
    /// # Errors
    /// [`AgentError`]: nothing of it may be used.
    pub(super) async fn run(
        &mut self,
        staging: &Staging,
        check: &(dyn Fn(&Files) -> Result<Files, String> + Sync),
    ) -> Result<Files, AgentError> {
        let laid = staging.lay_out(&self.task.files).await;
        laid.map_err(|source| failed(staging, source))?;
        let mut sandbox = Sandbox::start(staging.path()).await?;
        let (mut refusals, mut mistakes) = (0, 0);
        loop {
            let (said, step) = self.step().await?;
            let step = match step {
                Ok(step) => step,
                Err(reason) if mistakes == MISTAKES_MAX => {
                    return Err(AgentError::Unreadable(reason));
                }
                Err(reason) => {
                    mistakes += 1;
                    self.note(&said, format!("That was no step: {reason}. Answer as asked."));
                    continue;
                }
            };
            mistakes = 0;
            let mut answer = String::new();
            for call in &step.calls {
                let reply = sandbox.call(&form(call)).await?;
                let state = if reply.ok { "ok" } else { "refused" };
                let clean = redact(&reply.text).text.into_owned();
                let name = format!("{:?} {}", call.tool, call.path).to_lowercase();
                answer
                    .push_str(&format!("[{name}: {state}]\n{}\n", text::cut(&clean, ANSWER_BYTES)));
            }
            if !step.done {
                self.note(&said, answer);
                continue;
            }
            let found = staging.read_back().await;
            let found = found.map_err(|error| AgentError::Refused(error.to_string()))?;
            match check(&self.without_extras(found)) {
                Ok(files) => return Ok(files),
                Err(reason) if refusals == MISTAKES_MAX => return Err(AgentError::Refused(reason)),
                Err(reason) => {
                    refusals += 1;
                    let told = "Your files are refused, mend them or take that part back";
                    self.note(&said, format!("{answer}\n{told}: {reason}"));
                }
            }
        }
    }

    /// The model's next step, or why it is none, with its words.
    async fn step(&mut self) -> Result<(String, Result<AgentStep, String>), AgentError> {
        if self.taken >= self.turns_max {
            let words = format!("not done after {} requests", self.turns_max);
            return Err(AgentError::Spent("turns_spent", words));
        }
        if self.spent_tokens() >= self.tokens_max {
            let words = format!("not done after {} tokens", self.spent_tokens());
            return Err(AgentError::Spent("tokens_spent", words));
        }
        let input = self.input()?;
        let schema = Schema { name: "memory_step".to_owned(), schema: schema() };
        self.taken += 1;
        let answer = self.asking.ask(&self.task.system, &input, &schema).await;
        let Answered { answer, digest, .. } = answer.map_err(AgentError::Fault)?;
        let step = AgentStep::read(&answer.text);
        if step.is_err() {
            self.asking.models.forget(&digest).await;
        }
        Ok((redact(&answer.text).text.into_owned(), step))
    }

    /// The conversation so far, within the window.
    fn input(&mut self) -> Result<Vec<Box<RawValue>>, AgentError> {
        let head = self.task.system.len() + self.task.user.len();
        let size = |exchange: &Exchange| exchange.step.len() + exchange.answer.len() + 64;
        let mut bytes = head + self.exchanges.iter().map(size).sum::<usize>();
        for exchange in &mut self.exchanges {
            if bytes <= self.window_bytes {
                break;
            }
            bytes = bytes.saturating_sub(exchange.step.len() + exchange.answer.len());
            exchange.step = text::cut(&exchange.step, 200).into_owned();
            exchange.answer = LEFT_OUT.to_owned();
            bytes += exchange.step.len() + exchange.answer.len();
        }
        if bytes > self.window_bytes {
            let words = "the model's window is too small for this memory".to_owned();
            return Err(AgentError::Spent("window_spent", words));
        }
        let mut input = vec![item("user", &self.task.user)];
        for exchange in &self.exchanges {
            input.push(item("assistant", &exchange.step));
            input.push(item("user", &exchange.answer));
        }
        Ok(input)
    }

    fn note(&mut self, step: &str, answer: String) {
        self.exchanges.push_back(Exchange { step: step.to_owned(), answer });
    }

    fn without_extras(&self, mut found: Files) -> Files {
        found.retain(|path, _| !self.task.extras.contains(path));
        found
    }
}

fn failed(staging: &Staging, source: std::io::Error) -> AgentError {
    ServiceError::File { path: staging.path().display().to_string(), source }.into()
}

fn form(call: &ToolCall) -> Call {
    let ToolCall { tool, path, text, new_text, line, lines } = call.clone();
    match tool {
        ToolName::List => Call::List { path },
        ToolName::Read => Call::Read { path, line, lines },
        ToolName::Write => Call::Write { path, text },
        ToolName::Replace => Call::Replace { path, old: text, new: new_text },
        ToolName::Search => Call::Search { path, words: text },
        ToolName::Delete => Call::Delete { path },
    }
}
