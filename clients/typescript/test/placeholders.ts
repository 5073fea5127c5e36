// Placeholders of protocol/examples: filled into requests, matched in answers. See its README for the rules.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const TYPED: Record<string, (value: Json) => boolean> = {
  $ANY: () => true,
  $NUMBER: (value) => typeof value === "number",
  $FRACTION: (value) => typeof value === "number",
  $TIME: (value) => typeof value === "number",
  $BOOL: (value) => typeof value === "boolean",
  $LIST: (value) => Array.isArray(value),
  $OBJECT: isObject,
  $ITEM: isObject,
  $STRING: (value) => typeof value === "string",
};

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlaceholder(value: Json): value is string {
  return typeof value === "string" && /^\$[A-Z_]+$/.test(value);
}

/** A value of the type that a placeholder stands for. */
const SAMPLES: Record<string, Json> = {
  $ANY: null,
  $NUMBER: 1,
  $FRACTION: 0.5,
  $TIME: 1_763_683_200_000,
  $BOOL: true,
  $LIST: [],
  $OBJECT: {},
  $ITEM: { type: "message", role: "user", content: [] },
};

/** Replaces all placeholders, for the scripted daemon. */
export function sample(value: Json): Json {
  if (isPlaceholder(value)) return SAMPLES[value] ?? value.slice(1).toLowerCase();
  if (Array.isArray(value)) return value.filter((element) => element !== "$REST").map(sample);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, sample(field)]));
}

export class Bindings {
  readonly #values = new Map<string, Json>();

  fill(value: Json): Json {
    if (isPlaceholder(value)) {
      const bound = this.#values.get(value);
      if (bound === undefined) throw new Error(`the placeholder ${value} is not bound yet`);
      return bound;
    }
    if (Array.isArray(value)) return value.map((element) => this.fill(element));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, this.fill(field)]));
  }

  /** Where `actual` is not what was expected, as a JSON pointer; undefined where it is. */
  mismatch(expected: Json, actual: Json | undefined, at = ""): string | undefined {
    const differs = `at ${at}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
    if (actual === undefined) return differs;
    if (isPlaceholder(expected)) return this.#matches(expected, actual) ? undefined : differs;
    if (Array.isArray(expected)) {
      if (!Array.isArray(actual)) return differs;
      const isOpen = expected.at(-1) === "$REST";
      const shown = isOpen ? expected.slice(0, -1) : expected;
      if (!isOpen && shown.length !== actual.length) return differs;
      return first(shown, (element, index) => this.mismatch(element, actual[index], `${at}/${index}`));
    }
    if (isObject(expected)) {
      if (!isObject(actual)) return differs;
      return first(Object.entries(expected), ([key, field]) => this.mismatch(field, actual[key], `${at}/${key}`));
    }
    return expected === actual ? undefined : differs;
  }

  #matches(name: string, actual: Json): boolean {
    const typed = TYPED[name];
    if (typed) return typed(actual);
    if (!this.#values.has(name)) this.#values.set(name, actual);
    return JSON.stringify(this.#values.get(name)) === JSON.stringify(actual);
  }
}

function first<T>(list: T[], look: (element: T, index: number) => string | undefined): string | undefined {
  for (const [index, element] of list.entries()) {
    const found = look(element, index);
    if (found) return found;
  }
  return undefined;
}
