//! Judges the outcome of a thread's task by evidence.

use super::super::learning::Outcome;

/// Evidence collected while the thread is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signs {
    /// Whether the last check (test, build, lint) passed; `None` if none ran.
    pub last_check: Option<bool>,
    /// The person's last message thanked or agreed.
    pub is_approval: bool,
    /// The person's last message corrected the agent, and nothing was changed since.
    pub is_corrected: bool,
    /// The last turn was interrupted.
    pub is_interrupted: bool,
    /// The agent answered last.
    pub is_answered: bool,
    pub changed: bool,
    /// Done steps and all steps of the last plan.
    pub steps: (usize, usize),
}

/// The person's words outrank checks, and checks outrank the plan.
pub fn triage(signs: Signs) -> Outcome {
    let (done, all) = signs.steps;
    let is_planned = all > 0 && done == all;
    match signs {
        Signs { is_approval: true, .. } => Outcome::Success,
        Signs { is_corrected: true, changed: true, .. } => Outcome::Partial,
        Signs { is_corrected: true, .. } => Outcome::Fail,
        Signs { last_check: Some(true), is_interrupted: false, changed: true, .. } => {
            Outcome::Success
        }
        Signs { last_check: Some(false), changed: true, .. } => Outcome::Partial,
        Signs { last_check: Some(false), .. } => Outcome::Fail,
        Signs { is_interrupted: true, changed: true, .. } => Outcome::Partial,
        Signs { is_interrupted: true, .. } => Outcome::Uncertain,
        Signs { is_answered: true, .. } if is_planned => Outcome::Success,
        Signs { changed: true, .. } if all > 0 && done < all => Outcome::Partial,
        _ => Outcome::Uncertain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_weighed() {
        let signs = Signs { is_answered: true, changed: true, ..Signs::default() };
        for (signs, outcome) in [
            (signs, Outcome::Uncertain),
            (Signs { last_check: Some(true), ..signs }, Outcome::Success),
            (Signs { last_check: Some(false), ..signs }, Outcome::Partial),
            (Signs { last_check: Some(false), changed: false, ..signs }, Outcome::Fail),
            (Signs { last_check: Some(false), is_approval: true, ..signs }, Outcome::Success),
            (Signs { last_check: Some(true), is_corrected: true, ..signs }, Outcome::Partial),
            (Signs { steps: (3, 3), ..signs }, Outcome::Success),
            (Signs { steps: (1, 3), ..signs }, Outcome::Partial),
            (Signs { is_interrupted: true, is_answered: false, ..signs }, Outcome::Partial),
            (Signs { is_interrupted: true, changed: false, ..signs }, Outcome::Uncertain),
            (
                Signs { is_interrupted: true, changed: false, steps: (3, 3), ..signs },
                Outcome::Uncertain,
            ),
            (Signs { is_interrupted: true, last_check: Some(true), ..signs }, Outcome::Partial),
            (Signs { is_corrected: true, changed: false, ..signs }, Outcome::Fail),
            (Signs { is_corrected: true, steps: (3, 3), ..signs }, Outcome::Partial),
            (Signs { is_answered: false, steps: (3, 3), ..signs }, Outcome::Uncertain),
            (
                Signs { is_answered: false, changed: false, steps: (1, 3), ..signs },
                Outcome::Uncertain,
            ),
        ] {
            assert_eq!(triage(signs), outcome, "{signs:?}");
        }
    }
}
