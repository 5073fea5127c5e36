//! Attributes the tokens of an item to kinds of content.

use super::{Item, Role, contextual};
use crate::item::breakdown::{Breakdown, ContextKind};
use crate::tokens;

/// Prefixes of developer messages that are initial context besides the settings of a turn.
const INSTRUCTIONS: [&str; 3] =
    ["<skills_instructions>", "<apps_instructions>", "<plugins_instructions>"];

/// Splits the `tokens` of an item: its inline images, and the rest by its kind.
pub fn weigh(item: &Item<'_>, tokens: u64) -> Breakdown {
    let images = match item {
        Item::Message { images, .. } | Item::Output { images, .. } => {
            tokens::of_bytes(images.cost).min(tokens)
        }
        _ => 0,
    };
    let mut breakdown = Breakdown::of(kind(item), tokens - images);
    breakdown.add(&Breakdown::of(ContextKind::Images, images));
    breakdown
}

fn kind(item: &Item<'_>) -> ContextKind {
    match item {
        Item::Message { role: Role::User, text, images } => user_kind(text, images.count > 0),
        Item::Message { role: Role::Assistant, .. } => ContextKind::Assistant,
        Item::Message { role: Role::Developer, text, .. } => {
            let text = text.trim_start();
            let is_initial = contextual::is_settings(text)
                || INSTRUCTIONS.iter().any(|opening| text.starts_with(opening));
            if is_initial { ContextKind::InitialContext } else { ContextKind::System }
        }
        Item::Reasoning { .. } => ContextKind::Reasoning,
        Item::Call(_) => ContextKind::ToolCalls,
        Item::Output { .. } => ContextKind::ToolOutputs,
        Item::Opaque { .. } => ContextKind::Summary,
        Item::Other { .. } | Item::Invisible => ContextKind::Other,
    }
}

fn user_kind(text: &str, has_images: bool) -> ContextKind {
    if contextual::is_summary(text) {
        ContextKind::Summary
    } else if contextual::request(text).is_some() || (text.trim().is_empty() && has_images) {
        ContextKind::User
    } else {
        ContextKind::InitialContext
    }
}

/// Whether the model wrote the item, so that its provider's count includes it.
pub fn is_from_model(item: &Item<'_>) -> bool {
    matches!(
        item,
        Item::Message { role: Role::Assistant, .. }
            | Item::Reasoning { .. }
            | Item::Call(_)
            | Item::Opaque { .. }
            | Item::Other { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::Images;

    #[test]
    fn messages_in_the_persons_role_are_told_apart() {
        let image = Images { count: 1, bytes: 8, cost: 40 };
        let none = Images::default();
        for (text, images, kind, tokens) in [
            ("Fix it.", none, ContextKind::User, 100),
            ("", image, ContextKind::User, 90),
            ("", none, ContextKind::InitialContext, 100),
            (
                "<environment_context>x</environment_context>",
                none,
                ContextKind::InitialContext,
                100,
            ),
            (
                "<environment_context>x</environment_context>",
                image,
                ContextKind::InitialContext,
                90,
            ),
            ("[SESSION_CHECKPOINT v1]\nx", none, ContextKind::Summary, 100),
            (
                "The conversation so far was compacted. Below\n[SESSION_CHECKPOINT v1]",
                none,
                ContextKind::Summary,
                100,
            ),
            ("\n[HANDOFF_SUMMARY v1]\nx", none, ContextKind::Summary, 100),
        ] {
            let item = Item::Message { role: Role::User, text: text.into(), images };
            let found = weigh(&item, 100);
            assert_eq!((found.get(kind), found.total()), (tokens, 100), "{text} {images:?}");
            assert_eq!(found.get(ContextKind::Images), 100 - tokens, "{text} {images:?}");
        }
    }
}
