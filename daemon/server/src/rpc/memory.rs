//! `memory/*`.

use std::sync::Arc;

use longhaul_core::memory::{Caller, Origin};
use longhaul_protocol::limit::MEMORY_READ_TOKENS_MAX;
use longhaul_protocol::memory::{
    self as wire, AddNote, AddNoteParams, AddNoteResult, Cite, CiteParams, CiteResult, Forget,
    ForgetParams, ForgetResult, ListNotes, ListNotesParams, ListNotesResult, MemoryList,
    MemoryListParams, MemoryListResult, Note, Read, ReadParams, ReadResult, ReviewNote,
    ReviewNoteParams, ReviewNoteResult, Run, RunParams, RunResult, Search, SearchParams,
    SearchResult, Status, Summary, SummaryParams, SummaryResult, Verdict,
};
use longhaul_store::{Exclusion, NoteRow};

use super::agent_params::work_folder;
use super::error::Failure;
use super::{Table, TableError, convert};
use crate::peer::{self, CallContext};
use crate::service::MemoryServices;
use crate::service::memory::{
    Citations, LinesQuery, MemoryNotes, MemoryReader, MemoryRuns, MemorySearch, RunRequest,
};

pub(super) fn register(table: &mut Table, memory: &MemoryServices) -> Result<(), TableError> {
    let mut reader = table.of(&memory.reader);
    reader.on_async::<Summary, _>(summary)?;
    reader.on_async::<Search, _>(search)?;
    reader.on_async::<MemoryList, _>(list)?;
    reader.on_async_with_context::<Read, _>(read)?;
    let mut notes = table.of(&memory.notes);
    notes.on_async_with_context::<AddNote, _>(add_note)?;
    notes.on_async::<ListNotes, _>(list_notes)?;
    notes.on_async_with_context::<ReviewNote, _>(review_note)?;
    notes.on_async::<Forget, _>(forget)?;
    table.of(&memory.citations).on_async::<Cite, _>(cite)?;
    table.of(&memory.runs).on_async::<Run, _>(run)?;
    table.of(&memory.overview).on_async::<Status, _>(|overview, params| async move {
        Ok(overview.status(params.thread_id).await?)
    })
}

async fn summary(
    reader: Arc<MemoryReader>,
    params: SummaryParams,
) -> Result<SummaryResult, Failure> {
    let cwd = folder(params.cwd)?;
    Ok(match params.brief {
        Some(true) => reader.start(cwd, params.max_tokens).await?,
        _ => reader.summary(cwd, params.max_tokens, params.framed.unwrap_or(true)).await?,
    })
}

async fn search(reader: Arc<MemoryReader>, params: SearchParams) -> Result<SearchResult, Failure> {
    let search = MemorySearch {
        query: params.query,
        cwd: folder(params.cwd)?,
        hits_max: convert::hits_max(params.limit),
        tokens_max: params.max_tokens,
    };
    let (hits, generation) = reader.search(search).await?;
    Ok(SearchResult { hits, generation })
}

async fn list(
    reader: Arc<MemoryReader>,
    params: MemoryListParams,
) -> Result<MemoryListResult, Failure> {
    let below = params.path.map(|path| format!("{}/", path.trim_end_matches('/')));
    let files = reader.files().await?;
    let files = files
        .into_iter()
        .filter(|file| below.as_ref().is_none_or(|below| file.path.starts_with(below)))
        .filter(|file| params.cursor.as_ref().is_none_or(|after| file.path > *after));
    let (files, next_cursor) = convert::page(files, params.limit, |file| file.path.clone());
    Ok(MemoryListResult { files, root: reader.root(), next_cursor })
}

async fn read(
    reader: Arc<MemoryReader>,
    context: CallContext,
    params: ReadParams,
) -> Result<ReadResult, Failure> {
    let max_tokens = params.max_tokens.unwrap_or(MEMORY_READ_TOKENS_MAX);
    let query = LinesQuery {
        path: params.path,
        cwd: match context.peer.caller {
            peer::Caller::Person => None,
            peer::Caller::Agent => Some(work_folder(&context)?.to_owned()),
        },
        line: params.line.unwrap_or(1),
        max_lines: params.max_lines.unwrap_or(u64::MAX).max(1),
        max_tokens: max_tokens.min(MEMORY_READ_TOKENS_MAX),
    };
    Ok(reader.read(query).await?)
}

/// Whose words the notes of a call are; every handler of notes asks here. `claimed` is what the request claims. A
/// connection on the agents' socket is always an agent's.
fn origin(context: &CallContext, claimed: Option<wire::Origin>) -> Origin {
    Origin::of_caller(match claimed {
        _ if context.peer.caller == peer::Caller::Agent => Caller::Agent,
        Some(wire::Origin::Person) => Caller::Person,
        Some(wire::Origin::Agent) => Caller::Agent,
        Some(wire::Origin::Tool | wire::Origin::Client) | None => Caller::Client,
    })
}

fn wire_origin(origin: Origin) -> wire::Origin {
    match origin {
        _ if origin.is_person() => wire::Origin::Person,
        Origin::AGENT => wire::Origin::Agent,
        Origin::TOOL => wire::Origin::Tool,
        _ => wire::Origin::Client,
    }
}

async fn add_note(
    notes: Arc<MemoryNotes>,
    context: CallContext,
    params: AddNoteParams,
) -> Result<AddNoteResult, Failure> {
    let origin = origin(&context, params.origin);
    let added = notes.add(&params.text, folder(params.cwd)?, origin).await?;
    Ok(AddNoteResult {
        note_id: added.note.note_id,
        project: added.note.project,
        text: added.note.text.into(),
        origin: wire_origin(added.note.origin),
        pending: !added.note.origin.is_person(),
        generation: added.generation,
    })
}

async fn list_notes(
    notes: Arc<MemoryNotes>,
    params: ListNotesParams,
) -> Result<ListNotesResult, Failure> {
    let found = notes.list(folder(params.cwd)?).await?.into_iter();
    let found = found.map(|row: NoteRow| Note {
        origin: wire_origin(row.origin),
        pending: !row.origin.is_person(),
        note_id: row.note_id,
        project: row.project,
        text: row.text.into(),
        at: row.at_ms,
    });
    let found = found
        .filter(|note| params.pending.is_none_or(|pending| note.pending == pending))
        .filter(|note| params.cursor.as_ref().is_none_or(|after| note.note_id > *after));
    let (notes, next_cursor) = convert::page(found, params.limit, |note| note.note_id.clone());
    Ok(ListNotesResult { notes, next_cursor })
}

async fn review_note(
    notes: Arc<MemoryNotes>,
    context: CallContext,
    params: ReviewNoteParams,
) -> Result<ReviewNoteResult, Failure> {
    let origin = origin(&context, Some(wire::Origin::Person));
    Ok(match params.verdict {
        Verdict::Confirm => {
            let confirmed = notes.confirm(&params.note_id, origin).await?;
            let note_id = Some(confirmed.note.note_id);
            ReviewNoteResult { note_id, generation: confirmed.generation }
        }
        Verdict::Discard => {
            let generation = notes.discard(&params.note_id, origin).await?;
            ReviewNoteResult { note_id: None, generation }
        }
    })
}

async fn cite(citations: Arc<Citations>, params: CiteParams) -> Result<CiteResult, Failure> {
    let CiteParams { answer, thread_ids, paths } = params;
    if answer.is_none() && thread_ids.is_none() && paths.is_none() {
        return Err(Failure::invalid(
            "answer",
            "give at least one of answer, thread_ids and paths",
        ));
    }
    let (threads, paths) = (thread_ids.unwrap_or_default(), paths.unwrap_or_default());
    Ok(citations.count(answer.as_deref(), threads, paths).await?)
}

async fn forget(notes: Arc<MemoryNotes>, params: ForgetParams) -> Result<ForgetResult, Failure> {
    let ForgetParams { thread_id, cwd, entry_id, note_id } = params;
    let named = [
        thread_id.map(Exclusion::Thread),
        folder(cwd)?.map(Exclusion::Project),
        entry_id.map(Exclusion::Entry),
        note_id.map(Exclusion::Note),
    ];
    let mut named = named.into_iter().flatten();
    let (Some(what), None) = (named.next(), named.next()) else {
        return Err(Failure::invalid(
            "thread_id",
            "give exactly one of thread_id, cwd, entry_id and note_id",
        ));
    };
    Ok(notes.forget(what).await?)
}

async fn run(runs: Arc<MemoryRuns>, params: RunParams) -> Result<RunResult, Failure> {
    let request = RunRequest {
        thread_id: params.thread_id,
        current: params.current_thread_id,
        takes_all: params.all.unwrap_or(false),
        waits: params.wait.unwrap_or(true),
        is_manual: true,
    };
    Ok(runs.run(request).await?)
}

/// A folder in the form of transcripts: absolute, without a slash at the end.
fn folder(path: Option<String>) -> Result<Option<String>, Failure> {
    match path {
        Some(path) if !path.starts_with('/') => Err(Failure::invalid("cwd", "an absolute path")),
        path => Ok(path.map(convert::folder)),
    }
}
