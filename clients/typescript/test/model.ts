// A mock model: counts tokens, rejects requests over its window, and answers by a script.

import * as http from "node:http";
import type { AddressInfo } from "node:net";

import type { Item } from "../src";

export interface Request {
  input: Item[];
  tokens: number;
}

/** Estimated tokens: a quarter of the bytes of its JSON, more than any tokenizer counts. */
function count(body: object): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 4);
}

export class Model {
  readonly requests: Request[] = [];
  /** Requests rejected for their size. */
  refused = 0;
  readonly #server: http.Server;

  /** `answer` returns the output, which must fit into the window, too. */
  constructor(
    readonly window: number,
    private readonly answer: (input: Item[], times: number) => Item[],
  ) {
    this.#server = http.createServer((request, response) => {
      let text = "";
      request.on("data", (chunk: Buffer) => (text += chunk.toString()));
      request.on("end", () => {
        const [status, body] = this.#respond(JSON.parse(text));
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      });
    });
  }

  #respond(body: { input: Item[] }): [number, object] {
    const output = this.answer(body.input, this.requests.length);
    const tokens = count(body) + count(output);
    this.requests.push({ input: body.input, tokens });
    if (tokens <= this.window) return [200, { output }];
    this.refused += 1;
    return [400, { error: { code: "context_length_exceeded", message: `${tokens} of ${this.window} tokens` } }];
  }

  /** Starts listening; returns the base URL. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Calls without an output behind them, and outputs without a call before them. */
export function halves(items: Item[]): unknown[] {
  const open = new Set<unknown>();
  const alone: unknown[] = [];
  for (const item of items) {
    if (item["type"] === "function_call") open.add(item["call_id"]);
    if (item["type"] === "function_call_output" && !open.delete(item["call_id"])) alone.push(item["call_id"]);
  }
  return [...open, ...alone];
}
