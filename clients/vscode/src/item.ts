// History items as text. They are untrusted, so hidden characters are shown.

import { printable } from "@longhaul/client";

interface Item {
  type?: string;
  role?: string;
  name?: string;
  content?: unknown;
  arguments?: unknown;
  input?: unknown;
  output?: unknown;
  summary?: unknown;
}

/** Items, each under a heading. */
export function itemsAsText(items: unknown[]): string {
  return printable(items.map((item) => itemAsText((item ?? {}) as Item)).join("\n\n"));
}

function itemAsText(item: Item): string {
  const heading = [item.type ?? "item", item.role ?? item.name].filter(Boolean).join(" · ");
  const body = content(item.content ?? item.arguments ?? item.input ?? item.output ?? item.summary);
  return `──── ${heading}\n\n${body || JSON.stringify(item, null, 2)}`;
}

function content(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((part) => content(part)).join("\n");
  if (typeof value !== "object" || value === null) return "";
  const part = value as { text?: unknown; content?: unknown; type?: unknown };
  return content(part.text ?? part.content) || (part.type ? `[${String(part.type)}]` : "");
}
