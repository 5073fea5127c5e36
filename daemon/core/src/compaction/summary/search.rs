//! Finds the largest input that a model accepts, in few requests.
//!
//! A provider that refuses an input for its size often states that size and its limit: the next input is scaled
//! accordingly. If it does not, the input shrinks in growing steps; a refused request costs only time. If the
//! first accepted input is far below the last refused one, one more request half way between is worthwhile.

/// Percent of the first input to try when the provider does not state its limit.
const STEPS: [u64; 6] = [80, 60, 40, 20, 10, 4];

/// Refused inputs after which the search ends.
const REFUSALS_MAX: usize = STEPS.len();

/// Percent of the stated limit to use: the estimate of a part differs from that of the whole.
const MARGIN: u64 = 95;

/// An accepted input below this percentage of the refused one is worth another request.
const CLOSE_PERCENT: u64 = 75;

/// Ignore numbers below this in error messages.
const TOKENS_MIN: u64 = 1_000;

/// State of a search; sizes are estimated tokens of whole requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct InputSearch {
    first: u64,
    refusals: usize,
    refused: Option<u64>,
    is_stated: bool,
    is_refined: bool,
}

impl InputSearch {
    /// The size to try after an input of `sent` tokens was refused with the provider's message `error`. `None`
    /// ends the search.
    pub fn refused(&mut self, sent: u64, error: &str) -> Option<u64> {
        if self.first == 0 {
            self.first = sent;
        }
        self.refused = Some(sent);
        self.refusals += 1;
        if self.is_refined || self.refusals > REFUSALS_MAX {
            return None;
        }
        let classified =
            stated_limit(error, sent).filter(|next| *next > 0 && *next < sent / 100 * 97);
        self.is_stated = classified.is_some();
        let step = || STEPS.iter().map(|step| self.first / 100 * step).find(|size| *size < sent);
        classified.or_else(step)
    }

    /// A larger input that is worth a request after one of `sent` tokens was accepted.
    pub fn answered(&mut self, sent: u64) -> Option<u64> {
        let refused = self.refused.filter(|_| !self.is_refined && !self.is_stated)?;
        self.is_refined = true;
        (sent < refused / 100 * CLOSE_PERCENT).then_some(sent.midpoint(refused))
    }
}

/// The limit stated in a provider's message, converted to our estimate of tokens: the message has the limit and
/// usually the number of tokens that the provider counted.
fn stated_limit(error: &str, sent: u64) -> Option<u64> {
    let mut numbers = numbers(error);
    numbers.sort_unstable();
    numbers.dedup();
    let limit = match numbers.as_slice() {
        [] => return None,
        [limit] => *limit,
        [.., limit, counted] => {
            let share = u128::from(sent) * u128::from(*limit) / u128::from(*counted);
            u64::try_from(share).unwrap_or(u64::MAX)
        }
    };
    Some(limit.saturating_mul(MARGIN) / 100)
}

/// The numbers in `error` that may be tokens, without digit separators.
fn numbers(error: &str) -> Vec<u64> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, ',' | '_');
    error
        .split(|c: char| !is_part(c))
        .filter_map(|word| word.replace([',', '_'], "").parse().ok())
        .filter(|number| *number >= TOKENS_MIN)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes that a model with the limit `limit` is sent, and the largest that it accepts.
    fn course(first: u64, limit: u64, error: impl Fn(u64) -> String) -> (Vec<u64>, u64) {
        let mut search = InputSearch::default();
        let (mut sent, mut sizes, mut best) = (Some(first), Vec::new(), 0);
        while let Some(size) = sent {
            sizes.push(size);
            sent = match size <= limit {
                true => {
                    best = best.max(size);
                    search.answered(size)
                }
                false => search.refused(size, &error(size)),
            };
        }
        (sizes, best)
    }

    #[test]
    fn the_search_finds_most_of_what_fits_with_any_message() {
        for (first, limit) in
            [(58_000, 57_000), (58_000, 46_000), (36_000, 8_000), (272_000, 12_000)]
        {
            let (sizes, best) = course(first, limit, |_| "Your input is too long.".to_owned());
            assert!(sizes.len() <= 8, "{sizes:?}");
            assert!(best * 100 >= limit * 60, "{limit}: {sizes:?}");
            let counted = |size| format!("prompt is too long: {size} tokens > {limit} maximum");
            let (sizes, best) = course(first, limit, counted);
            assert!(sizes.len() == 2 && best * 100 >= limit * 90, "{limit}: {sizes:?}");
        }
        let (sizes, best) = course(58_000, 10, |_| String::new());
        assert_eq!((sizes.len(), best), (7, 0), "it ends");
    }

    #[test]
    fn limits_are_parsed_from_each_providers_message() {
        for (error, fits) in [
            (
                "HTTP 400: This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (2000 in the messages, 8000 in the completion).",
                7_782,
            ),
            ("HTTP 400: prompt is too long: 212,345 tokens > 200,000 maximum", 8_947),
            ("the request exceeds the available context size (4096 tokens)", 3_891),
            ("HTTP 413: slow down", 0),
        ] {
            assert_eq!(stated_limit(error, 10_000).unwrap_or(0), fits, "{error}");
        }
    }

    #[test]
    fn a_search_ends_after_its_last_worthwhile_request() {
        let (sizes, best) = course(58_000, 12_000, |_| String::new());
        let expected = [58_000, 46_400, 34_800, 23_200, 11_600, 17_400];
        assert_eq!((sizes.as_slice(), best), (&expected[..], 11_600), "once half way between");
        let (sizes, _) = course(58_000, 20_000, |_| String::new());
        assert_eq!(sizes, [58_000, 46_400, 34_800, 23_200, 11_600, 17_400]);
        let (sizes, best) = course(58_000, 46_400, |_| String::new());
        assert_eq!((sizes.len(), best), (2, 46_400), "what is left is not worth a request");
        let wrong = |size: u64| format!("{size} tokens > {} maximum", size * 9 / 10);
        assert_eq!(course(272_000, 10, wrong).0.len(), REFUSALS_MAX + 1, "the provider is wrong");
    }

    #[test]
    fn an_impossible_limit_is_ignored() {
        for error in ["at most 100,000 tokens", "1,000 tokens > 18446744073709551615 maximum"] {
            let next = InputSearch::default().refused(10_000, error);
            assert_eq!(next, Some(8_000), "{error}");
        }
    }
}
