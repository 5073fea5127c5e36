//! Logs in documents: of entries with a date, only the newest describes the present.

use super::super::evidence::Line;
use crate::text;

/// Bytes at an entry's start in which to look for its date.
const OPENING_BYTES: usize = 48;

/// Percentage of its strength that an older entry keeps.
const OLDER_PERCENT: u16 = 40;

/// Lowers the strength of all entries of a log except the newest, with the lines below them.
pub(in crate::briefing) fn lower_older_entries(lines: &mut [Line]) {
    for log in lines.chunk_by_mut(|one, next| key(one).is_some() && key(next).is_some()) {
        let keys: Vec<Option<Key<'_>>> = log.iter().map(key).collect();
        let (Some(first), Some(last)) = (&keys[0], &keys[keys.len() - 1]) else { continue };
        let newest = match first.cmp(last) {
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Greater => first,
            std::cmp::Ordering::Less => last,
        };
        let is_newest: Vec<bool> = keys.iter().map(|it| it.as_ref() == Some(newest)).collect();
        for (line, _) in log.iter_mut().zip(is_newest).filter(|(_, is_newest)| !is_newest) {
            line.strength = line.strength * OLDER_PERCENT / 100;
        }
    }
}

/// The date of an entry, and the number that tells it from others of that day.
type Key<'l> = (&'l str, u32);

/// The key of the entry that a line is or belongs to.
fn key(line: &Line) -> Option<Key<'_>> {
    of_opening(&line.text).or_else(|| of_opening(&line.heading))
}

fn of_opening(text: &str) -> Option<Key<'_>> {
    let opening = text::prefix(text, OPENING_BYTES);
    let bytes = opening.as_bytes();
    // Few lines have a hyphen at their start.
    let hyphens = memchr::memchr_iter(b'-', bytes);
    let at =
        hyphens.filter_map(|at| at.checked_sub(YEAR_BYTES)).find(|at| is_date(&bytes[*at..]))?;
    let date = &opening[at..at + DATE_BYTES];
    let (before, after) = (&opening[..at], &opening[at + DATE_BYTES..]);
    Some((date, number(before).or_else(|| number(after)).unwrap_or_default()))
}

const YEAR_BYTES: usize = "2026".len();
const DATE_BYTES: usize = "2026-01-31".len();

fn is_date(bytes: &[u8]) -> bool {
    bytes.len() >= DATE_BYTES
        && bytes[..DATE_BYTES].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
        && !bytes.get(DATE_BYTES).is_some_and(u8::is_ascii_digit)
}

fn number(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).find_map(|digits| digits.parse().ok())
}
