import assert from "node:assert/strict";
import { test } from "node:test";

import { printable } from "../src/printable";

test("what is hidden is shown", () => {
  for (const [text, shown] of [
    ["a\u001b[31mred\u001b[0m", "ared"],
    ["\u001b]52;c;x\u0007", "\\u{1b}]52;c;x\\u{7}"],
    ["\u009b31m\u202e\u{e0041}", "\\u{9b}31m\\u{202e}\\u{e0041}"],
    ["a\n\tb\r\nc\rd", "a\n\tb\nc\\u{d}d"],
    ["to\u200dken", "to\\u{200d}ken"],
    ["👩\u200d👧 ❤\ufe0f می\u200cخ 全文", "👩\u200d👧 ❤\ufe0f می\u200cخ 全文"],
  ]) assert.equal(printable(text as string), shown);
});
