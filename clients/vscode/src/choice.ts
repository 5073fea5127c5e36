// The rows of the picker, and the effect of a changed check. Pure.

import type { CheckpointChoicesResult, CompactionPreviewResult } from "@longhaul/client";

type Choices = CheckpointChoicesResult["choices"];

/** The effect of changing a row's check. */
export type Change =
  | { change: "pin"; handle: string }
  | { change: "drop"; text: string }
  | { change: "remove"; choice_id: string };

export interface ChoiceRow {
  label: string;
  description: string;
  /** Whether it is in the next view. */
  picked: boolean;
  onChange: Change;
}

/** Choices first, then the lines of the view, then the items of which it has only a part or nothing, newest first. */
export function choiceRows(choices: Choices, preview: CompactionPreviewResult): ChoiceRow[] {
  const chosen = choices.map((choice) => ({
    label: words(choice.text),
    description: choice.action === "pin" ? "pinned" : "dropped",
    picked: choice.action === "pin",
    onChange: { change: "remove" as const, choice_id: choice.choice_id },
  }));
  const held = preview.lines.map((line) => ({
    label: words(line.text),
    description: line.part.toLowerCase().replaceAll("_", " "),
    picked: true,
    onChange: { change: "drop" as const, text: line.text },
  }));
  const incomplete = [
    ...preview.shortened.map((item) => ({ item, state: "in part" })),
    ...preview.dropped.map((item) => ({ item, state: "left out" })),
  ].sort((one, other) => other.item.seq - one.item.seq);
  const left = incomplete.map(({ item, state }) => ({
    label: words(item.excerpt) || item.kind.replaceAll("_", " "),
    description: `#${item.seq} ${item.kind.replaceAll("_", " ")}, ${state}`,
    picked: false,
    onChange: { change: "pin" as const, handle: item.handle },
  }));
  return [...chosen, ...held, ...left];
}

/** The rows whose check changed; removals first, to make room. */
export function changes(rows: readonly ChoiceRow[], picked: readonly ChoiceRow[]): Change[] {
  const changed = rows.filter((row) => picked.includes(row) !== row.picked).map((row) => row.onChange);
  return [...changed.filter((one) => one.change === "remove"), ...changed.filter((one) => one.change !== "remove")];
}

function words(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, 160);
}
