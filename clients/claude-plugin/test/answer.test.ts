// A program of another version, or none, must never reach the conversation.

import assert from "node:assert/strict";
import { test } from "node:test";

import { PROTOCOL, read } from "../hooks/answer";

test("a briefing is taken over with the budget of the last messages", () => {
  const line = JSON.stringify({ protocol: PROTOCOL, text: "B", tail_tokens: 16_000, new_field: 1 });
  assert.deepEqual(read(0, `${line}\n`), { text: "B", tailTokens: 16_000 });
});

test("anything else is declined with a reason a person can act on", () => {
  const declined = (exitCode: number, stdout: string) => {
    const answer = read(exitCode, stdout);
    assert.ok("declined" in answer, stdout);
    return answer.declined;
  };
  assert.equal(declined(0, '{"protocol":1,"declined":"longhauld is not running"}'), "longhauld is not running");
  const newer = JSON.stringify({ protocol: PROTOCOL + 1, text: "B", tail_tokens: 1 });
  assert.match(declined(0, newer), /the plugin speaks version 1, the installed longhaul 2; run `longhaul install claude`/);
  for (const [exitCode, stdout, why] of [
    [0, "", /knows nothing of compactions/],
    [2, "", /exit code 2/],
    [0, "usage: longhaul", /no JSON/],
    [0, "[]", /speaks version 1, the installed longhaul none/],
    [0, '{"protocol":1,"text":" ","tail_tokens":1}', /no briefing/],
    [0, '{"protocol":1,"text":"B"}', /no briefing/],
  ] as const) {
    assert.match(declined(exitCode, stdout), why);
  }
});
