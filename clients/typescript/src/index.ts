// The TypeScript client of the longhaul protocol. See README.md.

export { Client } from "./client";
export type { CallOptions, ConnectOptions } from "./client";
export { Conversation } from "./conversation";
export type { ConversationOptions, Item, Prompt } from "./conversation";
export { LonghaulError } from "./errors";
export type { Failure } from "./errors";
export { printable } from "./printable";
export * from "./protocol.generated";
export { defaultSocket, defaultStateDir } from "./socket";
export { Subscription } from "./subscription";
