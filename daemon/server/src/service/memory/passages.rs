//! Splits published files into passages for the search.
//!
//! A passage is a heading with the text below it, or a few lines: short enough to cite, long enough to understand.
//! `raw_memories.md` repeats the other files, so it is left out to avoid duplicate hits. So is `memory_summary.md`,
//! except for lines that an agent wrote there.

use std::collections::HashMap;

use longhaul_core::memory::Files;
use longhaul_core::memory::agent::group;
use longhaul_core::memory::consolidate::{Handbook, Project};
use longhaul_core::memory::place;
use longhaul_core::memory::summary::{WrittenLine, written_lines};
use longhaul_store::Passage;

/// A passage ends at the first line end after this many bytes.
const PASSAGE_BYTES: usize = 600;

/// Files whose passages without a project apply everywhere. In any other file, such a passage may be about any project.
pub(super) const GENERAL_FILES: &[&str] = &["MEMORY.md", "memory_summary.md"];

/// The subject of a passage.
#[derive(Debug, Clone, Default)]
struct About {
    project: Option<String>,
    thread_id: Option<String>,
    at_ms: i64,
}

/// The passages of all files, in the order of their paths.
pub(super) fn passages(files: &Files, handbook: &Handbook, at_ms: i64) -> Vec<Passage> {
    let summaries = summaries(handbook);
    let mut out = Vec::new();
    for (path, text) in files {
        match path.as_str() {
            "raw_memories.md" => continue,
            "memory_summary.md" => {
                out.extend(written_lines(text).map(|line| summary_passage(path, line, at_ms)));
                continue;
            }
            _ => {}
        }
        let mut about = match summaries.get(path.as_str()) {
            Some(about) => about.clone(),
            None => About { project: project_of_file(handbook, path), thread_id: None, at_ms },
        };
        let mut open: Option<Passage> = None;
        for (number, line) in (1_u64..).zip(text.lines()) {
            if let Some(key) = group(line) {
                let known = handbook.projects.get(key);
                let newest = known.and_then(|project| project.tasks.first());
                let at_ms = newest.map_or(at_ms, |task| task.updated_at_ms);
                about = About { project: Some(key.to_owned()), thread_id: None, at_ms };
            } else if path == "MEMORY.md" && line.starts_with("# ") {
                about = About { at_ms, ..About::default() };
            }
            // A task's heading, the path of its summary and its keywords stay together.
            let is_entry = path == "MEMORY.md"
                && line.starts_with("- ")
                && !line.starts_with("- rollout_summaries/");
            let is_heading = line.starts_with('#') && !line.starts_with("###");
            let is_full = open.as_ref().is_some_and(|open| open.text.len() >= PASSAGE_BYTES);
            if is_heading || is_entry || is_full {
                out.extend(open.take());
            }
            if line.trim().is_empty() {
                continue;
            }
            let passage = open.get_or_insert_with(|| new_passage(path, number, &about));
            passage.line_end = number;
            passage.text.push_str(line);
            passage.text.push('\n');
        }
        out.extend(open);
    }
    // A heading alone adds nothing: the passage below it contains the same words.
    out.retain(|passage| passage.text.lines().any(|line| !line.starts_with('#')));
    out
}

fn summary_passage(path: &str, line: WrittenLine<'_>, at_ms: i64) -> Passage {
    let project = line.project.map(str::to_owned);
    let mut passage = new_passage(path, line.number, &About { project, thread_id: None, at_ms });
    passage.text = format!("{}\n", line.words);
    passage
}

fn new_passage(path: &str, line: u64, about: &About) -> Passage {
    Passage {
        path: path.to_owned(),
        line_start: line,
        line_end: line,
        project: about.project.clone(),
        thread_id: about.thread_id.clone(),
        at_ms: about.at_ms,
        text: String::new(),
    }
}

fn summaries(handbook: &Handbook) -> HashMap<&str, About> {
    let mut found = HashMap::new();
    for (key, project) in &handbook.projects {
        for task in project.threads() {
            let about = About {
                project: Some(key.clone()),
                thread_id: Some(task.thread_id.clone()),
                at_ms: task.updated_at_ms,
            };
            found.insert(task.summary_path.as_str(), about);
        }
    }
    found
}

/// The project of all passages of a file. A file that nobody can attribute is no project's, rather than everyone's.
fn project_of_file(handbook: &Handbook, path: &str) -> Option<String> {
    let unknown = || (!GENERAL_FILES.contains(&path)).then(|| place::NOWHERE.to_owned());
    skill_project(handbook, path).or_else(unknown)
}

fn skill_project(handbook: &Handbook, path: &str) -> Option<String> {
    let name = path.strip_prefix("skills/")?.split('/').next()?;
    let has = |project: &Project| project.skills.iter().any(|skill| skill.name == name);
    handbook.projects.iter().find(|(_, project)| has(project)).map(|(key, _)| key.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_written_by_an_agent_in_the_summary_are_passages() {
        let page = "# Memory summary\n\n## General tips\n\n- `MEMORY.md` has it all.\n- mind the port [id a1]\n\
                    \n### /w/app\n\n- cargo test\n- server on 8080 [id b2, c3]\n";
        let files = Files::from([("memory_summary.md".to_owned(), page.to_owned())]);
        let found = passages(&files, &Handbook::default(), 7);
        let shown: Vec<_> =
            found.iter().map(|p| (p.line_start, p.project.as_deref(), p.text.trim())).collect();
        assert_eq!(shown, [(6, None, "mind the port"), (11, Some("/w/app"), "server on 8080")]);
    }

    #[test]
    fn passages_carry_their_project_and_their_lines() {
        let text = "# Memory\n\nintro\n\n# Everywhere\n\n- use tabs\n\n# Task Group: /w/app\n\nscope: x\n\
                    - run `just check`\n- second\n";
        let files = Files::from([("MEMORY.md".to_owned(), text.to_owned())]);
        let found = passages(&files, &Handbook::default(), 7);
        let shown: Vec<_> = found
            .iter()
            .map(|p| (p.line_start, p.line_end, p.project.as_deref(), p.text.trim()))
            .collect();
        assert_eq!(
            shown,
            [
                (1, 3, None, "# Memory\nintro"),
                (7, 7, None, "- use tabs"),
                (9, 11, Some("/w/app"), "# Task Group: /w/app\nscope: x"),
                (12, 12, Some("/w/app"), "- run `just check`"),
                (13, 13, Some("/w/app"), "- second"),
            ]
        );
    }

    #[test]
    fn a_file_that_nobody_can_attribute_is_not_for_everyone() {
        let files = Files::from([("rollout_summaries/old.md".to_owned(), "deploy\n".to_owned())]);
        let found = passages(&files, &Handbook::default(), 7);
        assert_eq!(found[0].project.as_deref(), Some(place::NOWHERE));
    }

    #[test]
    fn a_long_text_is_several_passages() {
        let line = "word ".repeat(PASSAGE_BYTES / 10);
        let text = [line.as_str(); 5].join("\n");
        let files = Files::from([("MEMORY.md".to_owned(), text)]);
        let found = passages(&files, &Handbook::default(), 7);
        let lines: Vec<_> = found.iter().map(|p| (p.line_start, p.line_end)).collect();
        assert_eq!(lines, [(1, 2), (3, 4), (5, 5)]);
    }
}
