// The part of Claude Code's plugin interface that this plugin uses, in our own words: the engine's declarations are
// not ours to ship. `claude plugin validate` checks the modules against the engine itself.

declare module "claude-code" {
  export interface ToolUseSummary {
    tool_use_id: string;
    tool: string;
    input: Record<string, unknown>;
  }

  export interface ToolResultSummary {
    tool_use_id: string;
    text: string;
    isError: boolean;
  }

  export interface SessionMessage {
    role: "user" | "assistant";
    text: string;
    toolUses: ToolUseSummary[];
    toolResults?: ToolResultSummary[];
    handle?: string;
  }

  export interface SessionCompactInput {
    trigger: "manual" | "auto" | "plugin" | "precompute";
    agentId?: string;
    instructions?: string;
    messages: readonly SessionMessage[];
  }

  export type SessionCompactResult = { messages: readonly SessionMessage[] } | { skip: string };

  export interface SessionStartInput {
    source: string;
    transcript_path: string;
  }

  export interface SessionStartResult {
    additionalContext?: string[];
  }

  export interface PostToolBatchInput {
    agent_id?: string;
  }

  export interface TurnCompleteInput {
    answer: string;
    isAborted: boolean;
    agentId?: string;
  }

  export interface TurnCompleteResult {
    text: string;
  }

  export interface TextBlock {
    type: "text";
    text: string;
  }

  export interface ToolResultBlock {
    type: "tool_result";
    tool_use_id: string;
    /** A text, or parts of which some are text. */
    content: string | unknown[];
    is_error?: boolean;
  }

  export interface SessionAppendInput {
    /** Where it comes in: `tool-result`, `prompt`, `response`, `attachment`, … */
    door: string;
    origin?: { kind: string; tool?: string };
    message: { type: string; content: unknown };
  }

  export interface EngineInterface {
    process: {
      run(
        argv: readonly string[],
        init?: { stdin?: string; timeoutMs?: number },
      ): Promise<{ exitCode: number; stdout: string; stderr: string }>;
    };
    session: {
      info(): Promise<{ transcriptPath: string }>;
      /** `tokens` are those of the last request; absent before the first answer and right after a compaction. */
      usage(): Promise<{ context: { window?: number; tokens?: number } }>;
      compact(): Promise<{ skip?: string }>;
    };
    env: {
      get(name: string): Promise<string | undefined>;
      /** Without a value, unsets it. Older versions return nothing. */
      set(name: string, value: string | undefined): Promise<{ deny?: string } | undefined>;
    };
    store: { get(key: string): Promise<unknown>; set(key: string, value: unknown): Promise<void> };
    ui: { log(text: string): void };
  }

  type Hook<Input, Result> = (
    $: EngineInterface,
    e: Input,
    next: (e: Input) => Promise<Result>,
  ) => Promise<Result>;

  export interface On {
    (event: "session.compact", hook: Hook<SessionCompactInput, SessionCompactResult>): unknown;
    (event: "classic.PostToolBatch", hook: Hook<PostToolBatchInput, unknown>): unknown;
    (event: "turn.complete", hook: Hook<TurnCompleteInput, TurnCompleteResult>): unknown;
    (event: "session.append", hook: Hook<SessionAppendInput, unknown>): unknown;
    (event: "classic.SessionStart", hook: Hook<SessionStartInput, SessionStartResult | undefined>): unknown;
  }

  export type Register = (on: On) => void;
}
