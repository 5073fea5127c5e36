//! Whether a provider still has a thread's history in its cache.

use crate::thread::Source;

/// How long a provider keeps its cache after the last request that used it.
///
/// # Source
/// Anthropic's documentation: five minutes unless a request asks for an hour, and Claude Code's transcripts say
/// which. OpenAI's: minutes, and at most an hour unless a longer retention is requested, which Codex does not
/// do.
const LIFETIMES_MS: [(Source, u64); 2] = [(Source::Claude, 300_000), (Source::Codex, 3_600_000)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum LifetimeOrigin {
    Config,
    /// The newest request that wrote to the cache.
    Transcript,
    Default,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptCache {
    pub lifetime_ms: u64,
    pub origin: LifetimeOrigin,
    /// It has not been used for longer than its lifetime.
    pub is_cold: bool,
}

impl PromptCache {
    /// `None` if the provider's cache, or the time of its last use, is unknown.
    pub fn of(
        source: Source,
        (configured, reported): (Option<u64>, Option<u64>),
        idle_ms: u64,
    ) -> Option<Self> {
        let known = || LIFETIMES_MS.iter().find(|(known, _)| *known == source);
        let (lifetime_ms, origin) = configured
            .map(|ms| (ms, LifetimeOrigin::Config))
            .or(reported.map(|ms| (ms, LifetimeOrigin::Transcript)))
            .or_else(|| Some((known()?.1, LifetimeOrigin::Default)))?;
        Some(Self { lifetime_ms, origin, is_cold: idle_ms > lifetime_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_beats_the_transcript_and_both_beat_the_documentation() {
        use LifetimeOrigin::{Config, Default, Transcript};
        let minutes = |minutes: u64| minutes * 60_000;
        for (source, known, idle, expected) in [
            (Source::Claude, (None, None), 4, Some((5, Default, false))),
            (Source::Claude, (None, None), 5, Some((5, Default, false))),
            (Source::Claude, (None, None), 6, Some((5, Default, true))),
            (Source::Claude, (None, Some(60)), 6, Some((60, Transcript, false))),
            (Source::Claude, (Some(5), Some(60)), 6, Some((5, Config, true))),
            (Source::Codex, (None, None), 59, Some((60, Default, false))),
            (Source::Gemini, (None, None), 59, None),
        ] {
            let known: (Option<u64>, Option<u64>) = known;
            let cache = PromptCache::of(
                source,
                (known.0.map(minutes), known.1.map(minutes)),
                minutes(idle),
            );
            let found =
                cache.map(|cache| (cache.lifetime_ms / 60_000, cache.origin, cache.is_cold));
            assert_eq!(found, expected, "{source:?} {idle}");
        }
    }
}
