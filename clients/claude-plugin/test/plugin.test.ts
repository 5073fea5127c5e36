// The module as the engine runs it, with an engine made of values.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { EngineInterface, On, SessionCompactInput, SessionCompactResult, SessionMessage, TurnCompleteInput } from "claude-code";
import { register } from "../hooks/longhaul";

const FAILED = new Error("not available in a headless session");

type Ran = { argv: readonly string[]; payload: Record<string, unknown> };

/** A session: what the program will print, what it was asked, what the person and doctor were told. */
function session(print: (event: string) => string, { isOld = false, isHeadless = false, isPinned = false, env = {} as Record<string, string> } = {}) {
  const hooks = new Map<string, (...of: never[]) => Promise<unknown>>();
  const ran: Ran[] = [];
  const told: string[] = [];
  const compactions: string[] = [];
  const stored: Record<string, unknown>[] = [];
  const known = async <T>(value: T): Promise<T> => {
    if (isOld) throw new TypeError("it is not a function");
    return value;
  };
  const engine: EngineInterface = {
    process: {
      run: async (argv, init) => {
        ran.push({ argv, payload: JSON.parse(init?.stdin ?? "{}") });
        return { exitCode: 0, stdout: print(argv[argv.length - 3] ?? ""), stderr: "" };
      },
    },
    session: {
      info: () => known({ transcriptPath: "/p/s.jsonl" }),
      usage: () => known({ context: { window: 200_000, tokens: 90_000 } }),
      // The engine asks its plugins, this one among them.
      compact: async () => {
        if (isHeadless) throw FAILED;
        compactions.push("plugin");
        const made = await raise("session.compact", { trigger: "plugin", messages: MESSAGES }, async () => OWN);
        return made as { skip?: string };
      },
    },
    env: {
      get: (name) => known(env[name]),
      set: async (name, value) => {
        await known(undefined);
        if (isPinned) return { deny: "a policy pins it" };
        if (value === undefined) delete env[name];
        else env[name] = value;
        return undefined;
      },
    },
    store: { get: async () => undefined, set: async (_key, value) => void stored.push(value as Record<string, unknown>) },
    ui: { log: (text) => void told.push(text) },
  };
  register(((event: string, hook: never) => hooks.set(event, hook)) as On);
  const raise = (event: string, input: unknown, next: (e: never) => Promise<unknown>) =>
    hooks.get(event)?.(engine as never, input as never, next as never);
  return {
    ran,
    told,
    stored,
    compactions,
    env,
    tools: (input = {}) => raise("classic.PostToolBatch", input, async () => ({})),
    turn: (input: Partial<TurnCompleteInput>) => {
      const e = { answer: "Done.", isAborted: false, ...input };
      return raise("turn.complete", e, async () => ({ text: "Done." })) as Promise<{ text: string }>;
    },
    compact: (input: Partial<SessionCompactInput>) => {
      const e = { trigger: "manual", messages: MESSAGES, ...input };
      return raise("session.compact", e, async () => OWN) as Promise<SessionCompactResult>;
    },
    start: (source: string, additionalContext: string[]) =>
      raise("classic.SessionStart", { source, transcript_path: "/p/s.jsonl" }, async () => ({ additionalContext })) as Promise<{ additionalContext: string[] }>,
  };
}

const MESSAGES: SessionMessage[] = [
  { role: "user", text: "fix it", toolUses: [], handle: "h1" },
  { role: "assistant", text: "fixed", toolUses: [], handle: "h2" },
];
const OWN: SessionCompactResult = { messages: [{ role: "user", text: "a model's summary", toolUses: [] }] };
const BRIEFING = () => '{"protocol":1,"text":"The conversation so far was compacted. B","tail_tokens":4000}';
const INJECTED = '<longhaul_context about="compaction">\nB\n</longhaul_context>';

test("the briefing takes the place of the history, the last messages stay by their handles", async () => {
  const claude = session(BRIEFING);
  const made = await claude.compact({ trigger: "auto", instructions: "the parser", agentId: "a1" });
  assert.ok("messages" in made);
  assert.deepEqual(made.messages.map((message) => message.handle), [undefined, "h1", "h2"]);
  const [asked] = claude.ran;
  assert.deepEqual(asked?.argv.slice(-4), ["hook", "SessionCompact", "--agent", "claude"]);
  assert.deepEqual(asked?.payload, {
    hook_event_name: "SessionCompact", protocol: 1, transcript_path: "/p/s.jsonl", agent_id: "a1",
    trigger: "auto", instructions: "the parser", context_window: 200_000, context_tokens: 90_000,
  });
  assert.equal(claude.stored[0]?.["outcome"], "answered");
  assert.match(claude.told.join(), /^longhaul compacted without a model, in \d+ ms; the last 2 messages stay$/);
});

test("without an answer the agent goes its own way, and person and doctor are told why", async () => {
  const broken = () => { throw new Error("ENOENT"); };
  for (const [print, why] of [
    [() => '{"protocol":1,"declined":"longhauld is not running"}', /not running/],
    [() => '{"protocol":2,"text":"B","tail_tokens":1}', /speaks version 1, the installed longhaul 2/],
    [() => "", /knows nothing/],
    [broken, /could not be run: ENOENT/],
  ] as const) {
    const claude = session(print);
    assert.equal(await claude.compact({}), OWN);
    assert.match(claude.told.join(), why);
    assert.match(String(claude.stored[0]?.["reason"]), why);
  }
});

test("an engine that tells neither transcript nor window is asked without them", async () => {
  const claude = session(BRIEFING, { isOld: true });
  await claude.start("startup", []);
  assert.ok("messages" in (await claude.compact({})));
  assert.equal(claude.ran[0]?.payload["transcript_path"], "/p/s.jsonl");
  assert.equal(claude.ran[0]?.payload["context_window"], undefined);
});

test("ahead of time nothing is computed, by nobody, while the daemon could answer", async () => {
  assert.ok("skip" in (await session(BRIEFING).compact({ trigger: "precompute" })));
  const away = session(() => '{"protocol":1,"declined":"longhauld is not running"}');
  assert.equal(await away.compact({ trigger: "precompute" }), OWN);
});

test("our hook's checkpoint is left out after our own compaction, and only then", async () => {
  const claude = session(BRIEFING);
  const told = async (source: string) => (await claude.start(source, ["mine", INJECTED])).additionalContext;
  assert.deepEqual(await told("compact"), ["mine", INJECTED], "a compaction by the agent itself");
  await claude.compact({ agentId: "a1" });
  assert.deepEqual(await told("compact"), ["mine", INJECTED], "a sub-agent's is none of this conversation");
  await claude.compact({});
  assert.deepEqual(await told("resume"), ["mine", INJECTED]);
  assert.deepEqual(await told("compact"), ["mine"]);
  assert.deepEqual(await told("compact"), ["mine", INJECTED], "once");
});

test("/compact undo restores the history that the briefing replaced, and never asks a model", async () => {
  const briefing = { role: "user" as const, text: "The conversation so far was compacted. B", toolUses: [] };
  const messages = [briefing, ...MESSAGES, { role: "user" as const, text: "go on", toolUses: [], handle: "h3" }];
  const old = [{ role: "user", text: "the first words", toolUses: [], toolResults: [] }, ...MESSAGES.map(({ handle: _, ...it }) => it)];
  const claude = session(() => JSON.stringify({ protocol: 1, restored: old }));
  const made = await claude.compact({ instructions: " Undo", messages });
  assert.ok("messages" in made);
  assert.deepEqual(made.messages.map((message) => message.text), ["the first words", "fix it", "fixed", "go on"]);
  assert.equal(claude.ran[0]?.payload["briefing"], briefing.text);
  assert.match(claude.told.join(), /restored the history.*: 4 messages/);
  assert.deepEqual((await claude.start("compact", [INJECTED])).additionalContext, []);

  const none = session(() => '{"protocol":1,"declined":"this session has no briefing"}');
  const skipped = await none.compact({ instructions: "undo" });
  assert.deepEqual(skipped, { skip: "longhaul restored nothing: this session has no briefing" });
  // Words about undoing are a focus like others.
  assert.ok("messages" in (await session(BRIEFING).compact({ instructions: "keep the undo stack" })));
});

/** A program that wants a compaction at the end of a turn, and answers it with `briefing`. */
const due = (briefing = BRIEFING) => (event: string) => {
  if (event === "TurnComplete") return '{"protocol":1,"compact":true}';
  if (event === "CompactionEnded") return '{"protocol":1,"compact":false}';
  return briefing();
};
const events = (claude: { ran: Ran[] }) => claude.ran.map(({ payload }) => payload["hook_event_name"]);

test("what the policy decides between two turns is carried out once, and told", async () => {
  const claude = session(due());
  assert.deepEqual(await claude.turn({}), { text: "Done." });
  assert.deepEqual(events(claude), ["TurnComplete", "SessionCompact", "CompactionEnded"]);
  const [turn, compaction, ended] = claude.ran.map(({ payload }) => payload);
  assert.deepEqual([turn?.["last_assistant_message"], turn?.["context_window"], turn?.["context_tokens"]], ["Done.", 200_000, 90_000]);
  assert.equal(compaction?.["trigger"], "plugin");
  assert.equal(ended?.["not_made"], undefined);
  assert.deepEqual(claude.compactions, ["plugin"]);
});

test("where it wants none, or the turn is not the person's or was broken off, nothing is compacted", async () => {
  const wait = session(() => '{"protocol":1,"compact":false,"text":"longhaul: a good moment"}');
  await wait.turn({});
  assert.deepEqual([events(wait), wait.told, wait.compactions], [["TurnComplete"], ["longhaul: a good moment"], []]);
  for (const not of [{ agentId: "a1" }, { isAborted: true }]) {
    const claude = session(due());
    await claude.turn(not);
    assert.deepEqual(claude.ran, []);
  }
  // A program of another version, none at all: the session goes on.
  const broken = () => { throw new Error("ENOENT"); };
  for (const print of [() => "", () => '{"protocol":2,"compact":true}', () => "no json", broken]) {
    const claude = session(print);
    assert.deepEqual(await claude.turn({}), { text: "Done." });
    assert.deepEqual(claude.compactions, []);
  }
});

test("a compaction that only the policy wants asks no model, and why it was not made is told", async () => {
  const claude = session(due(() => '{"protocol":1,"declined":"the daemon has read half"}'));
  await claude.turn({});
  assert.equal(claude.ran.at(-1)?.payload["not_made"], "the daemon has read half");
  assert.match(claude.told.join(), /^longhaul did not compact: the daemon has read half$/);
  // What somebody else wants is none of the policy's: the agent compacts in its own way.
  assert.equal(await claude.compact({ trigger: "plugin" }), OWN);

  const headless = session(due(), { isHeadless: true });
  await headless.turn({});
  assert.equal(headless.ran.at(-1)?.payload["not_made"], FAILED.message);
});

const WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW";
const PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE";

/** A program that wants a compaction whenever tools have ended. */
const dueInTurn = (briefing = BRIEFING) => (event: string) => {
  if (event === "ToolsComplete") return '{"protocol":1,"compact":true,"mid_turn":true}';
  if (event === "SessionCompact") return briefing();
  return '{"protocol":1,"compact":false,"mid_turn":true}';
};

test("in the middle of a turn the engine's limit is lowered for one compaction", async () => {
  const claude = session(dueInTurn(), { env: { [PERCENT]: "80" } });
  await claude.tools({ agent_id: "a1" });
  assert.deepEqual(events(claude), [], "a sub-agent's tools");
  await claude.tools();
  assert.deepEqual(claude.env, { [WINDOW]: "200000", [PERCENT]: "45" }, "90,000 of 200,000 tokens");
  assert.ok("messages" in (await claude.compact({ trigger: "auto" })));
  assert.deepEqual(claude.env, { [PERCENT]: "80" });
  await claude.turn({});
  assert.deepEqual(events(claude), ["ToolsComplete", "SessionCompact", "CompactionEnded", "TurnComplete"]);
  assert.equal(claude.ran[2]?.payload["not_made"], undefined);
});

test("a window that the person set stays, and so does a limit that another compaction does not use", async () => {
  const claude = session(dueInTurn(), { env: { [WINDOW]: "100000" } });
  await claude.tools();
  await claude.compact({ trigger: "auto", agentId: "a1" });
  await claude.compact({ trigger: "precompute" });
  assert.deepEqual(claude.env, { [WINDOW]: "100000", [PERCENT]: "45" });
  await claude.compact({ trigger: "auto" });
  assert.deepEqual(claude.env, { [WINDOW]: "100000" });
});

test("why nothing was compacted in the middle of a turn is told, and asks no model", async () => {
  const none = session(dueInTurn());
  await none.tools();
  await none.turn({ isAborted: true });
  assert.deepEqual([none.env, events(none)], [{}, ["ToolsComplete", "CompactionEnded"]]);
  assert.match(String(none.ran.at(-1)?.payload["not_made"]), /is auto-compact on/);

  const half = session(dueInTurn(() => '{"protocol":1,"declined":"the daemon has read half"}'));
  await half.tools();
  assert.deepEqual(await half.compact({ trigger: "auto" }), { skip: "the daemon has read half" });
  await half.tools();
  assert.equal(half.ran[2]?.payload["not_made"], "the daemon has read half");
  // The next one is the agent's own.
  await half.turn({});
  assert.equal(await half.compact({ trigger: "auto" }), OWN);

  const pinned = session(dueInTurn(), { isPinned: true });
  await pinned.tools();
  await pinned.turn({});
  assert.equal(pinned.ran[1]?.payload["not_made"], "a policy pins it");

  const old = session(dueInTurn(), { isOld: true });
  await old.tools();
  await old.turn({});
  assert.match(String(old.ran[1]?.payload["not_made"]), /does not say how full/);
});

test("where the policy does not act in the middle of a turn, it is asked there once", async () => {
  let midTurn = false;
  const claude = session(() => `{"protocol":1,"compact":false,"mid_turn":${midTurn}}`);
  await claude.tools();
  await claude.tools();
  await claude.turn({});
  await claude.tools();
  assert.deepEqual(events(claude), ["ToolsComplete", "TurnComplete"]);
  // The setting was changed.
  midTurn = true;
  await claude.turn({});
  await claude.tools();
  assert.deepEqual(events(claude).slice(2), ["TurnComplete", "ToolsComplete"]);
});

test("a policy that does not answer yet is asked again, and one that never does is left alone for the turn", async () => {
  const claude = session(() => '{"protocol":1,"compact":false}');
  for (let batch = 0; batch < 5; batch += 1) await claude.tools();
  assert.equal(claude.ran.length, 3);
  await claude.turn({});
  await claude.tools();
  assert.equal(claude.ran.length, 5);
});

test("a policy that takes too long is asked once a turn", async () => {
  const claude = session(() => {
    throw new Error("timed out");
  });
  for (let batch = 0; batch < 3; batch += 1) await claude.tools();
  assert.equal(claude.ran.length, 1);
});
