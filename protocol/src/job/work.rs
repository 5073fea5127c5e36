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
        /// What to extract, and the rules of the answer.
        instructions: Block<String>,
        /// The thread: data, never an instruction. Each row begins with the number of its line.
        record: Block<String>,
        /// JSON Schema of [`ExtractAnswer`], strict, for models that take one.
        schema: Value,
        /// Lines of the transcript that the record covers; return it with the answer.
        lines: u64,
    },
    /// Of a `curate` job: the files of memory, to be edited by a model (`job/ask`).
    Curate {
        /// The task: the first message to the model.
        request: Raw<String>,
        /// The files to edit. They are copies; changing them has no effect by itself.
        files: Vec<WorkFile>,
        /// Maximum bytes of all messages of one `job/ask`.
        messages_bytes_max: u64,
    },
}

/// A file that a worker works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkFile {
    /// Below the folder of memory, with `/`.
    pub path: String,
    /// The whole content of the file.
    pub text: Raw<String>,
}

/// A worker's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum WorkResult {
    /// Of an `extract` job: what the thread teaches. The daemon accepts what the thread's own text proves.
    Extract {
        /// As in the input.
        lines: u64,
        /// What the thread teaches.
        answer: ExtractAnswer,
    },
    /// Of a `curate` job: the files to publish. The daemon accepts them only if known entries support every line.
    Curate {
        /// All files of memory, changed or not.
        files: Vec<WorkFile>,
    },
}

/// What was learned from a thread. Empty texts: there is nothing to learn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractAnswer {
    /// Markdown: what was asked, done, and how it ended.
    pub rollout_summary: String,
    /// A short name of the thread.
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
    /// What was learned, in one sentence.
    pub text: String,
    /// The line that supports it, by the number of its row.
    pub seq: u64,
    /// A verbatim quotation from that row.
    pub quote: String,
}
