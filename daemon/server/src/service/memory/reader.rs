//! Reads memory: the summary for a thread, search, files. Writes nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use longhaul_core::memory::Files;
use longhaul_core::memory::consolidate::Handbook;
use longhaul_core::memory::extract::last_words;
use longhaul_core::memory::summary::{self, START_TOKENS, Scope};
use longhaul_core::memory::usage::UsageKind;
use longhaul_core::search::loose::loosened;
use longhaul_core::search::query::Query;
use longhaul_core::{text, tokens};
use longhaul_protocol::Block;
use longhaul_protocol::memory::{Hit, MemoryFile, ReadResult, SummaryResult};
use longhaul_store::{GenerationTable, Passage, PassageMatch, PassageScope};

use super::passages::{GENERAL_FILES, passages};
use super::project::project_of;
use super::publications::{Publication, Publications};
use crate::clock::Clock;
use crate::config::Live;
use crate::service::error::ServiceError;

/// Days after which the share of freshness has decayed by a factor of e.
const FRESH_DAYS: f64 = 90.0;

/// Share of freshness in a score: an old passage that matches well ranks above a new one that hardly matches.
const FRESH_SHARE: f64 = 0.3;

/// Maximum accounts of threads to read for the start of a session; not all contain last words.
const ACCOUNTS_READ: usize = 12;

/// Instructions for an agent on reading memory while it works.
const READ_PATH: &str = include_str!("../../../../../templates/memory/read_path.md");

#[derive(Debug, Clone)]
pub struct MemorySearch {
    pub query: String,
    /// Folder whose project to search.
    pub cwd: Option<String>,
    pub hits_max: usize,
    /// Maximum tokens of all texts together.
    pub tokens_max: Option<u64>,
}

/// Lines of a file of memory.
#[derive(Debug, Clone)]
pub struct LinesQuery {
    pub path: String,
    /// Folder of the reader: lines about other projects are blank.
    pub cwd: Option<String>,
    /// First line, from 1.
    pub line: u64,
    pub max_lines: u64,
    pub max_tokens: u64,
}

pub struct MemoryReader {
    pub(in crate::service) generations: GenerationTable,
    pub(in crate::service) publications: Arc<Publications>,
    pub(in crate::service) config: Live,
    pub(in crate::service) clock: Clock,
}

impl MemoryReader {
    /// The summary for a thread in `cwd`.
    pub async fn summary(
        &self,
        cwd: Option<String>,
        max_tokens: Option<u64>,
        is_framed: bool,
    ) -> Result<SummaryResult, ServiceError> {
        let published = self.publications.newest().await?;
        let own = cwd.as_deref().and_then(project_of);
        let scope = Scope { project: own.as_deref(), cwd: cwd.as_deref() };
        let most = *self.config.now().memory.summary_tokens;
        let max_tokens = max_tokens.unwrap_or(most).min(most);
        let make = if is_framed { summary::injection } else { summary::summary };
        let text = make(&published.handbook, &published.page, scope, max_tokens);
        let known = summary::project(&published.handbook, scope).map(|(key, _)| key.to_owned());
        let root = self.publications.folder().path().display().to_string();
        let instructions = || Block(READ_PATH.trim_end().replace("{memory_root}", &root));
        let instructions = (published.generation > 0).then(instructions);
        Ok(SummaryResult { instructions, ..summary_result(&published, text, known.or(own)) })
    }

    /// The summary for the start of a session in `cwd`, at most `max_tokens` tokens.
    pub async fn start(
        &self,
        cwd: Option<String>,
        max_tokens: Option<u64>,
    ) -> Result<SummaryResult, ServiceError> {
        let published = self.publications.newest().await?;
        let own = cwd.as_deref().and_then(project_of);
        let scope = Scope { project: own.as_deref(), cwd: cwd.as_deref() };
        let known = summary::project(&published.handbook, scope);
        let tasks = known.map(|(_, project)| project.tasks.iter().take(ACCOUNTS_READ));
        let accounts: Vec<(String, String)> = tasks
            .into_iter()
            .flatten()
            .map(|task| (task.thread_id.clone(), task.summary_path.clone()))
            .collect();
        let (folder, number) = (self.publications.folder().clone(), published.generation);
        let reading = move || {
            let read = |(thread, path): (String, String)| {
                // If a person deleted it, only the outcome is shown.
                let account = folder.read(number, &path).ok()?;
                Some((thread, last_words(&account)?.to_owned()))
            };
            accounts.into_iter().filter_map(read).collect::<BTreeMap<_, _>>()
        };
        let last_words = tokio::task::spawn_blocking(reading).await?;
        let max_tokens = max_tokens.unwrap_or(START_TOKENS).min(START_TOKENS);
        let text = summary::start(&published.handbook, scope, &last_words, max_tokens);
        let known = known.map(|(key, _)| key.to_owned());
        Ok(summary_result(&published, text, known.or(own)))
    }

    /// Finds passages, those with all words first, and the generation searched.
    pub async fn search(&self, search: MemorySearch) -> Result<(Vec<Hit>, u64), ServiceError> {
        let published = self.publications.newest().await?;
        let projects: Option<Vec<String>> =
            search.cwd.as_deref().map(|cwd| projects_of(&published.handbook, cwd));
        let scope = projects
            .as_deref()
            .map(|projects| PassageScope { projects, general_files: GENERAL_FILES });
        let all = Query::parse(&search.query)?;
        let mut found = self.generations.passages(&all.expression(), scope).await?;
        let any = loosened(&search.query);
        if found.len() < search.hits_max && !any.is_empty() {
            let known: HashSet<(String, u64)> =
                found.iter().map(|hit| place(&hit.passage)).collect();
            let more = self.generations.passages(&Query::union(&any).expression(), scope).await?;
            let more = more.into_iter().filter(|hit| !known.contains(&place(&hit.passage)));
            let lowest = found.iter().map(|hit| hit.relevance).fold(f64::INFINITY, f64::min);
            found.extend(
                more.map(|hit| PassageMatch { relevance: hit.relevance.min(lowest), ..hit }),
            );
        }
        let now_ms = self.clock.now_ms();
        let mut hits: Vec<Hit> = found.into_iter().map(|hit| scored(hit, now_ms)).collect();
        hits.sort_by(|a, b| {
            let newer = b.at.cmp(&a.at);
            b.score
                .total_cmp(&a.score)
                .then(newer)
                .then_with(|| (&a.path, a.line_start).cmp(&(&b.path, b.line_start)))
        });
        Ok((bounded(hits, &search), published.generation))
    }

    /// The path of the memory folder that people and agents use.
    pub fn root(&self) -> String {
        self.publications.folder().path().display().to_string()
    }

    /// The files in order of their paths, with the person's changes.
    pub async fn files(&self) -> Result<Vec<MemoryFile>, ServiceError> {
        let Some(newest) = self.generations.newest().await?.into_iter().next() else {
            return Ok(Vec::new());
        };
        let number = newest.generation;
        let found = self.publications.in_folder(move |folder| folder.found(number)).await?;
        let found: Files = found.unwrap_or_default();
        let entry = |(path, text): (String, String)| MemoryFile {
            bytes: text.len() as u64,
            lines: text.lines().count() as u64,
            edited: newest.files.get(&path) != Some(&text),
            path,
        };
        Ok(found.into_iter().map(entry).collect())
    }

    /// Lines of a file. Blank lines replace those about other projects, so that line numbers stay the same.
    pub async fn read(&self, query: LinesQuery) -> Result<ReadResult, ServiceError> {
        let published = self.publications.newest().await?;
        let (folder, number, name) =
            (self.publications.folder().clone(), published.generation, query.path.clone());
        let reading = tokio::task::spawn_blocking(move || folder.read(number, &name));
        let mut whole = reading.await?.map_err(|_| ServiceError::Invalid {
            field: "path",
            reason: "memory has no such file".to_owned(),
        })?;
        if let Some(cwd) = &query.cwd {
            let projects = projects_of(&published.handbook, cwd);
            let path = query.path.clone();
            whole = blank_other_projects(path, whole, &published.handbook, &projects);
        }
        Ok(cut_lines(&whole, &query))
    }
}

fn summary_result(published: &Publication, text: String, project: Option<String>) -> SummaryResult {
    SummaryResult {
        tokens: tokens::of_text(&text),
        text: text.into(),
        instructions: None,
        generation: published.generation,
        published_at: (published.generation > 0).then_some(published.at_ms),
        project,
    }
}

/// The names of the project of `cwd` in memory.
fn projects_of(handbook: &Handbook, cwd: &str) -> Vec<String> {
    let own = project_of(cwd);
    let scope = Scope { project: own.as_deref(), cwd: Some(cwd) };
    let known = summary::project(handbook, scope).map(|(key, _)| key.to_owned());
    known.into_iter().chain(own).collect()
}

/// Blanks every line that is in no passage about these projects or about all.
fn blank_other_projects(
    path: String,
    whole: String,
    handbook: &Handbook,
    projects: &[String],
) -> String {
    let count = whole.lines().count();
    let mut is_shown = vec![false; count];
    let files = Files::from([(path, whole)]);
    for passage in passages(&files, handbook, 0) {
        let is_own = passage.project.as_ref().is_none_or(|of| projects.contains(of));
        let (first, last) = (passage.line_start.saturating_sub(1), passage.line_end);
        let range = usize::try_from(first).ok().zip(usize::try_from(last).ok());
        if let Some(lines) = range.and_then(|(first, last)| is_shown.get_mut(first..last)) {
            lines.fill(is_own);
        }
    }
    let texts = files.values().flat_map(|text| text.lines());
    let shown = texts.zip(is_shown).map(|(line, shown)| if shown { line } else { "" });
    shown.flat_map(|line| [line, "\n"]).collect()
}

fn cut_lines(whole: &str, query: &LinesQuery) -> ReadResult {
    let (start, max_lines) = (query.line.max(1), query.max_lines);
    let bytes_max = tokens::bytes_of(query.max_tokens).max(1);
    let (mut out, mut end, mut next) = (String::new(), start - 1, None);
    let skipped = usize::try_from(start - 1).unwrap_or(usize::MAX);
    for (number, line) in (start..).zip(whole.lines().skip(skipped)) {
        let is_full = number - start >= max_lines || out.len() + line.len() + 1 > bytes_max;
        if is_full && number > start {
            next = Some(number);
            break;
        }
        out.push_str(text::prefix(line, bytes_max.saturating_sub(1)));
        out.push('\n');
        end = number;
    }
    let (path, text) = (query.path.clone(), out.into());
    ReadResult { path, line_start: start, line_end: end, text, next_line: next }
}

fn scored(hit: PassageMatch, now_ms: i64) -> Hit {
    #[expect(clippy::cast_precision_loss, reason = "days")]
    let age_days = now_ms.saturating_sub(hit.passage.at_ms).max(0) as f64 / 86_400_000.0;
    let fresh = (-age_days / FRESH_DAYS).exp();
    let score = hit.relevance.max(0.0) * (1.0 - FRESH_SHARE + FRESH_SHARE * fresh);
    let passage = hit.passage;
    Hit {
        source: kind_of(&passage.path).to_owned(),
        path: passage.path,
        line_start: passage.line_start,
        line_end: passage.line_end,
        thread_id: passage.thread_id,
        project: passage.project,
        at: passage.at_ms,
        score: (score * 1e4).round() / 1e4,
        text: passage.text.into(),
    }
}

/// The best hits within the bounds, without duplicate texts.
fn bounded(hits: Vec<Hit>, search: &MemorySearch) -> Vec<Hit> {
    let (mut seen, mut spent) = (HashSet::new(), 0);
    let mut kept = Vec::new();
    for hit in hits {
        if !seen.insert(hit.text.0.clone()) {
            continue;
        }
        spent += tokens::of_text(&hit.text);
        if kept.len() >= search.hits_max || search.tokens_max.is_some_and(|max| spent > max) {
            break;
        }
        kept.push(hit);
    }
    kept
}

fn place(passage: &Passage) -> (String, u64) {
    (passage.path.clone(), passage.line_start)
}

pub(super) fn kind_of(path: &str) -> &'static str {
    UsageKind::of(path).map_or("other", Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_other_projects_are_blank() {
        let whole = "# Memory\n# Everywhere\n- use tabs\n# Task Group: /w/own\n- run just\n\
                     # Task Group: /w/other\n- deploy by hand\n";
        let shown = |path: &str| {
            let (path, whole) = (path.to_owned(), whole.to_owned());
            blank_other_projects(path, whole, &Handbook::default(), &["/w/own".to_owned()])
        };
        let text = shown("MEMORY.md");
        assert!(text.contains("- use tabs") && text.contains("- run just"), "{text}");
        assert!(!text.contains("/w/other") && !text.contains("deploy"), "{text}");
        assert_eq!(text.lines().position(|line| line == "- run just"), Some(4));
        let summary = "a thread of nobody knows which project\n".to_owned();
        let path = "rollout_summaries/old.md".to_owned();
        assert_eq!(blank_other_projects(path, summary, &Handbook::default(), &[]), "\n");
    }

    #[test]
    fn fresh_hits_rank_higher_and_the_bounds_count_each_text_once() {
        const NOW_MS: i64 = 1_000 * 86_400_000;
        let hit = |text: &str, at_ms| {
            let passage = Passage {
                path: "MEMORY.md".to_owned(),
                line_start: 1,
                line_end: 1,
                project: None,
                thread_id: None,
                at_ms,
                text: text.to_owned(),
            };
            scored(PassageMatch { passage, relevance: 2.0 }, NOW_MS)
        };
        assert!((hit("a", NOW_MS).score - 2.0).abs() < 0.001, "fresh: all of its relevance");
        assert!((hit("a", 0).score - 1.4).abs() < 0.001, "old: 70 % of it");
        let text = "x".repeat(40);
        let other = "y".repeat(40);
        let kept = |hits_max, tokens_max| {
            let hits = [&text, &text, &other].map(|text| hit(text, NOW_MS));
            let (query, cwd) = (String::new(), None);
            let search = MemorySearch { query, cwd, hits_max, tokens_max };
            let kept = bounded(hits.into(), &search).into_iter();
            kept.map(|hit| hit.text.0).collect::<Vec<_>>()
        };
        let each = tokens::of_text(&text);
        assert_eq!(kept(9, None), [text.as_str(), other.as_str()]);
        assert_eq!(kept(1, None), [text.as_str()]);
        assert_eq!(kept(9, Some(2 * each)), [text.as_str(), other.as_str()], "exactly the limit");
        assert_eq!(kept(9, Some(2 * each - 1)), [text.as_str()]);
    }

    #[test]
    fn a_file_is_read_in_parts() {
        let whole = "one\ntwo\nthree\nfour\n";
        let cut_lines = |whole: &str, line, max_lines, max_tokens| {
            let query = LinesQuery { path: String::new(), cwd: None, line, max_lines, max_tokens };
            cut_lines(whole, &query)
        };
        let first = cut_lines(whole, 1, 2, 100);
        assert_eq!(
            (first.text.as_str(), first.line_end, first.next_line),
            ("one\ntwo\n", 2, Some(3))
        );
        let rest = cut_lines(whole, 3, 99, 100);
        assert_eq!((rest.text.as_str(), rest.line_end, rest.next_line), ("three\nfour\n", 4, None));
        let long = cut_lines(&"x".repeat(100), 1, 9, 5);
        assert_eq!((long.text.len(), long.next_line), (20, None));
        let past = cut_lines(whole, 9, 9, 9);
        assert_eq!((past.text.as_str(), past.line_end, past.next_line), ("", 8, None));
    }
}
