// A scripted daemon: a function per method gives the answers.

import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";

export type Answer = (params: any, times: number, socket: net.Socket, id: string) => object | undefined;

/** Starts one. All connections share the answers; `backlog` connections may wait to be accepted. */
export async function scripted(answers: Record<string, Answer>, name = "v1.sock", backlog = 511) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "lh-script-"));
  const times = new Map<string, number>();
  const server = net.createServer((socket) => {
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      text += data.toString();
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
        const { id, method, params } = JSON.parse(text.slice(0, end));
        text = text.slice(end + 1);
        times.set(method, (times.get(method) ?? 0) + 1);
        const answer = (answers[method] ?? (() => ({ result: {} })))(params, times.get(method)!, socket, id);
        if (answer) socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
      }
    });
  });
  const socket = path.join(folder, name);
  await new Promise<void>((resolve) => server.listen({ path: socket, backlog }, resolve));
  const end = () => {
    server.close();
    fs.rmSync(folder, { recursive: true, force: true });
  };
  return { socket: path.join(folder, "v1.sock"), times, end };
}

export const hello: Answer = () => ({
  result: { protocol: 1, server: { name: "longhauld", version: "1", instance_id: "i", pid: 1 }, capabilities: [], methods: ["thread/list"], limits: {} },
});
