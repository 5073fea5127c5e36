//! Fills what is left of a view with files and names in play, best first.
//!
//! Each candidate has a *gain*, the chance that the agent needs it next, and a cost in bytes. Names
//! stand on the line of their file or command, so a line and its best names are offered together,
//! as many of them as make the offer best; the other names follow one by one. Offers are taken by
//! gain per byte until the budget is used.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::super::files::{File, FileState};
use super::super::terms::{Anchor, Term, TermKind};
use super::draft::{Draft, Line, Place, Section};
use super::{Scene, ViewCaps, lines};

/// Offers that may not fit before filling ends: the rest are worse, and small ones still fit.
const MISSES_MAX: usize = 48;

/// Bytes between names on a line.
const SEPARATOR_BYTES: usize = 1;

/// A line that does not stand yet, and names for it.
struct Group<'a> {
    place: Place,
    /// `None` when the draft has it.
    line: Option<Line>,
    /// Chance that the line itself is needed, in millionths.
    gain: u64,
    names: Vec<Name<'a>>,
}

struct Name<'a> {
    text: &'a str,
    gain: u64,
}

/// The next thing that may be added: a group's line with its first `names`, or one name more.
struct Offer {
    density: u64,
    group: usize,
    first: usize,
    names: usize,
}

/// Adds files and names until the budget is used.
pub(super) fn fill(draft: &mut Draft, scene: &Scene<'_>, caps: &ViewCaps) {
    let mut groups = groups(draft, scene);
    let mut offers = Vec::new();
    for (index, group) in groups.iter_mut().enumerate() {
        group.names.sort_by(|a, b| b.density().cmp(&a.density()).then_with(|| a.text.cmp(b.text)));
        offer(index, group, &mut offers);
    }
    // Stable: groups come in the order of their places.
    offers.sort_by_key(|offer| std::cmp::Reverse(offer.density));
    let mut misses = 0;
    let mut artifacts = draft.lines(Section::Recent).len();
    for offer in offers {
        let group = &mut groups[offer.group];
        let offered = offer.first..offer.first + offer.names;
        if group.line.is_some() {
            if artifacts >= caps.max_recent_artifacts {
                continue;
            }
            match open(draft, group, offered.clone()) {
                Opening::Done => artifacts += 1,
                Opening::Needless => continue,
                Opening::NoRoom => {
                    misses += 1;
                    continue;
                }
            }
        }
        for name in &group.names[offered] {
            let missed = !draft.holds(name.text) && !draft.name(&group.place, name.text);
            misses += usize::from(missed);
        }
        if misses > MISSES_MAX || draft.room() < 8 {
            break;
        }
    }
}

/// What came of adding a group's line.
enum Opening {
    Done,
    /// The names offered with it stand elsewhere; a later name may still be worth the line.
    Needless,
    NoRoom,
}

/// Adds a group's line. One that only says where names are from enters with a name that is new, or
/// not at all.
fn open(draft: &mut Draft, group: &mut Group<'_>, offered: Range<usize>) -> Opening {
    let Some(line) = group.line.clone() else { return Opening::Done };
    if group.gain == 0 || offered.start > 0 {
        let new = group.names[offered].iter().find(|name| !draft.holds(name.text));
        let Some(new) = new else { return Opening::Needless };
        if line.text.len() + new.text.len() + 4 > draft.room() {
            return Opening::NoRoom;
        }
    }
    if !draft.push(Section::Recent, line) {
        return Opening::NoRoom;
    }
    group.line = None;
    Opening::Done
}

impl Name<'_> {
    fn density(&self) -> u64 {
        self.gain * 16 / (self.text.len() + SEPARATOR_BYTES) as u64
    }
}

/// Offers of one group. A line is offered with as many names as make the offer densest.
fn offer(index: usize, group: &Group<'_>, offers: &mut Vec<Offer>) {
    let mut first = 0;
    if let Some(line) = &group.line {
        let (mut gain, mut cost) = (group.gain, line.text.len() as u64 + 1);
        let mut best = Offer { density: gain * 16 / cost, group: index, first: 0, names: 0 };
        for (count, name) in group.names.iter().enumerate() {
            gain += name.gain;
            cost += (name.text.len() + SEPARATOR_BYTES) as u64;
            let density = gain * 16 / cost;
            if density > best.density {
                best.density = density;
                best.names = count + 1;
            }
        }
        first = best.names;
        offers.push(best);
    }
    for (at, name) in group.names.iter().enumerate().skip(first) {
        offers.push(Offer { density: name.density(), group: index, first: at, names: 1 });
    }
}

/// Every file that has no line, and every name by its place.
fn groups<'a>(draft: &Draft, scene: &Scene<'a>) -> Vec<Group<'a>> {
    let mut by_place: BTreeMap<Place, Group<'a>> = BTreeMap::new();
    let mut paths = HashSet::new();
    for (key, file) in scene.state.files.iter() {
        let shown = lines::shown_path(scene, key, file);
        paths.insert(shown);
        if scene.state.cwd.as_deref() == Some(key) {
            // It stands in the header.
            continue;
        }
        let gain = file_gain(scene, shown, file);
        match file.state {
            FileState::Edited | FileState::Created | FileState::Deleted => {}
            FileState::Read => {
                let place = Place::File(key.to_owned());
                let line = Some(lines::file_line(scene, key, file, draft.is_priced()));
                by_place.insert(place.clone(), Group { place, line, gain, names: Vec::new() });
            }
            FileState::Named | FileState::Searched => {
                let place = Place::Files(file.state);
                let group = by_place.entry(place.clone()).or_insert_with(|| {
                    let line = Some(source_line(draft, scene, &place));
                    Group { place, line, gain: 0, names: Vec::new() }
                });
                group.names.push(Name { text: shown, gain });
            }
        }
    }
    for (text, term) in scene.state.terms.iter() {
        if term.kind == TermKind::Path && paths.contains(text) {
            continue;
        }
        let place = place_of(&term.anchor);
        let group = by_place.entry(place.clone()).or_insert_with(|| {
            let line = (!draft.has(&place)).then(|| source_line(draft, scene, &place));
            Group { place, line, gain: 0, names: Vec::new() }
        });
        group.names.push(Name { text, gain: term_gain(scene, text, term) });
    }
    // Files are no crowd: each was touched for its own sake.
    let places = by_place.values_mut().filter(|group| !matches!(group.place, Place::Files(_)));
    for group in places {
        let crowd = group.names.len() as u64;
        for name in &mut group.names {
            name.gain = name.gain * CROWD / (CROWD + crowd);
        }
    }
    joined(by_place)
}

/// The groups in the order of their places. Names of commands that would be told by the same words,
/// as calls of one tool are, stand on one line: that of the newest.
fn joined(mut by_place: BTreeMap<Place, Group<'_>>) -> Vec<Group<'_>> {
    let mut newest: HashMap<String, Place> = HashMap::new();
    let mut older = Vec::new();
    for (place, group) in &by_place {
        let (Place::Command(_), Some(line)) = (place, &group.line) else { continue };
        if let Some(before) = newest.insert(line.text.clone(), place.clone()) {
            older.push((before, line.text.clone()));
        }
    }
    for (place, text) in older {
        let names = by_place.remove(&place).map_or_else(Vec::new, |group| group.names);
        if let Some(group) = newest.get(&text).and_then(|place| by_place.get_mut(place)) {
            group.names.extend(names);
        }
    }
    by_place.into_values().collect()
}

fn place_of(anchor: &Anchor) -> Place {
    match anchor {
        Anchor::File(key) => Place::File(key.to_string()),
        Anchor::Command(seq) => Place::Command(*seq),
        Anchor::Talk => Place::Talk,
    }
}

/// Names at one place that halve the chance of each.
const CROWD: u64 = 64;

/// Chance that a file is needed next, in millionths.
fn file_gain(scene: &Scene<'_>, shown: &str, file: &File) -> u64 {
    let age = scene.state.calls_since(file.seq);
    let term = scene.state.terms.get(shown);
    let repeat = term.map_or(100, |term| term.repeat_percent(scene.state.calls));
    let base = match file.state {
        FileState::Named => 120_000,
        FileState::Searched => 50_000,
        _ => 250_000 + 60_000 * u64::from(file.reads.saturating_sub(1).min(4)),
    };
    base * 8 / (8 + age) * repeat / 100
}

/// Chance that a name is needed next, in millionths. Names of a new file are needed more: the work
/// is there, and nothing else names them.
fn term_gain(scene: &Scene<'_>, text: &str, term: &Term) -> u64 {
    let gain = term.gain(text, scene.state.calls);
    match &term.anchor {
        Anchor::File(key)
            if scene.state.files.get(key).map(|file| file.state) == Some(FileState::Created) =>
        {
            gain * 2
        }
        _ => gain,
    }
}

/// Says where names are from, or what became of them, when their place has no line of its own.
fn source_line(draft: &Draft, scene: &Scene<'_>, place: &Place) -> Line {
    let text = match place {
        Place::File(key) => match scene.state.files.get(key) {
            Some(file) => return lines::file_line(scene, key, file, draft.is_priced()),
            None => format!("- file: {}", lines::below_cwd(scene, key)),
        },
        Place::Command(seq) => lines::source_of(scene, *seq),
        Place::Talk => "- mentioned".to_owned(),
        Place::Files(state) => format!("- {}", state.word()),
    };
    Line::at(0, place.clone(), text)
}
