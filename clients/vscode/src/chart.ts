// The chart of a context: how full it is, what fills it, how it grew and where it was compacted.
//
// Pure: converts an answer of `context/usage` to an HTML page without scripts, in the theme's colors.

import type { ContextUsageResult, ThreadBillResult, Timeline, ThreadSummary } from "@longhaul/client";
import type { Policy } from "./context";
import { billLines, coldCache, fill, forecast, level, nameOf, tokens } from "./words";

const WIDTH = 300;
const HEIGHT = 120;

/** Kinds in drawing order, with their names and the theme's colors. */
const KINDS: Array<[string, string, string]> = [
  ["tool_outputs", "tool outputs", "charts-blue"],
  ["tool_calls", "tool calls", "charts-purple"],
  ["assistant", "assistant", "charts-green"],
  ["reasoning", "reasoning", "charts-yellow"],
  ["user", "user", "charts-orange"],
  ["summary", "summary", "charts-red"],
  ["initial_context", "initial context", "descriptionForeground"],
  ["instructions_and_tools", "instructions and tools", "disabledForeground"],
];

interface Part {
  name: string;
  tokens: number;
  color: string;
}

/** The whole page. The content security policy allows its one style by `nonce`. */
export function page(thread: ThreadSummary, usage: ContextUsageResult, policy: Policy | undefined, nonce: string, bill?: ThreadBillResult): string {
  const { percent, words } = fill(usage);
  const number = percent === undefined ? `<b>${words}</b>` : `<b>${percent}</b>%<span>${words}</span>`;
  const body = `
<h2>${escape(nameOf(thread))}</h2>
<div class="number ${level(usage)}">${number}</div>
<div class="next">${escape(forecast(usage, policy))}</div>
${stack(usage)}
${usage.timeline && usage.timeline.points.length > 1 ? growth(usage.timeline, usage) : ""}
<h3>what fills it</h3>
${legend(parts(usage))}
${cost(bill)}
${usage.warnings.map((warning) => `<p class="warning">${escape(warning.message)}</p>`).join("")}`;
  return html(body, nonce);
}

function cost(bill: ThreadBillResult | undefined): string {
  const lines = billLines(bill).map((line) => `<div class="next">${escape(line)}</div>`);
  const cold = coldCache(bill?.resume);
  const heading = lines.length > 0 ? ["<h3>what compacting costs</h3>"] : [];
  return [...heading, ...lines, ...(cold ? [`<p class="warning">${escape(cold)}</p>`] : [])].join("\n");
}

/** A page with one sentence. */
export function note(text: string, nonce: string): string {
  return html(`<p class="next">${escape(text)}</p>`, nonce);
}

function html(body: string, nonce: string): string {
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html><html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<style nonce="${nonce}">${STYLE}${classes()}</style></head><body>${body}</body></html>`;
}

/** What fills the window, largest first. */
export function parts(usage: ContextUsageResult): Part[] {
  const known = new Map(KINDS.map(([kind, name, color]) => [kind, { name, color }]));
  return Object.entries(usage.by_kind)
    .map(([kind, size]) => ({ tokens: size, ...(known.get(kind) ?? { name: kind.replaceAll("_", " "), color: "foreground" }) }))
    .sort((a, b) => b.tokens - a.tokens);
}

/** The window as one bar: its parts, the free room and the compaction limit. */
function stack(usage: ContextUsageResult): string {
  const whole = Math.max(usage.window.is_known ? usage.window.tokens : 0, usage.tokens.used, 1);
  const listed = parts(usage);
  let x = 0;
  const bars = listed.map((part) => {
    const width = (part.tokens * WIDTH) / whole;
    const bar = rect(x, 0, width, 14, `f-${part.color}`, `${part.name}: ${tokens(part.tokens)} tokens`);
    x += width;
    return bar;
  });
  const trigger = usage.window.trigger;
  const at = trigger ? (trigger / whole) * WIDTH : 0;
  const mark = trigger ? `<line class="trigger" x1="${n(at)}" x2="${n(at)}" y1="-3" y2="17"/>` : "";
  return svg(`0 -4 ${WIDTH} 22`, `${rect(0, 0, WIDTH, 14, "room", "free")}${bars.join("")}${mark}`, "what fills the window");
}

function legend(listed: Part[]): string {
  const sum = Math.max(1, listed.reduce((total, part) => total + part.tokens, 0));
  const rows = listed.map((part) => {
    const share = Math.round((part.tokens / sum) * 100);
    return `<tr><td><i class="b-${part.color}"></i>${escape(part.name)}</td><td>${tokens(part.tokens)}</td><td>${share}%</td></tr>`;
  });
  return `<table>${rows.join("")}</table>`;
}

/** How full the window was at each line, and where it was compacted. */
function growth(timeline: Timeline, usage: ContextUsageResult): string {
  const points = timeline.points;
  const first = points[0]!.seq;
  const span = Math.max(1, points[points.length - 1]!.seq - first);
  const highest = Math.max(usage.window.trigger ?? 0, usage.tokens.used, ...points.map((point) => point.tokens), 1) * 1.08;
  const x = (seq: number) => n(((seq - first) / span) * WIDTH);
  const y = (size: number) => n(HEIGHT - (size / highest) * HEIGHT);
  const line = points.map((point) => `${x(point.seq)},${y(point.tokens)}`).join(" L");
  const shown = timeline.compactions.filter((step) => step.seq >= first && step.seq <= first + span);
  const marks = shown.map((step) => {
    const about = `compacted: ${tokens(step.before)} → ${tokens(step.after)}`;
    return `<g class="cut"><title>${about}</title><line x1="${x(step.seq)}" x2="${x(step.seq)}" y1="0" y2="${HEIGHT}"/>
<circle cx="${x(step.seq)}" cy="${y(step.before)}" r="3"/></g>`;
  });
  const trigger = usage.window.trigger;
  const limit = trigger
    ? `<line class="trigger" x1="0" x2="${WIDTH}" y1="${y(trigger)}" y2="${y(trigger)}"/><text x="2" y="${n(Number(y(trigger)) - 3)}">compaction at ${tokens(trigger)}</text>`
    : "";
  const area = `<path class="area" d="M0,${HEIGHT} L${line} L${WIDTH},${HEIGHT} Z"/><path class="line" d="M${line}"/>`;
  const count = timeline.compactions.length;
  const words = count === 0 ? "never compacted" : count === 1 ? "compacted once" : `compacted ${count} times`;
  const turns = timeline.turns === 1 ? "1 turn" : `${timeline.turns} turns`;
  return `<h3>over time</h3>${svg(`0 0 ${WIDTH} ${HEIGHT}`, area + limit + marks.join(""), "use of the context over time")}
<div class="axis"><span>start</span><span>${turns}, <em>${words}</em></span><span>now</span></div>`;
}

function svg(box: string, content: string, label: string): string {
  return `<svg viewBox="${box}" role="img" aria-label="${label}">${content}</svg>`;
}

function rect(x: number, y: number, width: number, height: number, name: string, title: string): string {
  return `<rect class="${name}" x="${n(x)}" y="${y}" width="${n(width)}" height="${height}"><title>${escape(title)}</title></rect>`;
}

function n(value: number): string {
  return value.toFixed(1);
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** Style attributes are not allowed, so each color has classes. */
function classes(): string {
  const colors = new Set([...KINDS.map(([, , color]) => color), "foreground"]);
  return [...colors].map((c) => `.f-${c}{fill:var(--vscode-${c})}.b-${c}{background:var(--vscode-${c})}`).join("");
}

const STYLE = `
body{padding:4px 14px 14px;max-width:520px;font-variant-numeric:tabular-nums}
h2{font-size:1.05em;font-weight:600;margin:6px 0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
h3{font-size:.85em;font-weight:600;margin:16px 0 6px;text-transform:uppercase;letter-spacing:.06em;color:var(--vscode-descriptionForeground)}
.number{font-size:1.3em}.number b{font-size:2em;font-weight:600}
.number span{font-size:.7em;margin-left:10px;color:var(--vscode-descriptionForeground)}
.near{color:var(--vscode-charts-yellow)}.due{color:var(--vscode-charts-red)}
.next{margin:0 0 12px;color:var(--vscode-descriptionForeground)}
svg{width:100%;display:block;overflow:visible}
.room{fill:var(--vscode-editorWidget-border,var(--vscode-disabledForeground));opacity:.35}
.trigger{stroke:var(--vscode-charts-red);stroke-width:1;stroke-dasharray:3 2}
.area{fill:var(--vscode-charts-blue);opacity:.22}.line{fill:none;stroke:var(--vscode-charts-blue);stroke-width:1.6;stroke-linejoin:round}
.cut line{stroke:var(--vscode-charts-orange);stroke-width:1;opacity:.55}.cut circle{fill:var(--vscode-charts-orange)}
text{font-size:8.5px;fill:var(--vscode-descriptionForeground)}
table{width:100%;border-collapse:collapse;margin-top:8px}td{padding:1px 0;white-space:nowrap}td+td{text-align:right;width:2.6em;padding-left:8px;color:var(--vscode-descriptionForeground)}
i{display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:8px}
.axis{display:flex;justify-content:space-between;font-size:.85em;margin-top:4px;color:var(--vscode-descriptionForeground)}
em{font-style:normal;color:var(--vscode-charts-orange)}.warning{color:var(--vscode-charts-yellow)}`;
