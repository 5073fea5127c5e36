//! One daemon from its start to its end or crash: chooses the next actor and runs it.

use std::fs::{self, File};
use std::io::Write as _;

use longhaul_core::choice::ChoiceAction;
use longhaul_core::compaction::Phase;
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::rollout::compose::Opening;
use longhaul_core::thread::ThreadKind;
use longhaul_store::StoreError;

use super::jobs::JobRun;
use super::turns::Actor;
use super::world::{ArchiveSettings, CompactionPromise, OwnThread, SeedFolder, World, digest};
use super::{Chance, agents};
use crate::args::Args;
use crate::clock::Clock;
use crate::config::{Config, Surroundings};
use crate::ingest::{SyncPoint, SyncTarget};
use crate::paths::Base;
use crate::recorder::Key;
use crate::service::choice::ChoiceSubject;
use crate::service::compaction::{Request, Subject};
use crate::service::recording::{Addition, Body};
use crate::service::{Deps, ServiceError, Services};

/// Job leases are a few seconds long, so that they expire; listings happen only on request.
const CONFIG: &str = "\
[ingest]\nscan_interval_s = 86400\n[jobs.compact]\nlease_s = 3\nretry_s = 1\nparallel = 2\n";

/// Time passes for ingestion in pieces of this size, so that timers of whole seconds are never due together with it.
pub(super) const BEFORE_MS: u64 = 3;
pub(super) const DEBOUNCE_MS: u64 = 20;
pub(super) const TURN_MS: u64 = BEFORE_MS + DEBOUNCE_MS;

/// A daemon whose parts move one at a time.
pub(super) struct Life {
    pub(super) place: SeedFolder,
    pub(super) world: World,
    pub(super) chance: Chance,
    /// Reads transcripts and answers clients.
    pub(super) front: Actor,
    pub(super) indexing: Actor,
    pub(super) archiving: Actor,
    pub(super) clock: Clock,
    pub(super) services: Services,
    pub(super) runs: Vec<JobRun>,
    /// A change since the last listing will never be noticed.
    pub(super) is_notice_lost: bool,
    /// It ends after this step.
    pub(super) is_over: bool,
    trace: File,
}

impl Life {
    pub(super) fn begin(place: SeedFolder) -> Self {
        let mut world = World::read(&place);
        world.life += 1;
        // The watcher died; a listing finds what it missed.
        world.changes.clear();
        world.write(&place);
        let clock = clock(&world);
        let [front, indexing, archiving] = std::array::from_fn(|_| Actor::new());
        let followers = Some([indexing.handle(), archiving.handle()]);
        configure(&place, &world.archiving);
        let deps = Deps { followers, ..Deps::new(config(&place), clock.clone()) };
        crate::folder::make_private(&deps.config.now().state_dir).unwrap();
        let services = front.run(Services::open(deps, place.file("v1.sock"))).unwrap();
        let chance = Chance::new(world.seed.wrapping_mul(1_000).wrapping_add(world.life));
        let trace = File::options().append(true).create(true).open(place.file("trace")).unwrap();
        let mut life = Self {
            place,
            world,
            chance,
            front,
            indexing,
            archiving,
            clock,
            services,
            runs: Vec::new(),
            is_notice_lost: false,
            is_over: false,
            trace,
        };
        life.say("starts");
        life.catch_up();
        // Opens it.
        life.index();
        life.check_made_again();
        life.rescue();
        life.check_promises();
        life
    }

    pub(super) fn run(mut self) -> ! {
        for _ in 0..self.world.steps {
            self.world.step += 1;
            self.clock.advance_ms(i64::try_from(self.chance.below(400)).unwrap());
            let done = self.step();
            self.say(&done);
            self.check_rows();
            self.save();
            if self.is_over && !self.world.is_last {
                break;
            }
        }
        if self.world.is_last {
            self.settle();
            self.check_all();
            self.say("is as it should be");
        }
        // Closes nothing: a process may end at any time.
        std::process::exit(0);
    }

    pub(super) fn say(&mut self, what: &str) {
        writeln!(self.trace, "{}.{} {what}", self.world.life, self.world.step).unwrap();
    }

    pub(super) fn save(&mut self) {
        let now = self.clock.moment();
        (self.world.wall_ms, self.world.boot_ms) = (now.wall_ms, now.boot_ms);
        self.world.write(&self.place);
    }

    fn step(&mut self) -> String {
        match self.chance.below(100) {
            0..22 => agents::act(&mut self.world, &self.place, &mut self.chance),
            22..35 => self.notice(),
            35..38 => self.scan(),
            38..42 => self.sync(),
            42..48 => self.append(),
            48..52 => self.compact(),
            52..54 => self.undo(),
            54..57 => self.pin(),
            57..60 => self.start_job(),
            60..71 => self.job(),
            71..77 => self.archive(),
            77..79 => self.index(),
            79..82 => self.write_log(),
            82..85 => self.set_clock(),
            85 => self.verify(),
            86..88 => self.forget(),
            88..90 => self.erase(),
            90..93 => self.restore(),
            93..97 => self.set_bounds(),
            97..99 => self.set_redaction(),
            _ => {
                self.services.ingest.forget_folds();
                "folds are dropped".to_owned()
            }
        }
    }

    pub(super) fn scan(&mut self) -> String {
        self.front.run(self.services.ingest.scan()).unwrap();
        self.is_notice_lost = false;
        "everything is listed".to_owned()
    }

    /// A thread of an agent, or a recorded one.
    pub(super) fn some_thread(&mut self) -> String {
        let own = self.world.own.as_ref().map(|own| own.thread_id.clone());
        let count = self.world.transcripts.len() as u64 + u64::from(own.is_some());
        let at = usize::try_from(self.chance.below(count)).unwrap();
        self.world
            .transcripts
            .get(at)
            .map_or_else(|| own.unwrap_or_default(), |transcript| transcript.thread_id.clone())
    }

    /// The number of a thread of an agent, rather one that was deleted.
    pub(super) fn some_transcript(&mut self) -> usize {
        let mut numbers: Vec<usize> = (0..self.world.transcripts.len()).collect();
        let is_gone = |at: &usize| self.world.transcripts[*at].path.is_none();
        if numbers.iter().any(is_gone) && self.chance.below(4) > 0 {
            numbers.retain(is_gone);
        }
        numbers[usize::try_from(self.chance.below(numbers.len() as u64)).unwrap()]
    }

    fn sync(&mut self) -> String {
        let target = SyncTarget::Thread(self.some_thread());
        let wait = std::time::Duration::from_secs(5);
        let synced =
            self.front.run(self.services.thread.threads.sync(target, SyncPoint::default(), wait));
        outcome("sync", &synced)
    }

    fn append(&mut self) -> String {
        let key = Key::Client("editor".to_owned());
        let opened = match self.front.run(self.services.thread.recordings.open(key, opening())) {
            Ok(opened) => opened,
            Err(error) => return outcome("open", &Err::<(), _>(error)),
        };
        let fresh = || OwnThread {
            thread_id: opened.thread_id.clone(),
            path: opened.path.clone(),
            answered: Vec::new(),
            open: Vec::new(),
        };
        let own = self.world.own.get_or_insert_with(fresh);
        assert_eq!(own.thread_id, opened.thread_id, "a thread that was opened is lost");
        let first = self.world.count + 1;
        self.world.count += 1 + self.chance.below(3);
        let ids: Vec<String> = (first..=self.world.count).map(|id| format!("i{id:06}")).collect();
        own.open.extend(ids.iter().cloned());
        let thread_id = own.thread_id.clone();
        self.save();
        let addition = |id: &String| Addition {
            client_item_id: id.clone(),
            body: Body::Item(super::message("user", &format!("Item {id}. ").repeat(20))),
        };
        let additions = ids.iter().map(addition).collect();
        let done =
            self.front.run(self.services.thread.recordings.append(&thread_id, additions, None));
        if done.is_ok()
            && let Some(own) = &mut self.world.own
        {
            own.open.retain(|id| !ids.contains(id));
            own.answered.extend(ids);
        }
        outcome("append", &done)
    }

    fn compact(&mut self) -> String {
        let thread_id = self.some_thread();
        let asked = self.request(thread_id.clone());
        let made = self.front.run(self.services.compaction.compactor.run(asked));
        if let Ok(made) = &made
            && !made.warnings.iter().any(|warning| warning.kind == "not_kept")
        {
            let view = digest(made.view.as_bytes());
            self.world.compactions.push(CompactionPromise {
                id: made.id.clone(),
                thread_id,
                view,
                is_undone: false,
            });
        }
        outcome("compact", &made)
    }

    pub(super) fn request(&mut self, thread_id: String) -> Request {
        let is_own = self.world.own.as_ref().is_some_and(|own| own.thread_id == thread_id);
        Request {
            agent_step: None,
            install: is_own && self.chance.below(2) == 0,
            subject: Subject::Thread { thread_id, as_of: None },
            strategy: Strategy::Checkpoint,
            phase: Phase::Standalone,
            trigger: "manual".to_owned(),
            reason: None,
            max_tokens: Some(600),
            initial_context: Vec::new(),
            finds_context: false,
            model: None,
            deadline_ms: None,
            reader: None,
            templates: std::collections::BTreeMap::new(),
            focus: None,
            redacted: 0,
        }
    }

    fn undo(&mut self) -> String {
        let count = self.world.compactions.len() as u64;
        if count == 0 {
            return "nothing to undo".to_owned();
        }
        let at = usize::try_from(self.chance.below(count)).unwrap();
        let id = self.world.compactions[at].id.clone();
        let undone = self.front.run(self.services.compaction.undo.run(&id));
        self.world.compactions[at].is_undone |= undone.is_ok();
        outcome("undo", &undone)
    }

    fn pin(&mut self) -> String {
        let thread_id = self.some_thread();
        let text = format!("Keep rule {} in mind.", self.world.next());
        let subject = ChoiceSubject::Text(text.clone());
        let chosen =
            self.services.checkpoint.choices.choose(&thread_id, ChoiceAction::Pin, &subject);
        let chosen = self.front.run(chosen);
        if chosen.is_ok() {
            self.world.pins.push((thread_id, text));
        }
        outcome("pin", &chosen)
    }

    /// Checkpoints SQLite's log into the database, which may then be sealed.
    fn write_log(&mut self) -> String {
        // A whole number of turns, so that nothing else is due with it.
        self.front.pass(TURN_MS * 44);
        if self.chance.below(2) == 0 {
            self.front.pass(TURN_MS * 1_350);
        }
        "the log is written".to_owned()
    }

    fn set_clock(&mut self) -> String {
        let (chance, now_ms) = (self.chance.below(6), self.clock.now_ms());
        let some_ms = i64::try_from(self.chance.below(1_000)).unwrap();
        match chance {
            0 => self.clock.set_wall_ms(now_ms - 3_600_000 - some_ms),
            1 => self.clock.set_wall_ms(now_ms + 86_400_000 + some_ms),
            2 => self.clock.set_wall_ms(now_ms + 365 * 86_400_000 + some_ms),
            // The machine sleeps past every lease.
            3 => self.clock.advance_ms(20_000 + some_ms),
            _ => self.clock.advance_ms(1_000 + some_ms),
        }
        format!("clock {chance}")
    }
}

/// The description of a call; there is no reason for an error of the store.
pub(super) fn outcome<T>(what: &str, done: &Result<T, ServiceError>) -> String {
    match done {
        Ok(_) => format!("{what}: done"),
        Err(ServiceError::Store(error) | ServiceError::BytesLeft { cause: error, .. })
            if !matches!(error, StoreError::Fenced(_) | StoreError::Erased { .. }) =>
        {
            panic!("{what}: {error}")
        }
        Err(error) => {
            let words = format!("{error:?}");
            let name = words.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            format!("{what}: {name}")
        }
    }
}

fn clock(world: &World) -> Clock {
    let clock = Clock::manual(world.wall_ms);
    (0..world.boots).for_each(|_| clock.reboot());
    clock.advance_ms(i64::try_from(world.boot_ms).unwrap());
    clock.set_wall_ms(world.wall_ms);
    clock
}

/// Writes the configuration file.
pub(super) fn configure(place: &SeedFolder, archiving: &ArchiveSettings) {
    let file = Base::under(&place.home()).config_file();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("{CONFIG}{}", super::bounds::table(archiving))).unwrap();
}

fn config(place: &SeedFolder) -> Config {
    let base = Base::under(&place.home());
    let around = Surroundings {
        base,
        current_dir: place.home(),
        program: "/nowhere".into(),
        env: std::collections::BTreeMap::new(),
    };
    Config::load(&Args::default(), &around).unwrap()
}

fn opening() -> Opening {
    Opening {
        thread_id: String::new(),
        client_thread_id: Some("editor".to_owned()),
        cwd: "/w/app".to_owned(),
        originator: "test".to_owned(),
        version: None,
        title: None,
        kind: ThreadKind::Interactive,
        parent_thread_id: None,
        model: None,
        context_window: None,
    }
}
