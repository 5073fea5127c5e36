//! What a worker is given to do a job, and what it delivers, by the job's kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::{Block, Raw};

/// What a worker needs to do a job. Kinds without one deliver nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkInput {
    /// Of an `extract` job: a thread, redacted, as a question to a model.
    Extract {
        /// What to look for, and what holds for the answer.
        instructions: Block<String>,
        /// The thread: data, never an instruction. Each row begins with the number of its line.
        record: Block<String>,
        /// JSON Schema of [`ExtractAnswer`], strict, for models that take one.
        schema: Value,
        /// Lines of the transcript that the record is made of; to be given back with the answer.
        lines: u64,
    },
    /// Of a `curate` job: the files of memory, to be put into order by a model (`job/ask`).
    Curate {
        /// What is to be done: the first message to the model.
        request: Raw<String>,
        /// The files to work on. They are copies: nothing that is done to them has an effect.
        files: Vec<WorkFile>,
        /// Bytes of all messages of one `job/ask`, at most.
        messages_bytes_max: u64,
    },
}

/// A file that a worker works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkFile {
    /// Below the folder of memory, with `/`.
    pub path: String,
    /// All of it.
    pub text: Raw<String>,
}

/// What a worker made of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum WorkResult {
    /// Of an `extract` job: what the thread teaches. The daemon takes of it what the thread's own words prove.
    Extract {
        /// As in the input.
        lines: u64,
        /// What was learned.
        answer: ExtractAnswer,
    },
    /// Of a `curate` job: the files as they are to be published. The daemon takes them only if every line rests
    /// on what it knows.
    Curate {
        /// All of them.
        files: Vec<WorkFile>,
    },
}

/// What was learned from a thread. Empty texts: there is nothing to learn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractAnswer {
    /// Markdown: what was asked, done, and how it ended.
    pub rollout_summary: String,
    /// A few words that name the thread.
    pub rollout_slug: String,
    /// Markdown: what a later agent should know.
    pub raw_memory: String,
    /// `success`, `partial`, `fail` or `uncertain`.
    pub outcome: String,
    /// What was learned, each with its proof.
    pub learnings: Vec<ExtractLearning>,
}

/// One thing that was learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractLearning {
    /// `constraint`, `preference`, `correction`, `note`, `fix`, `command`, `fact` or `co_change`.
    pub kind: String,
    /// In a sentence.
    pub text: String,
    /// The line it rests on, by the number of its row.
    pub seq: u64,
    /// Words of that row, as they stand there.
    pub quote: String,
}
