//! Numbered steps of a workflow.

use super::super::lines;

/// Words before the number of a step.
const STEP_WORDS: [&str; 8] =
    ["step", "phase", "stage", "étape", "etape", "schritt", "paso", "passo"];

/// The highest number of a step that a text names.
pub(in crate::briefing) fn step_in(text: &str) -> Option<u32> {
    steps_in(text).max()
}

/// The numbers of the steps that a text names.
pub(in crate::briefing) fn steps_in(text: &str) -> impl Iterator<Item = u32> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let pairs = words.clone().zip(words.skip(1));
    let is_step = |word: &str| STEP_WORDS.contains(&word.to_lowercase().as_str());
    pairs.filter(move |(word, _)| is_step(word)).filter_map(|(_, number)| number.parse().ok())
}

/// Whether a text is in numbered steps.
pub(in crate::briefing) fn has_steps(text: &str) -> bool {
    let openings = text.lines().map(|line| lines::without_number(line).trim());
    let openings =
        openings.filter(|line| lines::heading_of(line).is_some() || line.starts_with("<step "));
    let mut steps = openings.filter_map(number_of).fuse();
    let first = steps.next();
    first.is_some() && steps.any(|step| Some(step) != first)
}

/// The number of the step that a line opens.
fn number_of(line: &str) -> Option<u32> {
    step_in(line).or_else(|| line.strip_prefix("<step n=\"")?.split('"').next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_step_that_a_text_names_is_found() {
        for (text, expected) in [
            ("Continuer vers l’étape 3 (review) ?", Some(3)),
            ("Étape 2 terminée. Passer à l'étape 3 ?", Some(3)),
            ("step 4, if user chooses 2", Some(4)),
            ("Phase 2 is done", Some(2)),
            ("three steps: 3 of them", None),
            ("one step further", None),
        ] {
            assert_eq!(step_in(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_has_steps_if_it_opens_two() {
        for (text, expected) in [
            ("<step n=\"1\" goal=\"Read\">\n</step>\n<step n=\"2\">\n", true),
            ("## Phase 1: Read\n## Phase 2: Write\n", true),
            ("  12\t## Step 1\n  13\t## Step 2\n", true),
            ("**Step 1: Read**\n\n**Step 2: Write**\n", true),
            ("## Step 1\nGo on with step 2.\n", false),
            ("# Steps\n1. Read\n2. Write\n", false),
        ] {
            assert_eq!(has_steps(text), expected, "{text}");
        }
    }
}
