//! What the agent provably needed from memory: names that it used after a cut and had seen before the cut, that no
//! client injects and that were not shown again in between.

use std::collections::{HashMap, HashSet};

use crate::cut::CutPlace;
use crate::entity::{Entity, Extractor, command_entity, flatten};
use crate::evaluate::StopList;
use crate::transcript::{Call, StepKind, Transcript};
use crate::view::text_names;

/// Tool calls after the cut that count.
const HORIZON_CALLS: usize = 80;

/// A name the agent needed.
#[derive(Debug, Clone)]
pub struct Gold {
    pub entity: Entity,
    /// First use, in calls after the cut: 1 is the very next call, at most [`HORIZON_CALLS`].
    pub distance: usize,
}

/// Where each name occurs in one transcript.
#[derive(Debug)]
pub struct Index {
    /// Ascending step numbers by name.
    occurrences: HashMap<Entity, Vec<usize>>,
    /// The names in each call's arguments, in order.
    uses: HashMap<usize, Vec<Entity>>,
    /// Step numbers of the calls.
    calls: Vec<usize>,
    /// All injected text and the working directories, flattened.
    context: String,
}

impl Index {
    pub fn new(transcript: &Transcript, extractor: &Extractor) -> Self {
        let mut index = Self {
            occurrences: HashMap::new(),
            uses: HashMap::new(),
            calls: Vec::new(),
            context: flatten(&transcript.cwds.join(" ")),
        };
        for (number, step) in transcript.steps.iter().enumerate() {
            match &step.kind {
                StepKind::Context(text) => {
                    index.context.push(' ');
                    index.context.push_str(&flatten(text));
                }
                StepKind::User { text, .. } | StepKind::Assistant(text) => {
                    index.read(text, number, (transcript, extractor));
                }
                StepKind::Output(output) => {
                    index.read(&output.text, number, (transcript, extractor));
                }
                StepKind::Call(call) => {
                    index.calls.push(number);
                    let uses = uses_of(call, transcript, extractor);
                    for entity in &uses {
                        index.occurs(entity.clone(), number);
                    }
                    index.uses.insert(number, uses);
                }
            }
        }
        index
    }

    /// Every name of the transcript, for the stop list.
    pub fn entities(&self) -> impl Iterator<Item = &Entity> {
        self.occurrences.keys()
    }

    /// The gold of a cut, in order of first use.
    pub fn gold(&self, transcript: &Transcript, place: CutPlace, stop: &StopList) -> Vec<Gold> {
        let hidden = place.first_hidden;
        let next_call = self.calls.partition_point(|&call| call < hidden);
        let window = self.calls[next_call..].iter().take(HORIZON_CALLS).copied();
        let mut met: HashSet<&Entity> = HashSet::new();
        let mut gold = Vec::new();
        for (number, call) in window.enumerate() {
            for entity in self.uses.get(&call).map(Vec::as_slice).unwrap_or_default() {
                if !met.insert(entity) || stop.holds(entity) || !self.is_met_before(entity, hidden)
                {
                    continue;
                }
                let is_free = text_names(&self.context, entity)
                    || self.is_observed(entity, hidden..call, transcript);
                if !is_free {
                    gold.push(Gold { entity: entity.clone(), distance: number + 1 });
                }
            }
        }
        gold
    }

    fn read(&mut self, text: &str, step: usize, by: (&Transcript, &Extractor)) {
        let (transcript, extractor) = by;
        extractor.extract(text, transcript, &mut |entity| self.occurs(entity, step));
    }

    fn occurs(&mut self, entity: Entity, step: usize) {
        let steps = self.occurrences.entry(entity).or_default();
        if steps.last() != Some(&step) {
            steps.push(step);
        }
    }

    fn is_met_before(&self, entity: &Entity, step: usize) -> bool {
        let first = self.occurrences.get(entity).and_then(|steps| steps.first());
        first.is_some_and(|first| *first < step)
    }

    /// Checks the index first, which is cheap, then the text, which is thorough.
    fn is_observed(
        &self,
        entity: &Entity,
        between: std::ops::Range<usize>,
        transcript: &Transcript,
    ) -> bool {
        let steps = self.occurrences.get(entity).map(Vec::as_slice).unwrap_or_default();
        let from = steps.partition_point(|&step| step < between.start);
        let indexed = steps[from..].iter().take_while(|&&step| step < between.end);
        if indexed.into_iter().any(|&step| transcript.steps[step].is_observation()) {
            return true;
        }
        transcript.steps[between].iter().any(|step| match &step.kind {
            StepKind::User { text, .. } => text_names(text, entity),
            StepKind::Output(output) => text_names(&output.text, entity),
            _ => false,
        })
    }
}

/// The names in a call's arguments, each once.
fn uses_of(call: &Call, transcript: &Transcript, extractor: &Extractor) -> Vec<Entity> {
    let mut uses: Vec<Entity> = Vec::new();
    let mut met = HashSet::new();
    let mut add = |entity: Entity| {
        if met.insert(entity.clone()) {
            uses.push(entity);
        }
    };
    call.command.as_deref().and_then(command_entity).into_iter().for_each(&mut add);
    for argument in &call.arguments {
        extractor.extract(argument, transcript, &mut add);
    }
    uses
}
