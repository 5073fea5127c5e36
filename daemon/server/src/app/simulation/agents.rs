//! Changes of transcripts by agents and people.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::Chance;
use super::world::{Change, ErasureState, SeedFolder, Transcript, World};

/// Every thread has a transcript before the first daemon.
pub(super) fn begin(world: &mut World, place: &SeedFolder, chance: &mut Chance) {
    for mut transcript in std::mem::take(&mut world.transcripts) {
        write_new(&mut transcript, world, place, chance);
        world.transcripts.push(transcript);
    }
}

/// Changes one transcript; returns a description.
pub(super) fn act(world: &mut World, place: &SeedFolder, chance: &mut Chance) -> String {
    let at = usize::try_from(chance.below(world.transcripts.len() as u64)).unwrap();
    let mut transcript = world.transcripts.swap_remove(at);
    let done = change(&mut transcript, world, place, chance);
    world.transcripts.push(transcript);
    world.transcripts.sort_by(|a, b| a.thread_id.cmp(&b.thread_id));
    format!("agent {at}: {done}")
}

fn change(
    transcript: &mut Transcript,
    world: &mut World,
    place: &SeedFolder,
    chance: &mut Chance,
) -> &'static str {
    let Some(path) = transcript.path.clone() else {
        if chance.below(4) > 0 {
            return "leaves it deleted";
        }
        write_new(transcript, world, place, chance);
        return "writes a new one";
    };
    let is_compressed = path.extension().is_some_and(|end| end == "zst");
    match chance.below(100) {
        0..60 if !is_compressed => append(transcript, &path, world, chance),
        60..68 if !is_compressed => {
            let text = fs::read(&path).unwrap();
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let kept = usize::try_from(1 + chance.below(3)).unwrap();
            let length = lines.take(kept).map(<[u8]>::len).sum::<usize>().min(text.len());
            let file = File::options().write(true).open(&path).unwrap();
            file.set_len(length as u64).unwrap();
            stamp(&file, world);
            world.changes.push(Change::Written(path));
            (transcript.rest, transcript.archived) = (None, None);
            "cuts it short"
        }
        68..76 => {
            let text = text(&transcript.thread_id, world, chance);
            let (new, to) = (path.with_extension("new"), path.with_extension("jsonl"));
            let to = if is_compressed { path.with_extension("") } else { to };
            write(&new, text.as_bytes(), world);
            fs::rename(&new, &to).unwrap();
            if to != path {
                fs::remove_file(&path).unwrap();
                world.changes.push(Change::Removed(path));
            }
            world.changes.push(Change::Renamed(new, to.clone()));
            (transcript.path, transcript.rest, transcript.archived) = (Some(to), None, None);
            "puts another in its place"
        }
        76..84 => {
            let is_archived = path.starts_with(folder(place, true));
            let to = folder(place, !is_archived).join(path.file_name().unwrap());
            fs::rename(&path, &to).unwrap();
            world.changes.push(Change::Renamed(path, to.clone()));
            transcript.path = Some(to);
            "moves it"
        }
        84..92 if !is_compressed && transcript.rest.is_none() => {
            let to = PathBuf::from(format!("{}.zst", path.display()));
            let text = zstd::encode_all(fs::read(&path).unwrap().as_slice(), 1).unwrap();
            write(&to, &text, world);
            fs::remove_file(&path).unwrap();
            world.changes.extend([Change::Created(to.clone()), Change::Removed(path)]);
            transcript.path = Some(to);
            "compresses it"
        }
        _ => {
            fs::remove_file(&path).unwrap();
            world.changes.push(Change::Removed(path));
            (transcript.path, transcript.rest) = (None, None);
            "deletes it"
        }
    }
}

fn append(
    transcript: &mut Transcript,
    path: &Path,
    world: &mut World,
    chance: &mut Chance,
) -> &'static str {
    let mut text = transcript.rest.take().unwrap_or_default();
    for _ in 0..1 + chance.below(3) {
        text.push_str(&line(&transcript.thread_id, world, chance));
    }
    let is_torn = chance.below(5) == 0;
    if is_torn {
        let rest = text.split_off(text.len() - 1 - usize::try_from(chance.below(60)).unwrap());
        transcript.rest = Some(rest);
    }
    let mut file = File::options().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    stamp(&file, world);
    world.changes.push(Change::Written(path.to_owned()));
    if is_torn { "appends half a line" } else { "appends" }
}

fn folder(place: &SeedFolder, is_archived: bool) -> PathBuf {
    let below = if is_archived { "archived_sessions" } else { "sessions/2026/03/02" };
    let folder = place.agents().join(below);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn name(thread_id: &str) -> String {
    format!("rollout-2026-03-02T09-14-07-{thread_id}.jsonl")
}

fn text(thread_id: &str, world: &mut World, chance: &mut Chance) -> String {
    let meta = json!({
        "timestamp": "2026-03-02T09:14:07.000Z", "type": "session_meta",
        "payload": { "id": thread_id, "cwd": "/w/app", "originator": "codex_cli_rs", "cli_version": "0.130.0" },
    });
    let lines: String = (0..2 + chance.below(12)).map(|_| line(thread_id, world, chance)).collect();
    format!("{meta}\n{lines}")
}

fn write_new(
    transcript: &mut Transcript,
    world: &mut World,
    place: &SeedFolder,
    chance: &mut Chance,
) {
    let path = folder(place, false).join(name(&transcript.thread_id));
    let text = text(&transcript.thread_id, world, chance);
    write(&path, text.as_bytes(), world);
    world.changes.push(Change::Created(path.clone()));
    (transcript.path, transcript.rest, transcript.archived) = (Some(path), None, None);
    if let ErasureState::Yes { is_written_again, .. } = &mut transcript.erased {
        *is_written_again = true;
    }
}

/// A unique line of a transcript.
fn line(thread_id: &str, world: &mut World, chance: &mut Chance) -> String {
    let number = world.next();
    let words = format!("step {number} of {thread_id} ");
    let words = words.repeat(usize::try_from(1 + chance.below(40)).unwrap());
    let payload = match chance.below(8) {
        0..2 => super::message("user", &format!("Take credential {} for {words}", secret(number))),
        2 => super::message("user", &format!("Please do {words}")),
        3..6 => super::message("assistant", &format!("I did {words}")),
        _ => json!({
            "type": "function_call", "name": "exec_command", "call_id": format!("call_{number}"),
            "arguments": json!({ "cmd": format!("cargo test {number}") }).to_string(),
        }),
    };
    let second = number % 60;
    let at = format!("2026-03-02T09:15:{second:02}.000Z");
    let line = json!({ "timestamp": at, "type": "response_item", "payload": payload });
    format!("{line}\n")
}

/// The end of all secrets.
pub(super) const SECRET_END: &[u8] = b"a1B2c3D4e5F6g7H8i9J0k1L2m3N4";

/// A token of a known form.
fn secret(number: u64) -> String {
    ["gh", "p_", &format!("{number:08}"), str::from_utf8(SECRET_END).unwrap()].concat()
}

fn write(path: &Path, bytes: &[u8], world: &mut World) {
    let mut file = File::create(path).unwrap();
    file.write_all(bytes).unwrap();
    stamp(&file, world);
}

/// Sets the time of a file to the simulation's: no two changes have the same.
fn stamp(file: &File, world: &mut World) {
    let at = Duration::from_secs(1_763_700_000) + Duration::from_micros(world.next() * 1_003);
    file.set_modified(UNIX_EPOCH + at).unwrap();
}
