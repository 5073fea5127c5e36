//! Computes the size of a model's context window, the usable part, and when to compact.

/// Percent of a window that can be filled; the rest is for the answer and the provider's overhead.
///
/// # Source
/// Codex, like the other defaults here: its table of models, its limit of 9/10, its display of the remainder
/// and its window of an unknown model.
pub const EFFECTIVE_PERCENT: u64 = 95;

/// Percent of a window at which agents compact by themselves.
pub const TRIGGER_PERCENT: u64 = 90;

/// Tokens that agents subtract when they show the remainder: instructions that are always present.
pub const BASELINE_TOKENS: u64 = 12_000;

pub const FALLBACK_TOKENS: u64 = 272_000;

/// Default windows by prefix of a model's name; the longest prefix wins. An account may have a larger one, as
/// with gpt-5.4. For other models the transcript, the configuration or the request decides, else the window is
/// unknown.
///
/// # Source
/// gpt-5.2 to gpt-5.5 and codex-auto-review: Codex's table of May 2026. gpt-5, gpt-5.1 and gpt-5.3-codex-spark:
/// published transcripts of Codex, which state 272,000 or the effective 258,400, and 121,600.
/// gpt-4.1 and the Claude models: assumed, not taken from their vendors. Claude models from 4.6 on are not
/// listed: under one name they have 200,000 or a million tokens.
const MODELS: [(&str, u64); 13] = [
    ("gpt-5", 272_000),
    ("gpt-5.3-codex-spark", 128_000),
    ("codex-auto-review", 272_000),
    ("gpt-4.1", 1_047_576),
    ("claude-3", 200_000),
    ("claude-haiku-4-5", 200_000),
    ("claude-opus-4-0", 200_000),
    ("claude-opus-4-1", 200_000),
    ("claude-opus-4-2", 200_000),
    ("claude-opus-4-5", 200_000),
    ("claude-sonnet-4-0", 200_000),
    ("claude-sonnet-4-2", 200_000),
    ("claude-sonnet-4-5", 200_000),
];

/// Sizes to assume for a window that held more than was assumed before, smallest first.
///
/// # Source
/// Chosen.
const OFFERED: [u64; 4] = [400_000, 500_000, 1_000_000, 2_000_000];

/// The windows of agents whose transcripts record where they compacted by themselves: Claude Code's two.
const OF_COMPACTING_AGENTS: [u64; 2] = [200_000, 1_000_000];

/// Where a value came from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Origin {
    /// Unknown model: [`FALLBACK_TOKENS`], a guess.
    Fallback,
    /// The thread held more than the table or the fallback: the next larger offered window, a guess.
    Observed,
    Default,
    ModelTable,
    AgentCompaction,
    Agent,
    Transcript,
    RunningAgent,
    Config,
    Request,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct WindowSources<'a> {
    pub model: Option<&'a str>,
    pub asked: Option<u64>,
    pub configured: Option<u64>,
    /// From the transcript: the whole window or its effective part.
    pub stated: Option<u64>,
    pub reported: Option<u64>,
    /// Tokens that the window has held, by the provider's count.
    pub filled: Option<u64>,
    /// Tokens the window held when the agent last compacted by itself.
    pub agent_compacted_at: Option<u64>,
    pub agent_window: Option<u64>,
    /// The user's compaction limit in the request; 0 switches compaction off.
    pub limit_asked: Option<u64>,
    /// The same from the configuration, in percent of the window.
    pub percent_configured: Option<u64>,
    /// The limit from the agent's configuration, in tokens; 0 means before every turn, as the agent reads it.
    pub agent_limit: Option<u64>,
}

/// A window and its limits, in tokens, each with its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub tokens: u64,
    pub origin: Origin,
    /// The usable part.
    pub effective: u64,
    /// When to compact; `None` if the user switched it off.
    pub trigger: Option<u64>,
    pub trigger_origin: Origin,
    /// A user's limit that can never be reached and was replaced by the default.
    pub limit_refused: Option<u64>,
}

/// Computes a window and its limits.
///
/// A user's limit is honored up to the effective window, also above the 90 % where agents stop. A limit above
/// the effective window could never be reached: the default replaces it, and [`Window::limit_refused`] reports
/// it.
pub fn decide(known: &WindowSources<'_>) -> Window {
    let (tokens, origin) = whole(known);
    let compacted_at = compaction(known).map(|(limit, _)| limit).filter(|limit| *limit <= tokens);
    // A size that an agent has reached is usable.
    let effective = percent(tokens, EFFECTIVE_PERCENT).max(compacted_at.unwrap_or(0));
    let default = percent(tokens, TRIGGER_PERCENT);
    let limit = match (known.limit_asked, known.percent_configured) {
        (Some(limit), _) => Some((limit, Origin::Request)),
        (None, Some(share)) => Some((percent(tokens, share), Origin::Config)),
        (None, None) => known.agent_limit.map(|limit| (limit, Origin::Agent)),
    };
    let default_origin = if origin <= Origin::Observed { origin } else { Origin::Default };
    let (trigger, trigger_origin, limit_refused) = match limit {
        None => match compacted_at {
            Some(limit) => (Some(limit), Origin::AgentCompaction, None),
            None => (Some(default), default_origin, None),
        },
        Some((0, origin)) if origin != Origin::Agent => (None, origin, None),
        Some((limit, _)) if limit > effective => (Some(default), default_origin, Some(limit)),
        Some((limit, origin)) => (Some(limit), origin, None),
    };
    Window { tokens, origin, effective, trigger, trigger_origin, limit_refused }
}

impl Window {
    /// Whether the size was stated. Do not show or warn about a guess.
    pub fn is_known(&self) -> bool {
        self.origin > Origin::Observed
    }

    /// Percent left as agents show it: without the baseline.
    pub fn percent_left(&self, used: u64) -> u64 {
        let room = self.effective.saturating_sub(BASELINE_TOKENS);
        if room == 0 {
            return 0;
        }
        let used = used.saturating_sub(BASELINE_TOKENS).min(room);
        percent_of(room - used, room)
    }

    /// Percent used, on the same base: both add up to 100.
    pub fn percent_used(&self, used: u64) -> u64 {
        100 - self.percent_left(used)
    }
}

/// `part` as percent of `whole`, rounded to the nearest.
pub fn percent_of(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    u64::try_from((part * 100 + whole / 2) / whole).unwrap_or(u64::MAX)
}

fn percent(tokens: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(tokens) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

fn positive(tokens: Option<u64>) -> Option<u64> {
    tokens.filter(|tokens| *tokens > 0)
}

fn whole(known: &WindowSources<'_>) -> (u64, Origin) {
    let compaction = compaction(known).map(|(_, window)| window);
    let stated = [
        (known.asked, Origin::Request),
        (known.configured, Origin::Config),
        (known.reported, Origin::RunningAgent),
        (known.stated.map(undo_effective), Origin::Transcript),
        (known.agent_window, Origin::Agent),
        (compaction, Origin::AgentCompaction),
    ];
    let mut stated = stated.into_iter();
    if let Some(found) = stated.find_map(|(tokens, origin)| Some((positive(tokens)?, origin))) {
        return found;
    }
    let assumed = match known.model.and_then(of_model) {
        Some(tokens) => (tokens, Origin::ModelTable),
        None => (FALLBACK_TOKENS, Origin::Fallback),
    };
    // A window is at least as large as its largest content.
    match known.filled.filter(|filled| *filled > assumed.0) {
        Some(filled) => (offered(filled), Origin::Observed),
        None => assumed,
    }
}

/// Where the agent compacted by itself, and the window that follows from it. `None` if the thread held more
/// than that: then the model or its window changed.
fn compaction(known: &WindowSources<'_>) -> Option<(u64, u64)> {
    let limit = positive(known.agent_compacted_at)?;
    let window = OF_COMPACTING_AGENTS.into_iter().find(|window| limit <= *window)?;
    known.filled.is_none_or(|filled| filled <= window).then_some((limit, window))
}

fn offered(tokens: u64) -> u64 {
    OFFERED.into_iter().find(|window| tokens <= *window).unwrap_or(tokens)
}

/// Newer agent versions report the effective part. Windows are whole thousands, so a number that becomes one
/// after undoing the 95 % was effective.
fn undo_effective(tokens: u64) -> u64 {
    let whole = tokens.checked_mul(100).filter(|all| all.is_multiple_of(EFFECTIVE_PERCENT));
    whole
        .map(|all| all / EFFECTIVE_PERCENT)
        .filter(|all| all.is_multiple_of(1_000))
        .unwrap_or(tokens)
}

/// Whether a model is OpenAI's own, by its name, so that it can read its provider's compactions.
pub fn is_of_openai(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let own = ["gpt-", "codex-", "o3", "o4-"];
    own.iter().any(|own| name.starts_with(own)) && !name.starts_with("gpt-oss")
}

/// Looks up a model's window by name, ignoring a provider prefix.
pub fn of_model(name: &str) -> Option<u64> {
    let name = name.rsplit('/').next().unwrap_or(name);
    let known = MODELS.iter().filter(|(beginning, _)| name.starts_with(beginning));
    known.max_by_key(|(beginning, _)| beginning.len()).map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(known: WindowSources<'_>) -> Window {
        decide(&known)
    }

    #[test]
    fn a_window_has_its_effective_part_and_its_trigger() {
        for (model, tokens, effective, trigger) in [
            ("gpt-5.5", 272_000, 258_400, 244_800),
            ("gpt-4.1", 1_047_576, 995_197, 942_818),
            ("openai/gpt-5.3-codex", 272_000, 258_400, 244_800),
        ] {
            let window = of(WindowSources { model: Some(model), ..WindowSources::default() });
            let found = (window.tokens, window.effective, window.trigger, window.origin);
            assert_eq!(found, (tokens, effective, Some(trigger), Origin::ModelTable), "{model}");
        }
    }

    #[test]
    fn an_unknown_model_has_the_fallback_window_and_says_so() {
        for model in ["mystery", "gpt-4o", "gpt-oss-120b", "claude-opus-4-6", "gemini-2.5-pro"] {
            let unknown = of(WindowSources { model: Some(model), ..WindowSources::default() });
            assert_eq!((unknown.tokens, unknown.origin), (272_000, Origin::Fallback), "{model}");
            assert_eq!(unknown.trigger_origin, Origin::Fallback, "{model}");
            assert!(!unknown.is_known(), "{model}");
        }
    }

    #[test]
    fn an_agents_own_compaction_determines_window_and_limit() {
        let known = |compacted, filled| WindowSources {
            model: Some("claude-opus-5"),
            agent_compacted_at: Some(compacted),
            filled: Some(filled),
            ..WindowSources::default()
        };
        for (compacted, filled, tokens, trigger) in [
            (166_800, 167_000, 200_000, 166_800),
            (948_659, 949_000, 1_000_000, 948_659),
            // Above what counts as full.
            (998_659, 999_000, 1_000_000, 998_659),
            (330_000, 331_000, 1_000_000, 330_000),
        ] {
            let window = of(known(compacted, filled));
            assert_eq!((window.tokens, window.trigger), (tokens, Some(trigger)), "{compacted}");
            assert_eq!((window.origin, window.is_known()), (Origin::AgentCompaction, true));
        }
        // The thread later exceeded that: the window has changed.
        let changed = of(known(160_000, 480_000));
        assert_eq!((changed.origin, changed.trigger_origin), (Origin::Observed, Origin::Observed));
        let table =
            of(WindowSources { model: Some("claude-sonnet-4-5"), ..WindowSources::default() });
        assert_eq!((table.tokens, table.is_known()), (200_000, true));
    }

    #[test]
    fn a_window_is_at_least_as_large_as_its_content() {
        let held = |filled: u64, model: &'static str| {
            let known = WindowSources {
                model: Some(model),
                filled: Some(filled),
                ..WindowSources::default()
            };
            (of(known).tokens, of(known).origin)
        };
        assert_eq!(held(272_000, "mystery"), (272_000, Origin::Fallback), "it is just full");
        assert_eq!(held(272_001, "mystery"), (400_000, Origin::Observed));
        assert_eq!(held(554_508, "mystery"), (1_000_000, Origin::Observed));
        let observed = of(WindowSources { filled: Some(300_000), ..WindowSources::default() });
        assert!(!observed.is_known());
        assert_eq!(held(300_000, "gpt-5.4"), (400_000, Origin::Observed));
        assert_eq!(held(3_000_000, "mystery"), (3_000_000, Origin::Observed));
        let stated = WindowSources {
            stated: Some(200_000),
            filled: Some(300_000),
            ..WindowSources::default()
        };
        assert_eq!(of(stated).origin, Origin::Transcript, "the agent's own word counts");
    }

    #[test]
    fn the_transcript_may_state_the_whole_or_effective_window() {
        for (stated, tokens) in [
            (258_400, 272_000),
            (190_000, 200_000),
            (121_600, 128_000),
            (272_000, 272_000),
            (200_000, 200_000),
        ] {
            let window = of(WindowSources {
                stated: Some(stated),
                model: Some("gpt-4.1"),
                ..WindowSources::default()
            });
            assert_eq!((window.tokens, window.origin), (tokens, Origin::Transcript), "{stated}");
        }
        let asked = of(WindowSources {
            stated: Some(1_000),
            asked: Some(50_000),
            ..WindowSources::default()
        });
        assert_eq!((asked.tokens, asked.origin), (50_000, Origin::Request));
    }

    #[test]
    fn the_users_limit_is_honored_and_names_its_origin() {
        let window = of(WindowSources {
            asked: Some(100),
            percent_configured: Some(94),
            ..WindowSources::default()
        });
        assert_eq!((window.trigger, window.trigger_origin), (Some(94), Origin::Config));
        let both = WindowSources {
            limit_asked: Some(50),
            percent_configured: Some(94),
            ..WindowSources::default()
        };
        assert_eq!((of(both).trigger, of(both).trigger_origin), (Some(50), Origin::Request));
        let off = of(WindowSources { percent_configured: Some(0), ..WindowSources::default() });
        assert_eq!((off.trigger, off.trigger_origin), (None, Origin::Config));
    }

    #[test]
    fn our_settings_take_precedence_over_the_agents() {
        let sources = WindowSources {
            agent_window: Some(1_000),
            agent_limit: Some(930),
            ..WindowSources::default()
        };
        let window = of(sources);
        assert_eq!((window.tokens, window.origin), (1_000, Origin::Agent));
        assert_eq!((window.trigger, window.trigger_origin), (Some(930), Origin::Agent));
        let stated = of(WindowSources { stated: Some(2_000), ..sources });
        assert_eq!((stated.tokens, stated.trigger), (2_000, Some(930)));
        let ours = of(WindowSources { percent_configured: Some(50), ..sources });
        assert_eq!((ours.trigger, ours.trigger_origin), (Some(500), Origin::Config));
        // 0 means never to us, and every turn to the agent.
        assert_eq!(of(WindowSources { agent_limit: Some(0), ..sources }).trigger, Some(0));
        assert_eq!(
            of(WindowSources { agent_limit: Some(951), ..sources }).limit_refused,
            Some(951)
        );
    }

    #[test]
    fn a_limit_above_the_window_is_replaced_and_reported() {
        let window = of(WindowSources {
            asked: Some(100),
            limit_asked: Some(200),
            ..WindowSources::default()
        });
        assert_eq!((window.trigger, window.limit_refused), (Some(90), Some(200)));
        assert_eq!(window.trigger_origin, Origin::Default);
        for (limit, expected) in [(95, (Some(95), None)), (96, (Some(90), Some(96)))] {
            let sources = WindowSources { asked: Some(100), ..WindowSources::default() };
            let window = of(WindowSources { limit_asked: Some(limit), ..sources });
            assert_eq!((window.trigger, window.limit_refused), expected, "{limit}");
        }
    }

    #[test]
    fn a_window_of_zero_is_none() {
        let none = WindowSources {
            asked: Some(0),
            configured: Some(0),
            reported: Some(0),
            stated: Some(0),
            agent_window: Some(0),
            agent_compacted_at: Some(0),
            ..WindowSources::default()
        };
        assert_eq!((of(none).tokens, of(none).origin), (FALLBACK_TOKENS, Origin::Fallback));
        assert_eq!(of(none).trigger, Some(244_800));
    }

    #[test]
    fn models_of_openai_are_known_by_their_names() {
        for (name, is_their_own) in [
            ("gpt-5.5", true),
            ("openai/GPT-5", true),
            ("codex-mini", true),
            ("o3", true),
            ("o4-mini", true),
            ("gpt-oss-120b", false),
            ("openai/gpt-oss-20b", false),
            ("claude-opus-4-5", false),
            ("mistral/codestral", false),
            ("olmo", false),
            ("", false),
        ] {
            assert_eq!(is_of_openai(name), is_their_own, "{name}");
        }
    }

    #[test]
    fn the_percentage_left_matches_what_agents_show() {
        let window = of(WindowSources { asked: Some(272_000), ..WindowSources::default() });
        assert_eq!(window.percent_left(0), 100);
        assert_eq!(window.percent_left(12_000), 100);
        assert_eq!(window.percent_left(135_200), 50);
        assert_eq!(window.percent_left(500_000), 0);
        for used in (0..300_000).step_by(777) {
            assert_eq!(window.percent_left(used) + window.percent_used(used), 100, "{used}");
        }
        assert_eq!(
            of(WindowSources { asked: Some(10_000), ..WindowSources::default() }).percent_left(1),
            0
        );
    }
}
