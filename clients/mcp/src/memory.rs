//! Memory: what the tools ask, and how the answers read.
//!
//! The methods are called by name, with JSON: a daemon without memory does not list them, and is not an
//! error but an answer.

use longhaul_protocol::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::link::Link;

/// Tokens of a search's answer.
const SEARCH_TOKENS: u64 = 2_500;
/// Tokens of the summary.
const SUMMARY_TOKENS: u64 = 5_000;

macro_rules! methods {
    ($($marker:ident = $name:literal;)*) => {$(
        struct $marker;

        impl Method for $marker {
            const NAME: &'static str = $name;
            type Params = Value;
            type Result = Value;
        }
    )*};
}

methods! {
    Summary = "memory/summary";
    Search = "memory/search";
    Read = "memory/read";
    AddNote = "memory/add_note";
}

/// Words to look for.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct SearchArgs {
    /// Words, names, paths or parts of an error message; a few are better than a sentence.
    query: String,
    /// Only what is remembered of this project: an absolute path. Absent: the current folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// Hits at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    k: Option<u32>,
}

/// A file of the memory.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct ReadArgs {
    /// A path as a search or the summary names it.
    path: String,
    /// First line, from 1; absent: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// Lines at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_lines: Option<u64>,
}

/// Something to remember.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct NoteArgs {
    /// One fact, preference or working command, in one or two sentences that a later session understands.
    text: String,
    /// The project it holds for: an absolute path. Absent: the current folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
}

pub(crate) async fn search(link: &Link, mut args: SearchArgs) -> Result<String, Fault> {
    require::<Search>(link).await?;
    args.cwd = args.cwd.or_else(here);
    let mut params = json!(args);
    params["max_tokens"] = SEARCH_TOKENS.into();
    let answer = link.call::<Search>(params).await?;
    let hits = answer["hits"].as_array().map_or(&[][..], Vec::as_slice);
    if hits.is_empty() {
        return Ok(
            "Nothing is remembered that fits. thread_search looks into the transcripts.".into()
        );
    }
    Ok(hits.iter().map(hit).collect::<Vec<_>>().join("\n\n"))
}

fn hit(hit: &Value) -> String {
    let text = |name: &str| hit[name].as_str().unwrap_or_default();
    let thread = hit["thread_id"].as_str().map_or_else(String::new, |id| format!(", thread {id}"));
    let (first, last) = (hit["line_start"].as_u64(), hit["line_end"].as_u64());
    let lines = match (first, last) {
        (Some(first), Some(last)) => format!(":{first}-{last}"),
        _ => String::new(),
    };
    format!("{}{lines}{thread}\n{}", text("path"), text("text").trim_end())
}

pub(crate) async fn read(link: &Link, args: ReadArgs) -> Result<String, Fault> {
    require::<Read>(link).await?;
    Ok(text(&link.call::<Read>(json!(args)).await?))
}

pub(crate) async fn note(link: &Link, mut args: NoteArgs) -> Result<String, Fault> {
    require::<AddNote>(link).await?;
    args.cwd = args.cwd.or_else(here);
    let answer = link.call_once::<AddNote>(json!(args)).await?;
    let project = answer["project"].as_str();
    let scope = project.map_or_else(String::new, |project| format!(" for {project}"));
    let text = answer["text"].as_str().unwrap_or_default();
    Ok(format!("Noted{scope}: {text}"))
}

/// The summary that is made for being read at the start of a session.
pub(crate) async fn summary(link: &Link) -> Result<String, Fault> {
    require::<Summary>(link).await?;
    let mut params = json!({ "max_tokens": SUMMARY_TOKENS });
    if let Some(cwd) = here() {
        params["cwd"] = cwd.into();
    }
    let said = text(&link.call::<Summary>(params).await?);
    let is_blank = said.trim().is_empty();
    Ok(if is_blank { "Nothing is remembered of this project yet.".to_owned() } else { said })
}

/// The text of an answer; one without such a member as it is.
fn text(answer: &Value) -> String {
    match answer["text"].as_str() {
        Some(text) => text.to_owned(),
        None => answer.to_string(),
    }
}

/// Says so where the running daemon has no memory.
async fn require<M: Method>(link: &Link) -> Result<(), Fault> {
    if link.has(M::NAME).await? {
        return Ok(());
    }
    let message = format!("the running daemon has no {}", M::NAME);
    Err(Fault::new(
        "capability_missing",
        message,
        "use thread_search: it finds what was said and done in the transcripts",
    ))
}

/// The folder the agent works in: it starts its servers there.
pub(crate) fn here() -> Option<String> {
    std::env::current_dir().ok().and_then(|path| path.into_os_string().into_string().ok())
}
