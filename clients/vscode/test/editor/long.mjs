// A long made-up session of Codex, for the pictures that people look at: eighty turns, two compactions.

const FILES = ["importer/parse.py", "importer/rows.py", "importer/dates.py", "tests/test_rows.py"];
const BANKS = ["Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Juniper", "Larch", "Maple"];
const ASKS = ["Import the statements of BANK, too", "BANK writes dates the other way round", "Refuse rows of BANK that do not add up", "Test the rounding of BANK"];
const FIRST = "Import the bank statements of 2025, one file for each account, in whole cents.";
const STEPS = ["Read the statements of one account", "Refuse rows that do not add up", "Import the savings account", "Run the whole test suite"];
const TURNS = 82;
/** Bytes of text for a token, tokens before the first request, tokens that Codex compacts at, tokens left then. */
const [BYTES, BEFORE, LIMIT, AFTER] = [4, 9_000, 215_000, 16_000];

/** The lines of its transcript; it ended at `ended`. */
export function longSession(thread_id, cwd, ended) {
  const lines = [];
  let [used, calls] = [BEFORE, 0];
  const write = (type, payload) => lines.push({ type, payload });
  const item = (payload) => {
    used += JSON.stringify(payload).length / BYTES;
    write("response_item", payload);
  };
  const call = (name, given, output) => {
    const call_id = `call_${(calls += 1)}`;
    const isPatch = typeof given === "string";
    item(isPatch ? { type: "custom_tool_call", call_id, name, input: given } : { type: "function_call", call_id, name, arguments: JSON.stringify(given) });
    item({ type: isPatch ? "custom_tool_call_output" : "function_call_output", call_id, output });
  };
  const run = (cmd, code, output) => call("exec_command", { cmd, workdir: cwd }, `Process exited with code ${code}\nOutput:\n${output}`);
  write("session_meta", { id: thread_id, cwd, originator: "codex_cli_rs", cli_version: "0.169.0", source: "cli" });
  for (let turn = 0; turn < TURNS; turn += 1) {
    const file = FILES[turn % FILES.length];
    const ask = turn ? ASKS[turn % ASKS.length].replace("BANK", BANKS[turn % BANKS.length]) : FIRST;
    write("turn_context", { cwd, approval_policy: "on-request", sandbox_policy: { type: "workspace-write", network_access: false }, model: "gpt-5.5", summary: "auto" });
    item({ type: "message", role: "user", content: [{ type: "input_text", text: ask }] });
    const status = (step) => (step < turn / 20 - 1 ? "completed" : step < turn / 20 ? "in_progress" : "pending");
    call("update_plan", { plan: STEPS.map((step, index) => ({ step, status: status(index) })) }, "Plan updated");
    for (let step = 0; step < 4 + (turn % 3); step += 1) {
      item({ type: "reasoning", summary: [{ type: "summary_text", text: "Looking at how a row is read. ".repeat(8 + step) }], content: null });
      run(`sed -n ${step * 40 + 1},${step * 40 + 90}p ${file}`, 0, "    row = Row(date, cents(text), account)\n".repeat(60 + ((turn * 7 + step * 31) % 90)));
    }
    call("apply_patch", `*** Begin Patch\n*** Update File: ${file}\n@@\n-    amount = float(text)\n+    amount = cents(text)\n*** End Patch\n`, `Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM ${file}\n`);
    run("python3 -m pytest -q", turn % 4 ? 0 : 1, turn % 4 ? `${turn + 9} passed in 0.41s` : `1 failed, ${turn + 8} passed in 0.44s\nFAILED tests/test_rows.py::test_rounding - assert 1999 == 2000`);
    item({ type: "message", role: "assistant", content: [{ type: "output_text", text: `Done in ${file}. ${turn % 4 ? "All tests pass." : "test_rounding fails still."}` }] });
    const usage = { input_tokens: Math.round(used), cached_input_tokens: 0, output_tokens: 90, reasoning_output_tokens: 0, total_tokens: Math.round(used) };
    write("event_msg", { type: "token_count", info: { total_token_usage: usage, last_token_usage: usage, model_context_window: 258_400 } });
    if (used < LIMIT) continue;
    const left = { type: "message", role: "user", content: [{ type: "input_text", text: ask }] };
    write("compacted", { message: "The importer reads rows; its tests pass.", replacement_history: [left] });
    used = AFTER;
  }
  const at = (index) => new Date(ended - (lines.length - index) * 4_000).toISOString();
  return lines.map((line, index) => `${JSON.stringify({ timestamp: at(index), ...line })}\n`).join("");
}

/** A session whose last two turns failed because its window is full. */
export function blockedSession(thread_id, cwd, ended) {
  const said = (text) => ({ type: "message", role: "user", content: [{ type: "input_text", text }] });
  const failed = { type: "task_complete", error: { message: "full", codex_error_info: "context_window_exceeded" } };
  const lines = [
    { type: "session_meta", payload: { id: thread_id, cwd, originator: "codex_cli_rs", cli_version: "0.169.0", source: "cli" } },
    { type: "response_item", payload: said("Reconcile the savings account.") },
    { type: "event_msg", payload: failed },
    { type: "response_item", payload: said("Go on.") },
    { type: "event_msg", payload: failed },
  ];
  const timestamp = new Date(ended).toISOString();
  return lines.map((line) => `${JSON.stringify({ timestamp, ...line })}\n`).join("");
}
