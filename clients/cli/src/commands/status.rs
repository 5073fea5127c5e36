//! `longhaul status`.

use clap::Args;
use longhaul_protocol::daemon::{
    CompactionsStatus, IngestState, IngestStatus, ModelStatus, NoParams, SourceStatus, Status,
    StatusResult,
};
use longhaul_protocol::thread::{IndexState, IndexStatus, ThreadSummary};
use serde::Serialize;

use crate::commands::rescue;
use crate::failure::Failure;
use crate::holder;
use crate::session::{Page, Session};
use crate::style::{Style, bytes, count, counted, duration, odd_lines, tokens};

/// Show the daemon's state and what it is doing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul status
  longhaul status --json | jq .ingest.state")]
pub(crate) struct StatusArgs {}

pub(crate) async fn run(_: StatusArgs, session: &Session) -> Result<(), Failure> {
    let client = holder::connect(session).await?;
    let status = client.call::<Status>(NoParams {}).await;
    let status = status.map_err(|error| holder::unreached(error, session))?;
    // An older daemon does not report them.
    let blocked = rescue::blocked(&client).await.unwrap_or_default();
    session.print(&StatusPage { status, blocked })
}

#[derive(Serialize)]
struct StatusPage {
    #[serde(flatten)]
    status: StatusResult,
    /// Threads that cannot continue by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<ThreadSummary>,
}

impl Page for StatusPage {
    fn text(&self, style: &Style) -> String {
        let blocked = rescue::describe(&self.blocked);
        let blocked = blocked.map(|words| style.warn(&format!("\n{words}; run longhaul rescue\n")));
        self.status.text(style) + &blocked.unwrap_or_default()
    }
}

impl Page for StatusResult {
    fn text(&self, style: &Style) -> String {
        let heading = format!(
            "longhauld {} is running, process {}, up {}\n",
            self.version,
            self.pid,
            duration(self.uptime_ms)
        );
        let mut fields = vec![
            ("socket", style.path(&self.socket)),
            (
                "database",
                format!("{} (schema {})", style.path(&self.store.path), self.store.schema_version),
            ),
            ("reading", reading(&self.ingest, style)),
            ("lines", lines(&self.ingest)),
            ("search", search(&self.search)),
            ("served", served(self)),
            ("model", model(self)),
        ];
        fields.extend(compacted(&self.compactions, style));
        if let Some(model) = &self.model {
            fields.push(("asked", asked(model)));
            fields.extend(job_bounds(model).map(|bounds| ("a job", bounds)));
        }
        let fields = style.fields(&fields);
        let heading = style.bold(&style.wrap(&heading, 2));
        [heading, fields, sources(&self.sources, style), remarks(self, style)].concat()
    }
}

fn reading(ingest: &IngestStatus, style: &Style) -> String {
    let scanned = ingest.last_scan_at.map(|at| format!(", last scan {}", style.ago(at)));
    let state = match ingest.state {
        IngestState::Idle => "up to date".to_owned(),
        IngestState::CatchingUp if ingest.bytes_total == 0 => "looking for transcripts".to_owned(),
        IngestState::CatchingUp => format!(
            "{} of {} read, {} waiting",
            bytes(ingest.bytes_done),
            bytes(ingest.bytes_total),
            counted(ingest.queued_files, "file")
        ),
    };
    state + &scanned.unwrap_or_default()
}

fn lines(ingest: &IngestStatus) -> String {
    count(ingest.lines) + &odd_lines(ingest.malformed, ingest.oversized, ingest.unknown)
}

fn model(status: &StatusResult) -> String {
    let Some(model) = &status.model else { return "none: nothing leaves this machine".to_owned() };
    let own = model.tasks.iter().map(|own| {
        let effort = own.effort.as_ref().map(|effort| format!(" ({effort})"));
        format!("; {} by {} of {}{}", own.task, own.name, own.provider, effort.unwrap_or_default())
    });
    format!("{} of {}{}", model.name, model.provider, own.collect::<String>())
}

fn asked(model: &ModelStatus) -> String {
    let of = |bound: Option<u64>| bound.map(|bound| format!(" of {}", tokens(bound)));
    format!(
        "{}{} requests, {}{} tokens today",
        tokens(model.requests_today),
        of(model.requests_per_day).unwrap_or_default(),
        tokens(model.tokens_today),
        of(model.tokens_per_day).unwrap_or_default()
    )
}

/// The cost of our compactions and of the agents' own; nothing if we made none.
fn compacted(taken: &CompactionsStatus, style: &Style) -> Vec<(&'static str, String)> {
    let Some(each_ms) = taken.duration_ms.checked_div(taken.compactions) else { return Vec::new() };
    let requests = match taken.requests {
        0 => "no request".to_owned(),
        requests => format!("{}, {} tokens", counted(requests, "request"), tokens(taken.tokens)),
    };
    let since = taken.since.map(|at| format!(", the first {}", style.ago(at))).unwrap_or_default();
    let own = [
        taken.agent_tokens.map(|own| format!("{} tokens", tokens(own))),
        taken.agent_duration_ms.map(duration),
    ];
    let own: Vec<String> = own.into_iter().flatten().collect();
    let own = match own.is_empty() {
        true => "what agents' own took is not recorded".to_owned(),
        false => {
            let median = taken.agent_compactions;
            format!("agents' own took {} each (median of {median})", own.join(", "))
        }
    };
    let each = duration(each_ms);
    let sent = tokens(taken.history_tokens);
    vec![
        ("compacted", format!("{}{since}: {requests}, {each} each", count(taken.compactions))),
        ("", format!("their histories had about {sent} tokens")),
        ("", own),
    ]
}

/// A job's budget; `None` if it has none.
fn job_bounds(model: &ModelStatus) -> Option<String> {
    let bounds = [
        model.requests_per_job.map(|bound| counted(bound, "request")),
        model.tokens_per_job.map(|bound| format!("{} tokens", tokens(bound))),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    (!bounds.is_empty()).then(|| format!("at most {}", bounds.join(", ")))
}

fn search(index: &IndexStatus) -> String {
    let state = match index.state {
        IndexState::Idle | IndexState::Other => String::new(),
        IndexState::Indexing => format!(", {} left", counted(index.files_behind, "file")),
        IndexState::Stalled => ", cannot be written".to_owned(),
    };
    format!("{} indexed{state}, {}", counted(index.items, "item"), bytes(index.bytes))
}

fn served(status: &StatusResult) -> String {
    let panics = match status.panics {
        0 => String::new(),
        panics => format!(", {} crashed", count(panics)),
    };
    let requests = counted(status.requests, "request");
    format!("{requests}, {} open{panics}", counted(status.connections, "connection"))
}

fn sources(sources: &[SourceStatus], style: &Style) -> String {
    let row = |source: &SourceStatus| {
        let folder = style.path(&source.root);
        let folder = if source.exists { folder } else { format!("{folder} (not there)") };
        vec![
            source.source.clone(),
            folder,
            count(source.files),
            count(source.threads),
            bytes(source.bytes),
        ]
    };
    let rows: Vec<_> = sources.iter().map(row).collect();
    match rows.is_empty() {
        true => "\nNo folder of transcripts is configured.\n".to_owned(),
        false => {
            let headings = ["source", "folder", ">files", ">threads", ">size"];
            format!("\n{}", style.table(&headings, rows))
        }
    }
}

fn remarks(status: &StatusResult, style: &Style) -> String {
    let warnings = status.warnings.iter().map(|warning| {
        let hint = warning.hint.iter().map(|hint| format!(" ({hint})")).collect::<String>();
        style.wrap(&format!("{} {}{hint}\n", style.warn("warning:"), warning.message), 9)
    });
    let errors = status.ingest.errors.iter().map(|error| {
        let (path, ago) = (style.path(&error.path), style.ago(error.at));
        format!("{} {path}: {}, {ago}\n", style.warn("not read:"), error.message)
    });
    let remarks: String = warnings.chain(errors).collect();
    if remarks.is_empty() { remarks } else { format!("\n{remarks}") }
}
