//! Selects the thread or job of a command. The daemon completes id prefixes.

use std::io;
use std::path::Path;

use clap::Args;
use directories::BaseDirs;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::limit::PAGE_ROWS_MAX;
use longhaul_protocol::thread::{
    Sync, SyncParams, ThreadGet, ThreadGetParams, ThreadList, ThreadListParams, ThreadSummary,
};
use longhaul_protocol::{ErrorKind, job};

use crate::failure::{CONFIG, Failure, REFUSED, USAGE};
use crate::session::Session;
use crate::style::crop;

/// Maximum jobs listed for an ambiguous prefix.
const CANDIDATES_SHOWN: usize = 5;

/// Threads to inspect for the newest that someone worked in.
const NEWEST_INSPECTED: u32 = 100;

/// The named thread, else the newest of the current folder or project, else the newest of all. Skips continuations that
/// were not resumed yet, which are newest but have no content.
pub(crate) async fn thread(
    client: &Client,
    named: Option<&str>,
    session: &Session,
) -> Result<ThreadSummary, Failure> {
    if let Some(named) = named {
        return by_name(client, named).await;
    }
    if let Some(thread) = newest_here(client).await? {
        return Ok(thread);
    }
    let thread = newest_in(client, None).await?.ok_or_else(|| {
        Failure::new(REFUSED, "no thread has been read yet")
            .with_hint("longhaul doctor shows where the daemon looks")
    })?;
    let folder = thread.cwd.as_deref().map(|cwd| format!(" in {}", session.style.path(cwd)));
    let (folder, title) = (folder.unwrap_or_default(), thread.title.as_deref().unwrap_or("-"));
    session.note(&crop(
        &format!("note: no thread here; the newest of all{folder}: {}", title.replace('\n', " ")),
        session.style.width.into(),
    ));
    Ok(thread)
}

/// As [`thread`], for a command that changes it: a thread of another folder must be named, and `example` shows how.
pub(crate) async fn thread_to_change(
    client: &Client,
    named: Option<&str>,
    example: &str,
) -> Result<ThreadSummary, Failure> {
    if let Some(named) = named {
        return by_name(client, named).await;
    }
    newest_here(client).await?.ok_or_else(|| {
        let hint = format!("longhaul thread list shows the ids, then: {example}");
        Failure::new(REFUSED, "no thread of this folder or its project").with_hint(hint)
    })
}

async fn by_name(client: &Client, named: &str) -> Result<ThreadSummary, Failure> {
    Ok(client.call::<ThreadGet>(ThreadGetParams { thread_id: named.to_owned() }).await?.thread)
}

/// As [`thread`], after syncing its transcript.
pub(crate) async fn synced_thread(
    client: &Client,
    named: Option<&str>,
    session: &Session,
) -> Result<ThreadSummary, Failure> {
    let thread = thread(client, named, session).await?;
    catch_up(client, &thread, session).await;
    Ok(thread)
}

/// The full id of a thread, for a method that takes no prefix. A full id is not looked up: a thread that was just opened is
/// not listed yet.
pub(crate) async fn full_id(client: &Client, named: String) -> Result<String, Failure> {
    /// A UUID.
    const ID_CHARS: usize = 36;
    match named.len() >= ID_CHARS {
        true => Ok(named),
        false => Ok(by_name(client, &named).await?.thread_id),
    }
}

/// The full id of a thread that a filter names, if any.
pub(crate) async fn thread_id(
    client: &Client,
    named: Option<&str>,
) -> Result<Option<String>, Failure> {
    match named {
        Some(named) => Ok(Some(by_name(client, named).await?.thread_id)),
        None => Ok(None),
    }
}

/// An agent may have removed its worktree under a person's shell.
fn no_folder(error: &io::Error) -> Failure {
    Failure::new(CONFIG, format!("the current folder cannot be found: {error}"))
        .with_hint("cd to a folder that exists")
}

/// The folder as transcripts name it: absolute, without `.`, and without links if it exists.
pub(crate) fn folder(named: &str) -> Result<String, Failure> {
    let path = std::path::absolute(named).map_err(|error| no_folder(&error))?;
    let path = path.canonicalize().unwrap_or(path);
    Ok(path.to_string_lossy().into_owned())
}

/// Parses an item's number, also with the `#` of a view.
pub(crate) fn seq(text: &str) -> Result<u64, std::num::ParseIntError> {
    text.trim_start_matches('#').parse()
}

/// Parses a bound of which 0 leaves nothing. Clap's own error about it would name the largest number of a `u64`.
pub(crate) fn one_or_more(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("must be 1 or more".to_owned()),
        parsed => parsed.map_err(|error: std::num::ParseIntError| error.to_string()),
    }
}

/// Syncs the thread's transcript; a stale answer is better than none.
pub(crate) async fn catch_up(client: &Client, thread: &ThreadSummary, session: &Session) {
    let params = SyncParams { thread_id: Some(thread.thread_id.clone()), ..Default::default() };
    if let Err(error) = client.call::<Sync>(params).await {
        session.note(&format!("note: the transcript was not read to its end: {error}"));
    }
}

/// Completes a job name; a kind alone is enough if it has one job. Returns an unknown name unchanged, since some jobs
/// are created on request.
pub(crate) async fn job(client: &Client, named: &str) -> Result<String, Failure> {
    let (kind, subject) = named.split_once('/').unwrap_or((named, ""));
    let whole = format!("{kind}/{subject}");
    let params =
        job::JobListParams { kind: Some(kind.to_owned()), state: None, limit: Some(PAGE_ROWS_MAX) };
    let jobs = match client.call::<job::JobList>(params).await {
        Ok(found) => found.jobs,
        // The name does not begin with a kind.
        Err(ClientError::Refused(error)) if error.kind() == ErrorKind::InvalidParams => {
            let kinds = error.message.rsplit_once("one of ").map_or("", |(_, kinds)| kinds);
            return Err(Failure::new(USAGE, format!("{named:?} is not a job"))
                .with_hint(format!("a name is KIND or KIND/SUBJECT; the kinds are {kinds}")));
        }
        Err(error) => return Err(error.into()),
    };
    let mut found: Vec<String> = jobs.into_iter().map(|job| job.job).collect();
    found.retain(|name| name.starts_with(&whole));
    if found.is_empty() && kind == "extract" && !subject.is_empty() {
        // The daemon can explain why this thread has no job.
        return Ok(format!("{kind}/{}", by_name(client, subject).await?.thread_id));
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        several if several.is_empty() || several.contains(&whole) => Ok(whole),
        several => Err(ambiguous(several, named)),
    }
}

/// Which threads a command is about.
#[derive(Debug, Args)]
pub(crate) struct ThreadFilter {
    /// Only threads in this folder, or in the nearest above it that has some, within the project
    #[arg(long, conflicts_with = "cwd")]
    here: bool,
    /// Only threads in DIR
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Only threads of this program: codex, claude, gemini, opencode, longhaul
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
}

impl ThreadFilter {
    /// The folder of the threads, if one was asked for.
    pub(crate) async fn folder(&self, client: &Client) -> Result<Option<String>, Failure> {
        match self.here {
            true => Ok(Some(here(client).await?)),
            false => self.cwd.as_deref().map(folder).transpose(),
        }
    }
}

/// The newest thread of the current folder, else of the nearest folder above it that has one, within the project.
async fn newest_here(client: &Client) -> Result<Option<ThreadSummary>, Failure> {
    for folder in folders_here()? {
        if let Some(thread) = newest_in(client, Some(folder)).await? {
            return Ok(Some(thread));
        }
    }
    Ok(None)
}

async fn newest_in(client: &Client, cwd: Option<String>) -> Result<Option<ThreadSummary>, Failure> {
    let params = ThreadListParams { cwd, limit: Some(NEWEST_INSPECTED), ..Default::default() };
    let mut threads = client.call::<ThreadList>(params).await?.threads.into_iter();
    Ok(threads.find(|thread| !thread.unresumed))
}

/// The folder whose threads `--here` means: the current one, or the nearest above it with threads, within the project.
async fn here(client: &Client) -> Result<String, Failure> {
    let folders = folders_here()?;
    for folder in &folders {
        let cwd = Some(folder.clone());
        let params = ThreadListParams { cwd, limit: Some(1), ..Default::default() };
        if !client.call::<ThreadList>(params).await?.threads.is_empty() {
            return Ok(folder.clone());
        }
    }
    Ok(folders.into_iter().next().unwrap_or_default())
}

/// The current folder and those above it that can be its project.
fn folders_here() -> Result<Vec<String>, Failure> {
    let here = std::env::current_dir().map_err(|error| no_folder(&error))?;
    let home = BaseDirs::new().map(|folders| folders.home_dir().to_owned());
    let folders = within_project(&here, home.as_deref());
    Ok(folders.map(|folder| folder.to_string_lossy().into_owned()).collect())
}

/// `here` and the folders above it, up to the root of the repository. The home folder and those above it hold the
/// projects of everyone.
fn within_project<'a>(
    here: &'a Path,
    home: Option<&'a Path>,
) -> impl Iterator<Item = &'a Path> + use<'a> {
    let holds_everything = move |folder: &Path| {
        folder.parent().is_none() || home.is_some_and(|home| home.starts_with(folder))
    };
    let root = here.ancestors().position(|folder| folder.join(".git").exists());
    let folders = here.ancestors().take(root.map_or(usize::MAX, |root| root + 1));
    folders.enumerate().take_while(move |(up, it)| *up == 0 || !holds_everything(it)).map(|it| it.1)
}

/// Several jobs have the prefix `named`.
fn ambiguous(found: &[String], named: &str) -> Failure {
    let shown = found[..found.len().min(CANDIDATES_SHOWN)].join(", ");
    let more = if found.len() > CANDIDATES_SHOWN { " …" } else { "" };
    Failure::new(USAGE, format!("{} jobs match {named:?}", found.len()))
        .with_hint(format!("use a longer prefix: {shown}{more}"))
}

/// Length of prefixes that distinguish these ids, with spare characters for others.
pub(crate) fn short_len<'a>(ids: impl IntoIterator<Item = &'a str>) -> usize {
    /// A UUIDv7 begins with its time; 13 characters include the milliseconds.
    const CHARS_MIN: usize = 13;
    let mut sorted = Vec::from_iter(ids);
    sorted.sort_unstable();
    let shared = |pair: &[&str]| {
        pair[0].chars().zip(pair[1].chars()).take_while(|(one, other)| one == other).count()
    };
    let longest = sorted.windows(2).map(shared).max().map_or(0, |shared| shared + 1);
    let prefix = sorted.first().and_then(|id| id.find('_')).map_or(0, |at| at + 1);
    longest.max(prefix + CHARS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_looked_up_to_its_repository_and_below_the_home_folder() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        std::fs::create_dir_all(home.join("app/.git")).unwrap();
        let folders = |here: &str| -> Vec<String> {
            let here = home.join(here);
            let names = within_project(&here, Some(home)).map(|it| it.strip_prefix(home).unwrap());
            names.map(|it| it.display().to_string()).collect()
        };
        assert_eq!(folders("app/src/deep"), ["app/src/deep", "app/src", "app"]);
        assert_eq!(folders("notes/2026"), ["notes/2026", "notes"], "no repository");
        assert_eq!(folders(""), [""], "the home folder itself may be worked in");
        let elsewhere: Vec<_> = within_project(Path::new("/srv/app"), Some(home)).collect();
        assert_eq!(elsewhere, [Path::new("/srv/app"), Path::new("/srv")]);
    }

    #[test]
    fn short_ids_stay_distinct() {
        assert_eq!(short_len(["01980000-0000-7000", "01990000-0000-7000"]), 13);
        assert_eq!(short_len(["01980000-0000-7001", "01980000-0000-7000"]), 18);
        assert_eq!(short_len(["cmp_01980000-0000-7000"]), 17);
        assert_eq!(short_len([]), 13);
    }
}
