use super::*;

/// A template whose steps are equally informative.
fn template() -> String {
    let trees = ["alder", "birch", "cedar", "dogwood", "elm", "fir"];
    let steps = (1..).zip(trees).map(|(step, tree)| format!("{step}. Plant the {tree} there.\n"));
    let steps: String = steps.collect();
    format!("## User Input\n\n```text\nthe north garden\n```\n\n## Outline\n\n{steps}")
}

#[test]
fn later_steps_of_a_template_weigh_more() {
    let mut briefing = Briefing::default();
    briefing.begin_turn(1, &template(), None);
    let extra = Extra::default();
    let (quotes, _) = gather::gather(&briefing, &extra, 4_000);
    let steps = quotes.iter().filter(|quote| quote.text.contains(". Plant the"));
    // The first one also names the template.
    let weights: Vec<f64> = steps.map(|quote| quote.weight).skip(1).collect();
    assert!(weights.len() > 3 && weights.is_sorted_by(|one, next| one < next), "{weights:?}");
}

#[test]
fn a_small_view_omits_completed_templates() {
    let mut briefing = Briefing::default();
    briefing.begin_turn(1, &template().replace("the north garden", ""), None);
    briefing.begin_turn(9, &template(), None);
    briefing.begin_turn(20, "Water the trees.", None);
    let extra = Extra::default();
    for (max_tokens, followed) in [(2_000, 0), (4_000, 2)] {
        let (quotes, _) = gather::gather(&briefing, &extra, max_tokens);
        let requests = quotes.iter().filter(|quote| quote.kind == kinds::EvidenceKind::Request);
        let requests: Vec<&str> = requests.map(|quote| quote.text.as_ref()).collect();
        let named = requests.iter().filter(|text| text.contains("template: ")).count();
        assert_eq!(named, followed, "{max_tokens}: {requests:?}");
        assert!(requests.iter().any(|text| text.contains("the north garden")), "{requests:?}");
    }
}
