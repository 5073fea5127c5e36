//! Parses memory lines: text and its source mark.

/// A list line with a source mark, `- words [user, 2026-05-01, t1 #7; id 0a1b2c]`, or with the entries it
/// is based on: `- words [id 0a1b2c, 3d4e5f]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) struct Bullet<'a> {
    pub(in crate::memory) words: &'a str,
    /// The mark, without brackets.
    pub(super) mark: &'a str,
}

impl<'a> Bullet<'a> {
    /// Parses a line; `None` unless it is a list line with a mark.
    pub(in crate::memory) fn read(line: &'a str) -> Option<Self> {
        let inside = line.strip_prefix("- ")?.trim_end().strip_suffix(']')?;
        let (words, mark) = inside.rsplit_once(" [")?;
        (mark.starts_with("id ") || mark.contains("; id "))
            .then_some(Self { words: words.trim(), mark })
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &'a str> {
        let after = self.mark.strip_prefix("id ");
        let after = after.or_else(|| self.mark.split_once("; id ").map(|(_, rest)| rest));
        let named = after.unwrap_or_default().split(';').next().unwrap_or_default();
        named.split(',').map(str::trim).filter(|id| !id.is_empty())
    }
}

/// The project that a heading of `MEMORY.md` opens.
pub fn group(line: &str) -> Option<&str> {
    line.strip_prefix("# Task Group: ").map(str::trim)
}
