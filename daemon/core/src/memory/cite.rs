//! Citations of memory in an agent's answer.
//!
//! An agent that used memory ends its answer with a block, as our read-path instructions request:
//!
//! ```text
//! <memory_citation>
//! MEMORY.md:12-20 | how the tests are run
//! thread 0199a213-81c0-7800-8aa1-bbab2a035a53
//! </memory_citation>
//! ```
//!
//! The block that Codex asks its agents for (`oai-mem-citation`) is read as well.

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Citations {
    /// Cited lines of memory files, deduplicated, in order.
    pub entries: Vec<Citation>,
    /// Cited threads, deduplicated, in order.
    pub thread_ids: Vec<String>,
}

/// Lines of a memory file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// Path below the memory folder.
    pub path: String,
    /// First line, from 1.
    pub line_start: u64,
    pub line_end: u64,
    pub note: String,
}

/// Element names of the block.
const ELEMENTS: [&str; 2] = ["memory_citation", "oai-mem-citation"];

/// Maximum citations read from one answer.
const CITATIONS_MAX: usize = 64;

/// Parses the citations of an answer. An unclosed block extends to the end; unknown lines are skipped.
pub fn parse(answer: &str) -> Citations {
    let mut found = Citations::default();
    for element in ELEMENTS {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        let mut rest = answer;
        while let Some((_, after)) = rest.split_once(&open) {
            let (block, next) = after.split_once(&close).unwrap_or((after, ""));
            block.lines().for_each(|line| add_line(line.trim(), &mut found));
            rest = next;
        }
    }
    found
}

/// The answer without citation blocks, for display.
pub fn strip(answer: &str) -> String {
    let mut shown = answer.to_owned();
    for element in ELEMENTS {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        while let Some(start) = shown.find(&open) {
            let end =
                shown[start..].find(&close).map_or(shown.len(), |at| start + at + close.len());
            shown.replace_range(start..end, "");
        }
    }
    shown.truncate(shown.trim_end().len());
    shown
}

fn add_line(line: &str, found: &mut Citations) {
    let line = line.trim_start_matches("- ");
    let id = line.strip_prefix("thread ").unwrap_or(line).trim().trim_matches('`');
    // The form of every known agent's thread ids.
    if crate::text::is_uuid(id) {
        if !found.thread_ids.iter().any(|known| known == id)
            && found.thread_ids.len() < CITATIONS_MAX
        {
            found.thread_ids.push(id.to_owned());
        }
    } else if let Some(entry) = entry(line)
        && !found.entries.contains(&entry)
        && found.entries.len() < CITATIONS_MAX
    {
        found.entries.push(entry);
    }
}

fn entry(line: &str) -> Option<Citation> {
    let (place, note) = line.split_once('|').unwrap_or((line, ""));
    let (path, span) = place.trim().rsplit_once(':')?;
    let (start, end) = span.split_once('-').unwrap_or((span, span));
    let (line_start, line_end) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
    let is_sound = line_start >= 1 && line_end >= line_start && !path.is_empty();
    let climbs = path.starts_with('/') || path.split('/').any(|part| part == "..");
    let note = note.trim();
    let note = note.strip_prefix("note=").unwrap_or(note).trim_matches(['[', ']']);
    let note = crate::text::one_line_cut(note, super::learning::QUOTE_BYTES);
    (is_sound && !climbs).then(|| Citation { path: path.to_owned(), line_start, line_end, note })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";

    #[test]
    fn our_blocks_and_those_of_codex_are_read() {
        let ours = format!(
            "Done.\n<memory_citation>\n- MEMORY.md:12-20 | tests\nMEMORY.md:12-20 | tests\nthread {ID}\n\
             ../x:1-2\nMEMORY.md:9-3\nnonsense\n</memory_citation>\n"
        );
        let theirs = format!(
            "Done.\n<oai-mem-citation><citation_entries>\nMEMORY.md:12-20|note=[tests]\n</citation_entries>\n\
             <rollout_ids>\n{ID}\n{ID}\n</rollout_ids></oai-mem-citation>"
        );
        let entry = Citation {
            path: "MEMORY.md".into(),
            line_start: 12,
            line_end: 20,
            note: "tests".into(),
        };
        let expected = Citations { entries: vec![entry], thread_ids: vec![ID.into()] };
        for answer in [&ours, &theirs] {
            assert_eq!(parse(answer), expected);
            assert_eq!(strip(answer), "Done.");
        }
    }

    #[test]
    fn an_unclosed_block_extends_to_the_end() {
        let answer = format!("x <memory_citation>\nthread {ID}");
        assert_eq!(parse(&answer).thread_ids, [ID]);
        assert_eq!(strip(&answer), "x");
        assert_eq!(parse("no block: MEMORY.md:1-2"), Citations::default());
    }

    #[test]
    fn an_answer_cites_64_lines_and_threads_at_most() {
        let ids = (0..70).map(|n| format!("0199a213-81c0-7800-8aa1-bbab2a0350{n:02}\n"));
        let lines = (1..71).map(|n| format!("MEMORY.md:{n}\n"));
        let block: String = ids.chain(lines).collect();
        let found = parse(&format!("<memory_citation>\n{block}</memory_citation>"));
        assert_eq!((found.entries.len(), found.thread_ids.len()), (64, 64));
        assert_eq!(found.entries[63].line_start, 64);
    }
}
