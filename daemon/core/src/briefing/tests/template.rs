use super::*;

/// A template whose steps say as much as each other.
fn template() -> String {
    let trees = ["alder", "birch", "cedar", "dogwood", "elm", "fir"];
    let steps = (1..).zip(trees).map(|(step, tree)| format!("{step}. Plant the {tree} there.\n"));
    let steps: String = steps.collect();
    format!("## User Input\n\n```text\nthe north garden\n```\n\n## Outline\n\n{steps}")
}

#[test]
fn later_steps_of_a_template_weigh_more() {
    let mut briefing = Briefing::default();
    briefing.request(1, &template(), None);
    let (quotes, _) = gather::gather(&briefing, &Extra::default(), 4_000);
    let steps = quotes.iter().filter(|quote| quote.text.contains(". Plant the"));
    // The first one names the template, too.
    let weights: Vec<f64> = steps.map(|quote| quote.weight).skip(1).collect();
    assert!(weights.len() > 3 && weights.is_sorted_by(|one, next| one < next), "{weights:?}");
}
