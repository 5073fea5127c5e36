//! File names of summaries.

use super::day;
use crate::digest::Digest128;

/// Maximum bytes of a slug.
pub const SLUG_BYTES: usize = 60;

/// The file name of a thread's summary without `.md`: its date, the slug, and eight digits of its id's
/// digest for uniqueness. It is stable as long as the slug is.
pub fn stem(created_at_ms: i64, slug: &str, thread_id: &str) -> String {
    let digest = Digest128::of(thread_id.as_bytes()).to_string();
    let mark = &digest[..8];
    let date = day::date(created_at_ms);
    if slug.is_empty() { format!("{date}-{mark}") } else { format!("{date}-{slug}-{mark}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_with_the_same_words_have_different_files() {
        assert_ne!(stem(0, "a", "t1"), stem(0, "a", "t2"));
    }
}
