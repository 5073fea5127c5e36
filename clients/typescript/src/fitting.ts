// Fits a history into a window without a daemon.

import type { Item } from "./conversation";

/** Estimated tokens of an item: a quarter of its JSON's bytes, more than any provider counts. */
function size(item: Item): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(item)) / 4);
}

/** Cuts the middle of a tool's output that is longer than `tokens`. */
export function shortened(item: Item, tokens: number): Item {
  const output = item["output"];
  if (typeof output !== "string" || size(item) <= tokens) return item;
  const half = Math.floor((output.length * tokens) / size(item) / 2);
  // Do not split a surrogate pair.
  const [head, tail] = [output.slice(0, half).replace(/[\uD800-\uDBFF]$/, ""), output.slice(-half).replace(/^[\uDC00-\uDFFF]/, "")];
  return { ...item, output: `${head}\n… ${output.length - head.length - tail.length} characters left out …\n${tail}` };
}

/** The part of a history that fits: the first request and the newest items, without outputs whose call is missing. */
export function fitting(items: Item[], tokens: number): Item[] {
  let left = tokens - items.reduce((sum, item) => sum + size(item), 0);
  if (left >= 0) return items;
  const first = items.findIndex((item) => item["role"] === "user");
  let from = 0;
  for (; left < 0 && from < items.length - 1; from += 1) {
    if (from !== first) left += size(items[from] as Item);
  }
  const newest = items.slice(from);
  const calls = new Set(newest.filter((item) => "arguments" in item || "input" in item).map((item) => item["call_id"]));
  const whole = newest.filter((item) => !("output" in item) || calls.has(item["call_id"]));
  return first >= 0 && first < from ? [items[first] as Item, ...whole] : whole;
}
