use super::*;

fn template_steps() -> String {
    let trees = ["alder", "birch", "cedar", "dogwood", "elm", "fir"];
    (1..).zip(trees).map(|(step, tree)| format!("{step}. Plant the {tree} there.\n")).collect()
}

/// A template whose steps are equally informative.
fn template() -> String {
    let steps = template_steps();
    format!("## User Input\n\n```text\nthe north garden\n```\n\n## Outline\n\n{steps}")
}

#[test]
fn later_steps_of_a_template_weigh_more() {
    let briefing = begun(&template());
    let quotes = quotes(&briefing, 4_000);
    let steps = quotes.iter().filter(|quote| quote.text.contains(". Plant the"));
    // The first one also names the template.
    let weights: Vec<f64> = steps.map(|quote| quote.weight).skip(1).collect();
    assert!(weights.len() > 3 && weights.is_sorted_by(|one, next| one < next), "{weights:?}");
}

#[test]
fn a_small_view_omits_completed_templates() {
    let mut briefing = begun(&template().replace("the north garden", ""));
    briefing.begin_turn(9, &template(), None);
    briefing.begin_turn(20, "Water the trees.", None);
    for (max_tokens, followed) in [(2_000, 0), (4_000, 2)] {
        let quotes = quotes(&briefing, max_tokens);
        let requests = quotes.iter().filter(|quote| quote.kind == kinds::EvidenceKind::Request);
        let requests: Vec<&str> = requests.map(|quote| quote.text.as_ref()).collect();
        let named = requests.iter().filter(|text| text.contains("template: ")).count();
        assert_eq!(named, followed, "{max_tokens}: {requests:?}");
        assert!(requests.iter().any(|text| text.contains("the north garden")), "{requests:?}");
    }
}

#[test]
fn a_template_stays_current_while_the_person_only_answers_and_a_role_until_it_ends() {
    let outline = template();
    let role = format!("{}\n<agent-activation CRITICAL=\"TRUE\">", template_steps());
    for (template, typed, is_current) in [
        (&outline, "y", true),
        (&outline, "Now water all of the trees in the other garden.", false),
        (&role, "Now water all of the trees in the other garden.", true),
    ] {
        let mut briefing = begun(template);
        briefing.hold_words(2, "The north garden is planted.");
        briefing.begin_turn(3, typed, None);
        let quotes = quotes(&briefing, 4_000);
        let steps = quotes.iter().filter(|quote| quote.kind == kinds::EvidenceKind::Template);
        let heaviest = steps.map(|quote| quote.weight).fold(0.0, f64::max);
        assert_eq!(heaviest > 0.5, is_current, "{typed}: {heaviest}");
    }
}

#[test]
fn the_words_before_pasted_text_are_the_persons_own() {
    let pasted = "The parser accepts a comment inside of a string, which is then cut.\n".repeat(90);
    let message = format!(
        "Here are some reports.\nAnalyze each of them with an agent of its own.\n\n{pasted}"
    );
    let mut briefing = begun(&message);
    briefing.hold_words(2, "All are analyzed.");
    briefing.begin_turn(3, "Go on with the first report.", None);
    let text = view_of(&briefing, 400);
    assert!(text.contains("Analyze each of them with an agent of its own."), "{text}");
}

#[test]
fn a_step_that_is_above_its_parts_is_not_written_again_as_their_heading() {
    let template = "## User Input\n\n```text\n```\n\n## Outline\n\n4. Compare the garden's plans with those of the years before and report what differs in each of them \
                    (convert the list of last year into drawings):\n   - ALWAYS read `plans/north.md` before the others\n   - ERROR if one is missing\n\
                    5. STOP when the gate is painted.\n";
    let briefing = begun(template);
    let text = view_of(&briefing, 4_000);
    assert_eq!(text.matches("4. Compare the garden's plans").count(), 1, "{text}");
    assert!(text.contains("(prompt template: Compare the garden's plans"), "{text}");
}

#[test]
fn the_step_that_the_agent_speaks_of_and_the_next_weigh_more() {
    let steps = [("alder", "gate"), ("birch", "pond"), ("cedar", "wall"), ("elm", "road")];
    let steps: String = (1..)
        .zip(steps)
        .map(|(step, (tree, place))| format!("{step}. Plant the {tree} at the {place}.\n"))
        .collect();
    let mut briefing = Briefing::default();
    briefing.begin_turn(
        1,
        &format!("## User Input\n\n```text\n```\n\n## Outline\n\n{steps}"),
        None,
    );
    let weights = |briefing: &Briefing| {
        let quotes = quotes(briefing, 4_000);
        let steps = quotes.iter().filter(|quote| quote.text.contains(". Plant the"));
        steps.map(|quote| quote.weight).collect::<Vec<f64>>()
    };
    let before = weights(&briefing);
    briefing.hold_words(2, "Next I look at the wall where the cedar goes:");
    calls(&mut briefing, 3, "c1", "ls");
    let raised: Vec<bool> =
        before.iter().zip(weights(&briefing)).map(|(one, now)| now > *one).collect();
    assert_eq!(raised, [false, false, true, true], "{before:?}");
}
