//! Decides whether a new choice is accepted next to the active ones.

use super::matching::plain;
use super::pinned::{cost, pinned};
use super::{Choice, ChoiceAction, Choices, DropRule};
use crate::limits;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceRefusal {
    #[error("the pin or drop has no text")]
    Empty,
    #[error(
        "a text to drop needs at least {} letters or digits; a shorter one would match half of every view",
        limits::DROP_LETTERS_MIN
    )]
    TooShort,
    #[error("the text has {given} bytes; at most {max} can be pinned or dropped at once")]
    TooLong { given: u64, max: u64 },
    #[error("this thread already has {max} pins and drops: remove one first")]
    TooMany { max: u64 },
    #[error("all pinned texts would take {given} tokens of every view; the limit is {max}")]
    PinsTooLarge { given: u64, max: u64 },
    #[error("this is the agent's current request, which ends every view: it cannot be dropped")]
    ActiveRequest,
    #[error("the text contradicts {} {id}: remove that one first", action.into_str())]
    Contradiction { action: ChoiceAction, id: String },
}

/// Checks `new` against the active choices; `active` is the line of the current request.
pub fn admit(new: &Choice, choices: &Choices, active: Option<u64>) -> Result<(), ChoiceRefusal> {
    let letters = plain(&new.text).chars().filter(|letter| letter.is_alphanumeric()).count();
    if letters == 0 {
        return Err(ChoiceRefusal::Empty);
    }
    let (given, max) = (new.text.len() as u64, limits::CHOICE_BYTES as u64);
    if given > max {
        return Err(ChoiceRefusal::TooLong { given, max });
    }
    if choices.iter().count() >= limits::CHOICES {
        return Err(ChoiceRefusal::TooMany { max: limits::CHOICES as u64 });
    }
    match new.action {
        ChoiceAction::Pin => admit_pin(new, choices),
        ChoiceAction::Drop => admit_drop(new, choices, active, letters),
    }
}

fn admit_pin(new: &Choice, choices: &Choices) -> Result<(), ChoiceRefusal> {
    if let Some(drop) = choices.drop_of(new) {
        return Err(ChoiceRefusal::Contradiction { action: ChoiceAction::Drop, id: drop.id() });
    }
    let mut pins = choices.pins().to_vec();
    pins.push(new.clone());
    let (given, max) = (cost(&pinned(&pins, u64::MAX).text), limits::PINNED_TOKENS);
    if given > max { Err(ChoiceRefusal::PinsTooLarge { given, max }) } else { Ok(()) }
}

fn admit_drop(
    new: &Choice,
    choices: &Choices,
    active: Option<u64>,
    letters: usize,
) -> Result<(), ChoiceRefusal> {
    let rule = DropRule::of(new.clone());
    if rule.is_of(active) {
        return Err(ChoiceRefusal::ActiveRequest);
    }
    if new.items.is_none() && letters < limits::DROP_LETTERS_MIN {
        return Err(ChoiceRefusal::TooShort);
    }
    let of_pin = |pin: &&Choice| pin.text.lines().any(|line| rule.hides(&plain(line)));
    match choices.pins().iter().find(of_pin) {
        Some(pin) => Err(ChoiceRefusal::Contradiction { action: ChoiceAction::Pin, id: pin.id() }),
        None => Ok(()),
    }
}
