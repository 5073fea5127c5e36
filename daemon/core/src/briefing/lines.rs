//! Lines worth quoting alone, with their headings: sentences, list items, table rows.

mod message;

use std::borrow::Cow;

use crate::text;
pub(super) use message::{MessageLine, split};

/// Longer prose is split into sentences.
const SENTENCE_BYTES: usize = 220;

/// The number of a heading's hashes; a line that is all bold is below them all.
pub(super) fn level_of(line: &str) -> usize {
    match line.bytes().take_while(|byte| *byte == b'#').count() {
        0 => 7,
        hashes => hashes,
    }
}

/// Maximum bytes of a heading, with the section before it, and of what it is cut from. A heading alone, such as the
/// sentence before a list, may be longer: its object is often its end.
const LABEL_BYTES: usize = 200;
const HEADING_BYTES: usize = 80;
const HEADING_ALONE_BYTES: usize = 150;
const SECTION_BYTES: usize = 40;

/// Stands between a section and a heading.
pub(super) const BELOW: &str = " › ";

/// `Section › Heading`, of at most [`HEADING_ALONE_BYTES`].
pub(super) fn below_section(section: &str, heading: &str) -> String {
    let heading = text::cut_middle(heading, HEADING_ALONE_BYTES);
    if section.is_empty() || heading.is_empty() || heading.len() > HEADING_BYTES {
        return heading.into_owned();
    }
    let section = text::cut_words(
        section,
        (HEADING_BYTES - 5).saturating_sub(heading.len()).clamp(24, SECTION_BYTES),
    );
    text::cut_words(&format!("{section}{BELOW}{heading}"), HEADING_BYTES).into_owned()
}

/// An item of at least this many words says something.
const WORDS_OF_STATEMENT: usize = 5;

/// Whether an item with nested items says something itself, rather than only naming them.
pub(super) fn says_something(item: &str) -> bool {
    let is_marked = item.contains(['✅', '✓', '✔', '❌', '✗', '⚠', '→']);
    let is_long = || item.split_whitespace().nth(WORDS_OF_STATEMENT - 1).is_some();
    item.len() > HEADING_BYTES || !item.ends_with([':', '：']) && (is_marked || is_long())
}

/// Characters that end a sentence.
const ENDS: [char; 6] = ['.', '!', '?', '。', '！', '？'];

/// Characters that end an item of a series.
const GOES_ON: [char; 3] = [',', ';', ')'];

/// Whether a line is a heading: it ends with a colon, or precedes a list without ending a sentence.
fn leads(line: &str, next: Option<&str>) -> bool {
    let is_above_list = || {
        let is_open = !line.ends_with(ENDS) && line.len() <= LEAD_IN_BYTES * 3 / 2;
        is_open && next.is_some_and(|next| item_of(next.trim()).is_some())
    };
    // With nothing below it, it announces what the agent does next.
    let is_above = next.is_some() && line.len() <= LEAD_IN_BYTES && line.ends_with([':', '：']);
    is_above || is_above_list()
}

/// Whether a line is indented more than another.
pub(super) fn is_deeper(line: &str, outer: &str) -> bool {
    indent(line) > indent(outer)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line is an item nested in `outer`: a dash below a number needs no indentation.
pub(super) fn is_nested(line: &str, outer: &str) -> bool {
    let is_numbered = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let is_below = indent(line) > indent(outer)
        || indent(line) == indent(outer) && is_numbered(outer) && !is_numbered(line);
    is_below && item_of(line.trim()).is_some()
}

/// Maximum bytes of a lead-in.
const LEAD_IN_BYTES: usize = 100;

/// The text of a heading: `## Title`, or a line that is all bold.
pub(super) fn heading_of(line: &str) -> Option<&str> {
    let hashes = line.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&hashes) && line[hashes..].starts_with(' ') {
        return Some(line[hashes..].trim().trim_end_matches('#').trim_end());
    }
    let bold = line.strip_suffix(':').unwrap_or(line);
    let bold = bold.strip_prefix("**")?.strip_suffix("**")?;
    (!bold.contains("**")).then(|| bold.trim_end_matches(':'))
}

/// The headings that a message begins with, but for the last one, which stands above its first lines: `Do this: Plan`.
pub(super) fn title_above(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let mut titles: Vec<&str> = Vec::new();
    while let Some(line) = lines.next() {
        let title = heading_of(line).or(Some(line).filter(|line| line.ends_with(':')));
        match title.filter(|_| lines.peek().is_some_and(|next| heading_of(next).is_some())) {
            Some(title) => titles.push(title),
            None => break,
        }
    }
    titles.join(" ")
}

/// The text of a list item without its bullet; a number stays, since people refer to it.
pub(super) fn item_of(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix(['-', '*', '•'])
        && rest.starts_with(' ')
    {
        return Some(rest.trim_start());
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..)?;
    let is_numbered =
        (1..=3).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
    is_numbered.then_some(line)
}

/// Whether a line is a horizontal rule or the separator row of a table.
fn is_rule(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b'-' | b'=' | b'*' | b'_' | b'|' | b':' | b' '))
}

fn sentences<'a>(line: &'a str, mut visit: impl FnMut(&'a str)) {
    let mut rest = line;
    while rest.len() > SENTENCE_BYTES {
        let Some(mut end) = sentence_end(rest) else { break };
        // A sentence that refers to the previous one means nothing without it.
        while end < SENTENCE_BYTES && refers_back(&rest[end..]) {
            end += sentence_end(&rest[end..]).unwrap_or(rest.len() - end);
        }
        let (first, more) = rest.split_at(end);
        visit(first.trim_end());
        rest = more.trim_start();
    }
    if !rest.is_empty() {
        visit(rest);
    }
}

/// Visits the sentences of a paragraph.
pub(super) fn each_sentence<'a>(paragraph: &'a str, mut visit: impl FnMut(&'a str)) {
    let mut rest = paragraph;
    while let Some(end) = sentence_end(rest) {
        let (sentence, more) = rest.split_at(end);
        visit(sentence.trim_end());
        rest = more.trim_start();
    }
    if !rest.is_empty() {
        visit(rest);
    }
}

/// Whether a sentence starts with a word that refers to the previous one.
fn refers_back(sentence: &str) -> bool {
    const WORDS: [&str; 14] = [
        "this", "that", "these", "those", "it", "its", "so", "same", "both", "they", "which",
        "with", "das", "cela",
    ];
    let mut words = sentence.split_whitespace().map(str::to_lowercase);
    match words.next() {
        Some(first) if first == "with" => {
            words.next().is_some_and(|next| next == "that" || next == "this")
        }
        Some(first) => WORDS.contains(&first.as_str()),
        None => false,
    }
}

/// The end of the first sentence of at least 40 bytes.
fn sentence_end(text: &str) -> Option<usize> {
    let mut stopped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '。' | '！' | '？' if at >= 40 => return Some(at + letter.len_utf8()),
            '.' | '!' | '?' => stopped = at >= 40,
            ' ' if stopped => {
                let next = text[at..].trim_start().chars().next()?;
                if next.is_uppercase() || matches!(next, '`' | '"' | '*' | '(' | '[') {
                    return Some(at);
                }
                stopped = false;
            }
            _ => stopped = false,
        }
    }
    None
}

/// One line of at most `bytes`: links whose target repeats their name become the name, paths inside `folder`
/// become relative.
pub(super) fn tidy(line: &str, folder: Option<&str>, bytes: usize) -> String {
    let line = match memchr::memchr2(b'[', b'*', line.as_bytes()) {
        Some(_) => without_markup(line),
        None => Cow::Borrowed(line),
    };
    let line = match folder.filter(|folder| (4..=line.len()).contains(&folder.len())) {
        Some(folder) if is_named(&line, folder) => {
            Cow::Owned(line.replace(&format!("{}/", folder.trim_end_matches('/')), ""))
        }
        _ => line,
    };
    cut(&text::one_line(&line), bytes).into_owned()
}

/// Cuts at a word. Allows a quarter more, because the end of a sentence is often its subject.
pub(super) fn cut(line: &str, bytes: usize) -> Cow<'_, str> {
    let bytes = if line.len() <= bytes + bytes / 4 { line.len() } else { bytes };
    text::cut_words(line, bytes)
}

/// Whether a line contains a folder's path. Few lines have many slashes like the one that it begins with.
fn is_named(line: &str, folder: &str) -> bool {
    let (line, folder) = (line.as_bytes(), folder.as_bytes());
    memchr::memchr_iter(folder[0], line).any(|at| line[at..].starts_with(folder))
}

fn without_markup(line: &str) -> Cow<'_, str> {
    let line = without_links(line);
    match line.contains("**") {
        true => Cow::Owned(without_bold(&line)),
        false => line,
    }
}

/// Removes bold markers; `**` next to a slash is a glob.
fn without_bold(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("**") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        out.push_str(before);
        if before.ends_with('/') || after.starts_with('/') {
            out.push_str("**");
        }
        rest = after;
    }
    out + rest
}

/// Replaces `[name](target)` by `name` if the target only repeats it.
fn without_links(line: &str) -> Cow<'_, str> {
    if !line.contains("](") {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find('[') {
        let (before, link) = rest.split_at(open);
        out.push_str(before);
        rest = link;
        let Some(middle) = link[1..].find(['[', ']']).map(|at| at + 1) else { break };
        // A name has no brackets: `a[].b` is not the name of a link that follows.
        if !link[middle..].starts_with("](") {
            out.push('[');
            rest = &link[1..];
            continue;
        }
        let Some(end) = link[middle..].find(')').map(|at| at + middle) else { break };
        let (name, target, end) = (&link[1..middle], &link[middle + 2..end], end + 1);
        let bare = name.trim_matches('`');
        let file = bare.split(':').next().unwrap_or(bare).rsplit('/').next().unwrap_or(bare);
        let is_place = target.starts_with('/') || target.contains(file);
        // `[a.rs](/w/src/a.rs:7)` says where the file is, its name alone does not.
        let is_path = target.contains('/') && !target.contains("://") && !bare.contains('/');
        out.push_str(match is_place {
            true if is_path && file.contains('.') && target.contains(bare) => target,
            true => bare,
            false => &link[..end],
        });
        rest = &link[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Removes the line number that `nl`, `cat -n` and reading tools prepend.
pub(super) fn without_number(line: &str) -> &str {
    let bare = line.trim_start();
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    match bare.get(digits..).and_then(|rest| rest.strip_prefix(['\t', '→', '│'])) {
        Some(rest) if digits > 0 => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::super::spot::Shape;
    use super::*;

    #[test]
    fn a_message_is_split_into_lines_with_headings() {
        let message = "Done.\n\n## Changes\n- `a.rs`: parses\n1. first\n**Risks:**\n| a | b |\n|---|---|\n```sh\nmake\n```\nStill open:\n- b\nAll else works.\nSuggested message:\n`docs: begin`\nBye.\n";
        let mut seen = Vec::new();
        split(message, |message_line| {
            seen.push((message_line.heading, message_line.text, message_line.shape));
        });
        assert_eq!(
            seen,
            [
                ("", "Done.", Shape::Prose),
                ("Changes", "`a.rs`: parses", Shape::Item),
                ("Changes", "1. first", Shape::Item),
                ("Risks", "| a | b |", Shape::Row),
                ("Risks", "make", Shape::Code),
                ("Still open", "b", Shape::Item),
                ("Risks", "All else works.", Shape::Prose),
                ("Suggested message", "`docs: begin`", Shape::Prose),
                ("Risks", "Bye.", Shape::Prose),
            ]
        );
    }

    #[test]
    fn nested_items_have_their_parent_as_heading() {
        let message = "1. Must have\n\n- a score\n- a list\n2. Later\n   - video\nWe begin now.\n- `a.rs`:\n  - parses\n- `b.rs`\n- c\n";
        let mut seen = Vec::new();
        split(message, |message_line| seen.push((message_line.heading, message_line.text)));
        let expected = [
            ("1. Must have", "a score"),
            ("1. Must have", "a list"),
            ("2. Later", "video"),
            ("", "We begin now."),
            ("`a.rs`", "parses"),
            ("", "`b.rs`"),
            ("", "c"),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn long_prose_is_split_into_sentences() {
        let long =
            "The parser kept the state of the line before, which is why it failed. ".repeat(4);
        let mut seen = 0;
        split(&long, |_| seen += 1);
        assert!(seen >= 2, "{seen}");
    }

    #[test]
    fn a_sentence_that_refers_to_the_one_before_stays_with_it() {
        let text = "Line 101 of the configuration of the prompt still has the typo `P;yellow`. With that one fix the gradient works as it was meant to. One more thing is that the fade from lavender to orange runs through pink, so look at it before it is released to others.";
        let mut seen = Vec::new();
        split(text, |message_line| seen.push(message_line.text));
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(seen[0].ends_with("as it was meant to."), "{seen:?}");
    }

    #[test]
    fn links_and_long_paths_are_shortened() {
        for (line, expected) in [
            ("see [a.rs](/w/src/a.rs:4) now", "see /w/src/a.rs:4 now"),
            ("see [a.rs:4](/w/src/a.rs#L4)", "see a.rs:4"),
            ("see [`src/a.rs:7`](/w/src/a.rs#L7)", "see src/a.rs:7"),
            ("the [issue](https://example.org/1)", "the [issue](https://example.org/1)"),
            ("open [x", "open [x"),
            ("set `a[].b`, see [the a.rs](/w/a.rs)", "set `a[].b`, see the a.rs"),
            ("**Never** skip `**/.cache/**` or `src/**`", "Never skip `**/.cache/**` or `src/**`"),
        ] {
            assert_eq!(tidy(line, None, 200), expected);
        }
        assert_eq!(tidy("edit /home/me/a.rs", Some("/home/me"), 200), "edit a.rs");
    }
}
