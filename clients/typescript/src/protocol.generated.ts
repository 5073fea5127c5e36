// Generated from protocol/schema/longhaul-v1.schema.json by scripts/generate.mjs. Do not edit.

/** The major version, which is part of the socket's name. */
export const PROTOCOL_MAJOR = 1;
/** The revisions these types support. */
export const REVISIONS = { min: 1, max: 1 } as const;
/** Limits of the protocol. */
export const LIMITS = {
  batch_max: 64,
  connections_max: 512,
  event_queue_max: 512,
  expand_bytes_max: 8388608,
  frame_bytes_max: 16777216,
  inflight_per_connection_max: 64,
  page_rows_default: 50,
  page_rows_max: 500,
  subscriptions_per_connection_max: 8,
} as const;

/** A compaction that the agent made by itself. */
export interface AgentCompaction {
  /** The work since. */
  after: WorkAfter;
  /** When, Unix milliseconds; absent where the line is not dated. */
  at?: number | null;
  /** Milliseconds it took: as recorded, else between the lines around it. */
  duration_ms?: number | null;
  /** Recorded tokens of its request; of Claude Code what was in the window. */
  input_tokens?: number | null;
  /** Recorded tokens of the answer. */
  output_tokens?: number | null;
  /** The line. */
  seq: number;
  /** Tokens in the window before. */
  tokens_before: number;
}

/** Cost of a compaction by the agent itself: medians of what its transcripts record. */
export interface AgentCost {
  /** How many compactions record anything. */
  compactions: number;
  /** Milliseconds; absent where none are recorded. */
  duration_ms?: number | null;
  /** Tokens of the request; absent where none is recorded. */
  input_tokens?: number | null;
  /** Tokens of the answer; absent where none is recorded. */
  output_tokens?: number | null;
  /** Where it is recorded. */
  source: CostSource;
}

/** A run of the agent that edits the files of memory. */
export interface AgentRun {
  /** When it ended. */
  at: number;
  /** The same for a person. */
  detail?: string;
  /** What it was given: `init` (everything) or `incremental` (what changed since its last success). */
  mode: string;
  /**
   * `published`, `unchanged`, or why nothing of it was published: `sandbox_unavailable`, `turns_spent`,
   * `tokens_spent`, `timeout`, `window_spent`, `step_unreadable`, `result_refused`, `worker_failed`,
   * `overtaken`, or a fault of the provider such as `rate_limited`.
   */
  outcome: string;
  /** Tokens. */
  tokens: number;
  /** Requests to the model. */
  turns: number;
}

/** A step of a compaction that an agent makes. */
export type AgentStep = "announced" | "answered";

/** One addition. Exactly one of `item` and `marker` is given. */
export interface AppendItem {
  /**
   * The client's own id of it, unique in the thread. At most `limit::CLIENT_ID_BYTES_MAX` bytes, no
   * control characters.
   */
  client_item_id: string;
  /** A history item in the Responses API form, at most `limit::APPEND_ITEM_BYTES_MAX` bytes. */
  item?: unknown;
  /** An event other than an item. */
  marker?: Marker | null;
}

/** Which thread. */
export interface ArchiveForgetParams {
  /** The thread. */
  thread_id: string;
}

/** What was removed. */
export interface ArchiveForgetResult {
  /** Bytes of the removed texts; 0 if there were none. */
  removed_bytes: number;
}

/** Which threads. */
export interface ArchiveListParams {
  /** `next_cursor` of the previous page. */
  cursor?: string | null;
  /** Only those whose transcript is gone. */
  gone?: boolean | null;
  /** Rows, at most `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`. */
  limit?: number | null;
  /** Only this one. */
  thread_id?: string | null;
  /** Only those with all these words, or parts of words, in title or folder, in small or capital letters. */
  words?: string | null;
}

/** A page of archived threads. */
export interface ArchiveListResult {
  /** Present when there are more. */
  next_cursor?: string | null;
  /** One row for each transcript. */
  threads: ArchivedThread[];
}

/** Which thread, and where to write it. */
export interface ArchiveRestoreParams {
  /** The thread. */
  thread_id: string;
  /** A file to write, an absolute path; absent: where its agent looks. */
  to?: string | null;
}

/** The file. */
export interface ArchiveRestoreResult {
  /** Its bytes. */
  bytes: number;
  /** The command that resumes the thread, as arguments; empty if the file is not where an agent looks. */
  command: string[];
  /** The file that was written. */
  path: string;
  /** Whether its secrets were replaced when it was archived. */
  redacted: boolean;
  /** The thread. */
  thread_id: string;
}

/** What the archive does. */
export type ArchiveState = "idle" | "archiving" | "stalled" | "off" | "other";

/** No params. */
export type ArchiveStatusParams = Record<string, never>;

/** The archive in numbers. */
export interface ArchiveStatusResult {
  /** Its bytes on the disk. */
  bytes: number;
  /** Damaged files. */
  damaged: number;
  /** Transcripts that are not completely archived yet. */
  files_behind: number;
  /** Archived transcripts whose files are gone. */
  gone: number;
  /** Days of use after which an idle thread is evicted; 0: never. */
  max_age_days: number;
  /** Maximum bytes on disk. */
  max_bytes: number;
  /** When the longest idle thread last grew; absent for an empty archive. */
  oldest_at?: number | null;
  /** Its folder. */
  path: string;
  /** Why it cannot be written, while that is so. */
  problem?: string | null;
  /** Whether secrets are replaced before a text is archived. */
  redacts: boolean;
  /** What it does now. */
  state: ArchiveState;
  /** Bytes that are stored of these; chunks that texts share count once. */
  stored_text_bytes: number;
  /** Bytes of the texts it can restore. */
  text_bytes: number;
  /** Archived threads. */
  threads: number;
  /** Archived transcripts; a thread may have several. */
  transcripts: number;
  /** Oldest verification of any file (read whole, compared with its digest); absent if one was never verified. */
  verified_at?: number | null;
}

/** Which files. */
export interface ArchiveVerifyParams {
  /** Only those that this thread needs. */
  thread_id?: string | null;
}

/** What was found. */
export interface ArchiveVerifyResult {
  /** Their bytes. */
  bytes: number;
  /** Damaged files. */
  damaged: number;
  /** Threads that lost data: their transcripts are gone, too. */
  damaged_threads: string[];
  /** Files that were read. */
  files: number;
}

/** An archived transcript of a thread. */
export interface ArchivedThread {
  /** Bytes of its text. */
  bytes: number;
  /** The folder it works in. */
  cwd?: string | null;
  /** Whether the transcript is gone. */
  gone: boolean;
  /** Where the transcript is, or was. */
  path: string;
  /** Whether its secrets were replaced. */
  redacted: boolean;
  /** The program that wrote it. */
  source: string;
  /** The thread. */
  thread_id: string;
  /** The name a person gave it, else its first request in short, secrets replaced. */
  title?: string | null;
  /** When it last grew. */
  updated_at: number;
}

/** One message of the conversation. */
export interface AskMessage {
  /** Who says it. */
  role: AskRole;
  /** Its text. */
  text: string;
}

/** Who says a message. */
export type AskRole = "user" | "assistant";

/** What the model wants done. */
export type AskStep = {
  /** The tools. */
  calls: FileCall[];
  /** Whether the files are finished after them. */
  done: boolean;
  kind: "calls";
} | {
  kind: "unreadable";
  /** Why. */
  reason: string;
};

/** What blocks a thread. */
export type BlockedCause = "context_full" | "compaction" | "other";

/** Why a thread cannot continue by itself: its newest turns failed, and nothing came after. */
export interface BlockedThread {
  /** When last, Unix milliseconds; absent if the line is not dated. */
  at?: number | null;
  /** The failure. */
  cause: BlockedCause;
  /** How many times in a row. */
  failures: number;
}

/** Bounds of a view; an absent one takes the daemon's default. */
export interface Caps {
  /** Decisions, the newest that are not superseded. */
  max_decisions?: number | null;
  /** Plan steps that are done. */
  max_done_plan_steps?: number | null;
  /** Facts that are outdated or cannot be checked. */
  max_facts_suspect?: number | null;
  /** Valid facts. */
  max_facts_valid?: number | null;
  /** Plan steps that are open. */
  max_open_plan_steps?: number | null;
  /** Files, commands and outputs, the newest. */
  max_recent_artifacts?: number | null;
  /** Characters of one value. */
  max_value_chars?: number | null;
}

/** Files and facts of a thread, each compared with the disk. */
export interface CheckedTree {
  /** The first 32 of those with other content, the latest touched first, as the agent wrote them. */
  changed: string[];
  /** Names of the first 32 facts whose files changed or could not be checked. */
  facts_suspect: string[];
  /** Facts whose files are unchanged. */
  facts_valid: number;
  /** The first 32 of those that are gone. */
  gone: string[];
  /** Files unchanged since the thread read or left them. */
  unchanged: number;
  /** Files that could not be checked: outside the thread's folder, too large, or not observed in time. */
  unverified: number;
}

/** Which thread, and what. */
export interface CheckpointApplyParams {
  /** The seq the caller made the update from; absent: any. */
  expected_seq?: number | null;
  /** Its whole id. */
  thread_id: string;
  /** The update. */
  update: Update;
}

/** The outcome of an update. */
export interface CheckpointApplyResult {
  /** Whether it is part of the checkpoint now. */
  accepted: boolean;
  /** How to fix it. */
  hint?: string | null;
  /** Why not, for a person. */
  reason?: string | null;
  /** Why not, as a stable name such as `evidence_missing`. */
  rule?: string | null;
  /** The current seq. */
  seq: number;
}

/** Which thread. */
export interface CheckpointChoicesParams {
  /** Its whole id. */
  thread_id: string;
}

/** The pins and drops. */
export interface CheckpointChoicesResult {
  /** At most 64. */
  choices: Choice[];
  /** Tokens that all pins together take in a view. */
  pinned_tokens: number;
  /** Maximum of `pinned_tokens`. */
  pinned_tokens_max: number;
}

/** What to choose. Exactly one of `text` and `handle` is given. */
export interface CheckpointChooseParams {
  /** Into every view, or into none. */
  action: ChoiceAction;
  /** Items of the thread. A longer text is cut to its beginning, see `whole_bytes`. */
  handle?: string | null;
  /** A text. Dropping it removes every line of a view that contains it. */
  text?: string | null;
  /** Its whole id. */
  thread_id: string;
}

/** What was chosen. */
export interface CheckpointChooseResult {
  /** The choice as stored. */
  choice: Choice;
  /** Whether it existed already. */
  was_there: boolean;
}

/** Which thread, and when. */
export interface CheckpointGetParams {
  /** As it was after the item of this seq; absent: as it is now. */
  as_of?: number | null;
  /** Its whole id. */
  thread_id: string;
}

/** The checkpoint. */
export interface CheckpointGetResult {
  /** An object with its own `schema_version` (1); bounded in size. */
  checkpoint: unknown;
  /** Digest of the checkpoint: equal digests, equal checkpoints. */
  digest: string;
  /** Lines of the transcript that are folded into it. */
  seq: number;
}

/** Which choice. */
export interface CheckpointUnchooseParams {
  /** The choice's id. */
  choice_id: string;
  /** Its whole id. */
  thread_id: string;
}

/** What was removed. */
export interface CheckpointUnchooseResult {
  /** The removed choice. */
  choice: Choice;
}

/** Which thread, how much, and when. */
export interface CheckpointViewParams {
  /** As it was after the item of this seq; absent: as it is now. */
  as_of?: number | null;
  /** Bounds of the sections. */
  caps?: Caps | null;
  /**
   * What the view is to be about, in words, at most `limit::FOCUS_BYTES_MAX` bytes: lines of the checkpoint that
   * speak of it are chosen first. It is never quoted or sent to a model.
   */
  focus?: string | null;
  /** Maximum tokens of the text; absent: the daemon's default. */
  max_tokens?: number | null;
  /** Its whole id. */
  thread_id: string;
}

/** The text. */
export interface CheckpointViewResult {
  /** Digest of the checkpoint it was made from. */
  digest: string;
  /** Lines of the transcript that are folded into it. */
  seq: number;
  /** For a model to read. */
  text: string;
  /** Its tokens, an estimate. */
  tokens: number;
}

/** A pin or drop. */
export interface Choice {
  /** Into every view, or into none. */
  action: ChoiceAction;
  /** Names it for `checkpoint/unchoose`; follows from what was chosen. */
  choice_id: string;
  /** When, Unix milliseconds. */
  created_at: number;
  /** The items it was taken from. */
  handle?: string | null;
  /** The text, secrets replaced. */
  text: string;
  /** The thread it was made in: this one, or one that it continues. */
  thread_id: string;
  /** Tokens it takes in a view; 0 for a drop. */
  tokens: number;
  /** Bytes of the items' whole text, if only the beginning was kept. */
  whole_bytes?: number | null;
}

/** What is wanted of a text. */
export type ChoiceAction = "pin" | "drop";

/** A claimed job. */
export interface ClaimedJob {
  /** Milliseconds between two renewals. */
  heartbeat_ms: number;
  /** What the work is about; absent for kinds that deliver nothing. */
  input?: WorkInput | null;
  /** The job. */
  job: Job;
  /** Input besides its name; may be empty. */
  payload: string;
  /** Milliseconds after which the work must have stopped unless the claim is renewed. */
  stop_in_ms: number;
  /** Proves the claim in later calls. */
  token: string;
}

/** A program that calls the daemon. */
export interface ClientInfo {
  /** Its name, for example `longhaul-cli`; at most 128 bytes. */
  name: string;
  /** Its version; at most 64 bytes. */
  version: string;
}

/** How the agent works with the person. Any change is sent, including its end. */
export interface CollaborationMode {
  /** The reasoning effort it asks for. */
  effort?: string | null;
  /** Its text. */
  instructions?: string;
  /** As `plan`. */
  mode?: string;
  /** The model it asks for. */
  model?: string | null;
}

/** Which compaction. */
export interface CompactionCancelParams {
  /** Its id. */
  compaction_id: string;
}

/** Whether there was something to cancel. */
export interface CompactionCancelResult {
  /** False when it was done already. */
  cancelled: boolean;
}

/** One of our compactions. */
export interface CompactionCost {
  /** The work since; absent if it was only shown. */
  after?: WorkAfter | null;
  /** The line of the thread at which the agent adopted it; absent if it was only shown. */
  in_force_seq?: number | null;
  /** Tokens of the answers in `summary.cost.tokens`; absent if no model was asked, and for old compactions. */
  output_tokens?: number | null;
  /**
   * Its row in `compaction/list`: requests, tokens and milliseconds. `tokens.before` estimates the minimum that the
   * agent's own request would have sent.
   */
  summary: CompactionSummary;
}

/** Which compaction. */
export interface CompactionGetParams {
  /** Its whole id. */
  compaction_id: string;
}

/** A compaction from the log: the fields of `compaction/run` and its row. */
export interface CompactionGetResult {
  /** Names it for `compaction/get` and `compaction/undo`. */
  compaction_id: string;
  /** Cost of model requests; absent if there were none. */
  cost?: Cost;
  /** The history that replaces the old one. */
  history: unknown[];
  /** The line of the thread that installed it, if `install` was set. */
  installed_seq?: number | null;
  /** The rungs that were tried, in order; the last one made it. */
  ladder: Rung[];
  /** Why the thread's watcher asked for it, if it did. */
  policy?: PolicyTrigger | null;
  /** What happened to every item. */
  receipt: Receipt;
  /** The strategy that made it, never `auto`. */
  strategy_used: Strategy;
  /** Its row in `compaction/list`. */
  summary: CompactionSummary;
  /** The texts used in it or in a model's prompt, by their digests. */
  templates?: CompactionTemplateUsed[];
  /** Tokens of the history. */
  tokens: TokensChange;
  /** The text in it that carries the checkpoint or summary, at most `max_tokens`. */
  view: string;
  /** What a person should know. */
  warnings: Warning[];
}

/** Which compactions. */
export interface CompactionListParams {
  /** `next_cursor` of the previous page. */
  cursor?: string | null;
  /** Rows of the page, as in `thread/list`. */
  limit?: number | null;
  /** Only those of this thread. */
  thread_id?: string | null;
}

/** A page of compactions. */
export interface CompactionListResult {
  /** The newest first. */
  compactions: CompactionSummary[];
  /** Present when there are more. */
  next_cursor?: string | null;
}

/** Which thread, and how it would be compacted. */
export interface CompactionPreviewParams {
  /** The thread as it was after the item of this seq; absent: as it is now. */
  as_of?: number | null;
  /**
   * As in `compaction/run`: what the view is to be about, in words, at most `limit::FOCUS_BYTES_MAX` bytes: lines of the checkpoint that
   * speak of it are chosen first. It is never quoted or sent to a model.
   */
  focus?: string | null;
  /** Tokens of the view, as in `compaction/run`. */
  max_tokens?: number | null;
  /** The model that would read the result; with a `provider`, that would write it. */
  model?: Model | null;
  /** Absent: `standalone`. */
  phase?: Phase | null;
  /** Absent: `auto`. */
  strategy?: Strategy | null;
  /** Its whole id. */
  thread_id: string;
}

/** The preview. */
export interface CompactionPreviewResult {
  /** Items that would be dropped, newest first, at most 256. */
  dropped: PreviewItem[];
  /** All items that would be dropped, by kind. */
  dropped_by_kind: KindTotal[];
  /** Items kept unchanged. */
  kept: PreviewItem[];
  /** The lines that were chosen for it; header, pins and the last request are not among them. */
  lines: ViewLine[];
  /** Maximum tokens of the view. */
  max_tokens: number;
  /** The older items that would be dropped. */
  older?: Entry | null;
  /** Its sections in their order, with their cost. */
  parts: ViewPart[];
  /** What a model would be asked; absent if none would be. */
  question?: CompactionQuestion | null;
  /** The current seq. */
  seq: number;
  /** Items kept in part. */
  shortened: PreviewItem[];
  /** What a run would try first. */
  strategy: Strategy;
  /** The thread. */
  thread_id: string;
  /** Tokens of the history. */
  tokens: TokensChange;
  /** Sums over all items. */
  totals: Totals;
  /** The view. */
  view: string;
  /** What a person should know. */
  warnings: Warning[];
}

/** What a model would be asked, and its maximum cost. */
export interface CompactionQuestion {
  /** Maximum tokens of the first request, an estimate. */
  input_tokens: number;
  /** Its name. */
  model: string;
  /** Maximum tokens of its answer. */
  output_tokens_max: number;
  /** Its provider. */
  provider: string;
  /**
   * Maximum requests that the budget allows for one compaction: if the model rejects an input as too large, a smaller
   * one is sent. Absent: no bound.
   */
  requests_max?: number | null;
  /** Maximum tokens of all of them together. Absent: no bound. */
  tokens_max?: number | null;
}

/** Why a compaction was made. */
export type CompactionReason = "user_requested" | "context_limit" | "model_downshift" | "policy" | "other";

/** What to compact, and how. Exactly one of `thread_id` and `items` is given. */
export interface CompactionRunParams {
  /**
   * This is a step of a compaction by the agent itself. The steps share one record: the answer takes the id and the
   * place of the announcement, unless the agent worked in between. Absent: a separate compaction.
   */
  agent_step?: AgentStep | null;
  /** Compacts the thread as it was after the item of this seq; absent: as it is now. */
  as_of?: number | null;
  /** Milliseconds the caller will wait; strategies that would take longer are skipped. */
  deadline_ms?: number | null;
  /**
   * What the view is to be about, in words, at most `limit::FOCUS_BYTES_MAX` bytes: lines of the checkpoint that
   * speak of it are chosen first. It is never quoted or sent to a model.
   */
  focus?: string | null;
  /**
   * Items that are rebuilt for every request and never summarised; placed according to `phase`. Absent with
   * `mid_turn`: what the history itself contains about settings, environment, project instructions and memory,
   * with the warning `no_initial_context` if it contains nothing.
   */
  initial_context?: unknown[] | null;
  /**
   * Installs the result: it replaces the history of a thread of `thread/open` in one step, which undo reverts.
   * Not with `items` or `as_of`. Absent: no.
   */
  install?: boolean | null;
  /** A history of the caller's own, in the Responses API item form. */
  items?: unknown[] | null;
  /** Maximum tokens of `view`; absent: the daemon's default. */
  max_tokens?: number | null;
  /**
   * The model that will read the result. With a `provider` it also writes the summary; its `context_window` then
   * decides how much of the history it is sent.
   */
  model?: Model | null;
  /** Absent: `standalone`. */
  phase?: Phase | null;
  /**
   * On a change to a model with a smaller window: the previous one, which writes the summary since it can still
   * read the whole history. Without a `provider` the configured one is used.
   */
  previous_model?: Model | null;
  /** Why, for the log; absent: as `trigger` says. Usually the answer of `compaction/should`. */
  reason?: CompactionReason | null;
  /** Absent: `auto`. */
  strategy?: Strategy | null;
  /** Texts for this call alone, instead of the configured ones. */
  templates?: CompactionTemplateOverrides | null;
  /** A known thread. */
  thread_id?: string | null;
  /** Who asked, for the log; absent: `manual`. */
  trigger?: Trigger | null;
}

/** A compaction that was made. */
export interface CompactionRunResult {
  /** Names it for `compaction/get` and `compaction/undo`. */
  compaction_id: string;
  /** Cost of model requests; absent if there were none. */
  cost?: Cost;
  /** The history that replaces the old one. */
  history: unknown[];
  /** The line of the thread that installed it, if `install` was set. */
  installed_seq?: number | null;
  /** The rungs that were tried, in order; the last one made it. */
  ladder: Rung[];
  /** What happened to every item. */
  receipt: Receipt;
  /** The strategy that made it, never `auto`. */
  strategy_used: Strategy;
  /** The texts used in it or in a model's prompt, by their digests. */
  templates?: CompactionTemplateUsed[];
  /** Tokens of the history. */
  tokens: TokensChange;
  /** The text in it that carries the checkpoint or summary, at most `max_tokens`. */
  view: string;
  /** What a person should know. */
  warnings: Warning[];
}

/** What is about to happen. At least one of `thread_id` and `items` is given. */
export interface CompactionShouldParams {
  /** Tokens at which to compact, 0 for never; absent: as `context/usage` decides. */
  auto_compact_limit?: number | null;
  /** Tokens of its whole window; absent: as `context/usage` decides. */
  context_window?: number | null;
  /** With `mid_turn`: whether the turn continues; absent: it does. */
  follow_up?: boolean | null;
  /** Items about to be added to the thread, or without one a history of the caller's own. */
  items?: unknown[] | null;
  /** The next model; absent: the thread's. */
  model?: string | null;
  /** `pre_turn` (absent) or `mid_turn`. */
  phase?: Phase | null;
  /** Tokens of its whole window. */
  previous_context_window?: number | null;
  /** The model that answered last, if it is another one. */
  previous_model?: string | null;
  /** A known thread. */
  thread_id?: string | null;
}

/** The answer. */
export interface CompactionShouldResult {
  /** Whether to compact. */
  compact: boolean;
  /** Tokens about to be added. */
  incoming: number;
  /** Tokens at which to compact; absent if disabled. */
  limit?: number | null;
  /** Source of the value: `default`, `config`, `request` … */
  limit_source: string;
  /** The model to compact with: the previous, larger one on a downshift. */
  model?: string | null;
  /** `context_limit`, `model_downshift`, `under_limit`, `no_follow_up` or `switched_off`. */
  reason: string;
  /** Tokens in the window. */
  used: number;
}

/** A compaction that was started. */
export interface CompactionStartResult {
  /** Names it for `compaction/get`, `compaction/cancel` and in events. */
  compaction_id: string;
  /** Its job, for `job/get` and `job/why`. */
  job: string;
}

/** One compaction in a few numbers. */
export interface CompactionSummary {
  /** Its id. */
  compaction_id: string;
  /** Cost of model requests; absent if there were none. */
  cost?: Cost;
  /** When, Unix milliseconds. */
  created_at: number;
  /** Milliseconds it took. */
  duration_ms: number;
  /** When in the thread. */
  phase: Phase;
  /** Why. */
  reason?: CompactionReason;
  /** Lines of the transcript it covers. */
  seq: number;
  /** The strategy that made it. */
  strategy_used: Strategy;
  /** The thread it was made of; absent for given items. */
  thread_id?: string | null;
  /** Tokens of the history. */
  tokens: TokensChange;
  /** Who asked. */
  trigger: Trigger;
  /** When it was undone, Unix milliseconds. */
  undone_at?: number | null;
}

/** Texts of one call. Placeholders are written `{name}`; `compaction/templates` lists those of each text. */
export interface CompactionTemplateOverrides {
  /** Heads a checkpoint's view, at most 4 KiB. */
  checkpoint_guide?: string | null;
  /** Heads a summary, at most 4 KiB. */
  summary_prefix?: string | null;
  /** What a model is asked for a summary, at most 32 KiB. */
  summary_prompt?: string | null;
}

/** Owner of a text. */
export type CompactionTemplateSource = "built_in" | "file" | "agent" | "call" | "other";

/** A text that a compaction was made with. */
export interface CompactionTemplateUsed {
  /** Digest of the text before its placeholders were filled. */
  digest: string;
  /** Its name, as of `compaction/templates`. */
  name: string;
  /** Its owner. */
  source: CompactionTemplateSource;
}

/** Which compaction. */
export interface CompactionUndoParams {
  /** Its whole id. */
  compaction_id: string;
}

/** The history as it was before. */
export interface CompactionUndoResult {
  /** The compaction. */
  compaction_id: string;
  /** Whether `history` is complete, that is, `handles` is empty. */
  complete: boolean;
  /** Handles of what did not fit, for `history/expand`, in order after `history`. */
  handles: Entry[];
  /** The old history, as far as it fits into a frame. */
  history: unknown[];
  /** What it changed. */
  reach?: UndoReach;
  /** The line of the thread that restored its history, if the compaction was installed. */
  restored_seq?: number | null;
  /** The last compacted line: `thread/continue` with it as `as_of` continues from before the compaction. */
  seq?: number | null;
  /** The program whose thread it is, as in `thread/list`. */
  source?: string | null;
  /** The thread; absent for given items. */
  thread_id?: string | null;
  /** When it was first undone, Unix milliseconds. */
  undone_at: number;
}

/** Cost of our compactions of threads that are stored, beside that of the agents' own. */
export interface CompactionsStatus {
  /** Compactions that agents made by themselves, on the four newest compacted threads, of which anything is recorded. */
  agent_compactions?: number;
  /** Milliseconds of one of these, the median. */
  agent_duration_ms?: number | null;
  /** Tokens of one of these, request and answer: medians of what is recorded. */
  agent_tokens?: number | null;
  /** How many there are. */
  compactions: number;
  /** Milliseconds, together. */
  duration_ms: number;
  /** Tokens of the compacted histories, an estimate: what requests of their agents would have sent. */
  history_tokens: number;
  /** Requests to models for them. */
  requests: number;
  /** When the oldest was made, Unix milliseconds; absent where there is none. */
  since?: number | null;
  /** Tokens of these requests, input and answers. */
  tokens: number;
}

/** A value that differs. */
export interface ConfigChange {
  /** The value of the file. */
  after: string;
  /** True: applied; false: applies after a restart of the daemon. */
  applied: boolean;
  /** The value until now. */
  before: string;
  /** The key. */
  key: string;
}

/** A key of the configuration. */
export interface ConfigValue {
  /** Its dotted name in the file: `compaction.keep_days`. */
  key: string;
  /** `default`, `file`, `environment NAME` or `flag NAME`. */
  origin: string;
  /** The current value, as text. */
  value: string;
}

/** One change. */
export interface ContextChange {
  /** The call it belongs to. */
  call_id?: string | null;
  /** Index among the items that were sent. */
  index: number;
  /**
   * `removed`, `counterpart_removed`, `output_added`, `output_moved`, `orphan_output_removed`,
   * `duplicate_output_removed`, `duplicate_call_removed`, `orphan_call_removed`,
   * `duplicate_item_removed`, `id_removed`, `invisible_removed`, `images_omitted` or
   * `images_repaired`. New kinds may come.
   */
  kind: string;
}

/** The settings last sent to the model, and those of the next turn. */
export interface ContextDiffParams {
  /** The settings of the next turn. */
  current: ContextSettings;
  /** Settings to compare besides the five. */
  include?: OptionalSetting[] | null;
  /**
   * The settings last sent to the model. Without it and without `thread_id`, as after a compaction, everything is
   * sent.
   */
  reference?: ContextSettings | null;
  /**
   * A thread whose transcript contains the settings last sent, instead of `reference`. Settings the
   * transcript does not contain count as unchanged. The texts named in `include` are compared with those in
   * the history; if `current` omits them, they are read now: AGENTS.md from the root of the project to the
   * working folder, memory as `memory/summary` returns it.
   */
  thread_id?: string | null;
}

/** What to put before the next turn. */
export interface ContextDiffResult {
  /**
   * The settings they contain, in order: `model`, `permissions`, `memory`, `collaboration_mode`,
   * `personality`, `agents_md`, `environment`.
   */
  changed: string[];
  /** Whether they contain everything, for lack of a reference. */
  full: boolean;
  /** At most a developer message and, after it, a user message. */
  items: unknown[];
  /** Estimated tokens of the items. */
  tokens: number;
}

/** What to estimate. Exactly one of `items` and `text` is given. */
export interface ContextEstimateParams {
  /** History items. Whitespace between JSON tokens does not count. */
  items?: unknown[] | null;
  /** A text. */
  text?: string | null;
  /** Counts with a real tokenizer, `o200k` or `cl100k`, instead of by size. */
  tokenizer?: string | null;
}

/** The estimate. */
export interface ContextEstimateResult {
  /** Tokens by kind (`user`, `tool_outputs`, `images` …); only with `items`. */
  by_kind?: Record<string, number> | null;
  /** The bytes it is based on. */
  bytes: number;
  /** The tokenizer that counted; absent for an estimate by size. */
  tokenizer?: string | null;
  /** Tokens: by a tokenizer if one was named, else model-visible bytes ÷ 4, rounded up. */
  tokens: number;
}

/** Which model answers. A new name is sent, with its instructions if there are any. */
export interface ContextModel {
  /** Its own instructions. */
  instructions?: string;
  /** Its name. */
  name?: string;
}

/** What to normalise, and for whom. */
export interface ContextNormalizeParams {
  /**
   * Modalities the model accepts, such as `text` and `image`; without `image`, images become a sentence.
   * Absent: everything.
   */
  input_modalities?: string[] | null;
  /** History items. */
  items: unknown[];
  /** Indexes of items to remove, each with its counterpart. */
  remove?: number[];
  /** The provider rejected an image: the images of the newest output become a sentence. */
  repair_image?: boolean;
}

/** The valid history. */
export interface ContextNormalizeResult {
  /** What was changed, by index; empty if the history was valid. */
  changes: ContextChange[];
  /** The items; unchanged ones keep the bytes that were sent. */
  items: unknown[];
}

/** Settings that a model is informed of. Absent parts are not sent. */
export interface ContextSettings {
  /** Text of the project's instructions. */
  agents_md?: string | null;
  /** How it works with the person. */
  collaboration_mode?: CollaborationMode | null;
  /** Where it works. */
  environment?: Environment | null;
  /** Text of the memory. */
  memory?: string | null;
  /** Which model it is. */
  model?: ContextModel | null;
  /** What it may do. */
  permissions?: Permissions | null;
  /** Its personality. */
  personality?: Personality | null;
}

/** What to cut, and how far. Exactly one of `text` and `items` is given. */
export interface ContextTruncateParams {
  /**
   * Prefixes a cut text with its number of lines, as outputs of commands have it; an output of several parts
   * becomes one text, followed by its images.
   */
  formatted?: boolean | null;
  /** History items, cut as they are recorded: outputs of tools, with a fifth of head-room. */
  items?: unknown[] | null;
  /** How much to keep. */
  policy: TruncatePolicy;
  /** A text. */
  text?: string | null;
}

/** The result. */
export interface ContextTruncateResult {
  /** The items; only for items. */
  items?: unknown[] | null;
  /** How much was removed, as the markers say. */
  removed: number;
  /** The text, a marker where something was removed; only for a text. */
  text?: string | null;
  /**
   * What `removed` counts: `tokens`, `chars` or `lines`. Under `model_format` a text that had too
   * many lines only is counted in lines.
   */
  unit: string;
}

/** Which window. `thread_id`, `items`, or both: then the items are about to be added. */
export interface ContextUsageParams {
  /** The thread as it was after this line. */
  as_of?: number | null;
  /** Tokens at which to compact, 0 for never; absent: as configured, or 90 % of the window. */
  auto_compact_limit?: number | null;
  /** Tokens of the model's whole window; absent: as configured, as the transcript states, or the model's known one. */
  context_window?: number | null;
  /** History items. */
  items?: unknown[] | null;
  /** Name of the model; absent: the one the thread names. */
  model?: string | null;
  /** Whether to add `resume`, which takes as long as a view; absent: no. Of a thread as it is now only. */
  resume?: boolean | null;
  /** A thread. */
  thread_id?: string | null;
}

/** How full the window is. */
export interface ContextUsageResult {
  /**
   * Estimated tokens by kind: `system`, `user`, `assistant`, `tool_calls`,
   * `tool_outputs`, `reasoning`, `images`, `initial_context`, `summary`, `other`; kinds without any
   * are left out.
   */
  by_kind: Record<string, number>;
  /** The model. */
  model?: string | null;
  /** What the next request costs, if asked for; absent if the provider's cache is unknown. */
  resume?: ResumePrice | null;
  /** Line of the thread it is the state of. */
  seq?: number | null;
  /** The thread, if one was named. */
  thread_id?: string | null;
  /** How the window filled over time; only for a thread. */
  timeline?: Timeline | null;
  /** The sizes. */
  tokens: UsageTokens;
  /**
   * Warnings: `window_unknown`, `over_window`, `over_trigger`, `item_over_headroom`,
   * `limit_unreachable`.
   */
  warnings: Warning[];
  /** The window. */
  window: Window;
}

/** Cost of model requests. */
export interface Cost {
  /** Requests, failed ones included. */
  requests: number;
  /** Tokens, input and answers. */
  tokens: number;
}

/** Where the cost of an agent's compactions is recorded. */
export type CostSource = "thread" | "model" | "unknown";

/** Something a fact depends on. */
export interface Dependency {
  /** Its hash when the fact was learned, as the checkpoint showed it. */
  hash?: string | null;
  /** A file path or another artifact of the checkpoint. */
  uri: string;
}

/** An item, or several neighbours, of the old history. */
export interface Entry {
  /** Returns the exact items by `history/expand`, at any later time. */
  handle: string;
  /** How many items, 1 ≤ `items`. */
  items: number;
  /** The kind of the item (`user_message`, `tool_output`, …), or `span` for several. */
  kind: string;
  /** The seq of the first one. */
  seq_first: number;
  /** The seq of the last one. */
  seq_last: number;
  /** Tokens of the items, an estimate: what expanding costs. */
  tokens: number;
}

/** Where the agent works. A change of folders, date, time zone or network is sent. */
export interface Environment {
  /** Today, as `2026-11-21`. */
  current_date?: string | null;
  /** Working folders; usually one. */
  folders?: WorkingFolder[];
  /** Rules of the network. */
  network?: Network | null;
  /** As `Europe/Paris`. */
  timezone?: string | null;
}

/** `error.data`: what a program needs to react, and a hint for a person. */
export interface ErrorData {
  /** Facts of this case (the field, the limit and its value, the current seq …); the shape depends on the kind. */
  detail?: unknown;
  /** One sentence for a person: what to do about it. */
  hint?: string | null;
  /** The row of the error table. A kind of a newer daemon reads as [`ErrorKind::Unrecognized`]. */
  kind: ErrorKind;
  /** Identifies the request in the daemon's log. */
  request_id?: string | null;
  /** What to do next; valid even if the kind is unknown. */
  retry: Retry;
  /** Milliseconds to wait before the same request is worth sending, with [`Retry::Backoff`]. */
  retry_after_ms?: number | null;
}

/** A row of the error table. */
export type ErrorKind = string;

/** Something that happened. */
export interface Event {
  /** When, Unix milliseconds. */
  at: number;
  /** The facts, by kind; fields may be added. */
  data: unknown;
  /** What: the name of an [`EventKind`], or one of a newer daemon. */
  kind: string;
  /** Its place in the order of all events of this instance; starts at 1. */
  seq: number;
}

/** The kinds of events of this revision, with the fields of their `data`. */
export type EventKind = "thread_updated" | "ingest_warning" | "store_rebuilt" | "compaction_started" | "compaction_progress" | "compaction_failed" | "compaction_warning" | "compaction_loop" | "compaction_completed" | "context_compacted" | "policy_decided" | "limit_crossed" | "memory_progress" | "memory_published" | "gap" | "closing";

/** The params of the `event` notification. */
export interface EventNotificationParams {
  /** The event. */
  result: Event;
  /** The subscription it belongs to. */
  subscription: string;
}

/** Which events. */
export interface EventSubscribeParams {
  /** Only these; absent: all. `gap` and `closing` always come. */
  kinds?: EventKind[] | null;
  /** Also those after this seq that the daemon still has; a `gap` comes first if it does not have all of them. */
  since_seq?: number | null;
}

/** A subscription. */
export interface EventSubscribeResult {
  /** The seq of the newest event at this moment. */
  seq: number;
  /** Its id, unique on this connection; every notification carries it. */
  subscription: string;
}

/** Which subscription. */
export interface EventUnsubscribeParams {
  /** Its id. */
  subscription: string;
}

/** Whether there was one. */
export interface EventUnsubscribeResult {
  /** Whether a subscription of this id was live. */
  ended: boolean;
}

/** Where something comes from; an update with missing evidence is rejected. */
export interface Evidence {
  /** Its hash, as the checkpoint showed it. */
  hash?: string | null;
  /** A message id, a file path, a tool call id. */
  ref: string;
  /** What kind of thing `ref` names. */
  source: EvidenceSource;
}

/** What kind of thing evidence names. */
export type EvidenceSource = "user" | "file" | "tool_output";

/** What was learned from a thread. Empty texts: there is nothing to learn. */
export interface ExtractAnswer {
  /** What was learned, each with its proof. */
  learnings: ExtractLearning[];
  /** `success`, `partial`, `fail` or `uncertain`. */
  outcome: string;
  /** Markdown: what a later agent should know. */
  raw_memory: string;
  /** A short name of the thread. */
  rollout_slug: string;
  /** Markdown: what was asked, done, and how it ended. */
  rollout_summary: string;
}

/** One thing that was learned. */
export interface ExtractLearning {
  /** `constraint`, `preference`, `correction`, `note`, `fix`, `command`, `fact` or `co_change`. */
  kind: string;
  /** A verbatim quotation from that row. */
  quote: string;
  /** The line that supports it, by the number of its row. */
  seq: number;
  /** In a sentence. */
  text: string;
}

/** Kinds of failure, by what happens next. */
export type FailKind = "transient" | "rate_limited" | "overflow" | "unauthorized" | "permanent" | "interrupted";

/** Threads that were read without the configured model, for one reason. */
export interface Fallback {
  /** A stable name and words: `rate_limited: HTTP 429: slow down`. */
  reason: string;
  /** How many. */
  threads: number;
}

/** One call of a file tool; unused arguments are empty or 0. */
export interface FileCall {
  /** First line, from 1. */
  line: number;
  /** Lines at most; 0: as many as fit. */
  lines: number;
  /** Text in its place. */
  new_text: string;
  /** File or folder. */
  path: string;
  /** Text to write, to find, or to be replaced. */
  text: string;
  /** Which tool. */
  tool: FileTool;
}

/** A tool that works on the files. */
export type FileTool = "list" | "read" | "write" | "replace" | "search" | "delete";

/** What a history begins with. */
export interface HistoryBase {
  /** What it is. */
  kind: HistoryBaseKind;
  /** The line of the compaction; 0 for the start. */
  seq: number;
}

/** Kinds of beginning. */
export type HistoryBaseKind = "start" | "replacement" | "summary" | "opaque";

/** Which handle. */
export interface HistoryExpandParams {
  /** `next_cursor` of the previous answer. */
  cursor?: string | null;
  /** A handle of a receipt, a view, a search or an undo; `#747` or `747` is of `thread_id`. */
  handle: string;
  /**
   * Bytes of items to answer at most, lowered to `limit::EXPAND_BYTES_MAX`;
   * absent: that. At least one item is answered.
   */
  max_bytes?: number | null;
  /** The thread of a handle that names none. */
  thread_id?: string | null;
}

/** Items as they were written, byte for byte: keys keep their order, numbers their digits. */
export interface HistoryExpandResult {
  /** The first byte of the first line and the byte after the last one, in the uncompressed file. */
  byte_range: [number, number];
  /** Whether some of these items come from the archive because the transcript is gone or has changed. */
  from_archive?: boolean;
  /** The items of the handle, in order. Secrets are *not* replaced here: these are the user's own bytes. */
  items: unknown[];
  /** Present when the handle holds more items. */
  next_cursor?: string | null;
  /** The transcript that holds them. */
  path: string;
}

/** Which history. */
export interface HistoryGetParams {
  /** The history as it was after the item with this seq; absent: now. */
  as_of?: number | null;
  /** Continues where the answer that carried it as `next_cursor` ended; `as_of` is that answer's. */
  cursor?: string | null;
  /**
   * Bytes of items to answer at most, lowered to `limit::EXPAND_BYTES_MAX`; absent: 1 MiB. At least
   * one item is answered.
   */
  max_bytes?: number | null;
  /** How to return a compaction that only its provider can read; absent: `stand_in`. */
  opaque?: HistoryOpaque | null;
  /** The thread. */
  thread_id: string;
}

/** A page of the history. */
export interface HistoryGetResult {
  /** What the history begins with. */
  base: HistoryBase;
  /** Whether some of these items come from the archive because the transcript is gone or has changed. */
  from_archive?: boolean;
  /**
   * The items, byte for byte as the transcript holds them. Secrets are *not* replaced here: these are the
   * user's own bytes.
   */
  items: unknown[];
  /** Present when there are more items. */
  next_cursor?: string | null;
  /** Where each of `items` comes from, in the same order. */
  origins: HistoryOrigin[];
  /** The seq of the last line in the history. */
  seq: number;
  /** The thread. */
  thread_id: string;
  /** Tokens of the whole history, estimated; not only of this page. */
  tokens: number;
}

/** How to return a compaction that only its provider can read. */
export type HistoryOpaque = "stand_in" | "as_is";

/** Where an item comes from. */
export interface HistoryOrigin {
  /** Returns the line at any later time. */
  handle?: string | null;
  /** The kind, as in receipts. */
  kind: string;
  /** The line; several items of one replacement history share it. */
  seq: number;
  /** Whether the item is longhaul's, in place of one that only its provider can read. */
  stand_in?: boolean;
  /** Tokens, estimated. */
  tokens: number;
}

/** What the indexer is doing. */
export type IndexState = "idle" | "indexing" | "stalled" | "other";

/** Progress of the full-text index. */
export interface IndexStatus {
  /** Bytes of the index on disk. */
  bytes: number;
  /** Transcripts that are not completely indexed yet. */
  files_behind: number;
  /** Items that can be found. */
  items: number;
  /** What it is doing. */
  state: IndexState;
}

/** A file that could not be read. */
export interface IngestError {
  /** When, Unix milliseconds. */
  at: number;
  /** What the system said. */
  message: string;
  /** The file. */
  path: string;
}

/** Whether ingestion has something left to read. */
export type IngestState = "idle" | "catching_up";

/** How far the transcripts are read. */
export interface IngestStatus {
  /** Bytes read of `bytes_total`. */
  bytes_done: number;
  /** Bytes that were unread when catching up began. */
  bytes_total: number;
  /** The newest files that could not be read; a bounded list. */
  errors: IngestError[];
  /** When all folders were last scanned, Unix milliseconds; absent before the first time. */
  last_scan_at?: number | null;
  /** Lines read. */
  lines: number;
  /** Lines that are not one JSON object. If a line has several, each is read. */
  malformed: number;
  /** Lines over the bound; their position and digest are kept. */
  oversized: number;
  /** Files waiting to be read. */
  queued_files: number;
  /** Whether there is something left to read. */
  state: IngestState;
  /** Lines of a kind unknown to this version; kept unchanged. */
  unknown: number;
}

/** The caller, and what it supports. */
export interface InitializeParams {
  /** The capabilities it asks for; absent: the baseline. Unknown names are not granted. */
  capabilities?: string[] | null;
  /** The calling program. */
  client: ClientInfo;
  /**
   * The folder an agent works in, an absolute path. Read on the agents' socket only: it must lie in the
   * project of the folder that the daemon sees the process run in, and is used where the system does not tell.
   */
  folder?: string | null;
  /** The revisions it speaks; absent: the oldest one. */
  protocol?: RevisionRange | null;
}

/** What was agreed on. */
export interface InitializeResult {
  /** The capabilities granted to this connection, sorted. */
  capabilities: string[];
  /** The daemon's bounds. */
  limits: Limits;
  /** The methods this connection may call. */
  methods: string[];
  /** The revision both ends speak from now on. */
  protocol: number;
  /** The daemon that answers. */
  server: ServerInfo;
}

/** One item in a line. */
export interface ItemSummary {
  /** When it was written, Unix milliseconds, if its line says so. */
  at?: number | null;
  /** How it begins, on one line, secrets replaced. */
  excerpt: string;
  /** Returns the item, see `history/expand`. */
  handle: string;
  /**
   * What it is: `user_message`, `assistant_message`, `context`, `reasoning`, `tool_call`, `tool_output`,
   * `compaction`, `oversized`, `other`.
   */
  kind: string;
  /** Its line in the thread's lineage. */
  seq: number;
  /** Its tokens, an estimate. */
  tokens: number;
}

/** A job. */
export interface Job {
  /** Attempts since it last succeeded or was woken. */
  attempts: number;
  /** When it was first requested. */
  created_at: number;
  /** Claims of it so far. */
  epoch: number;
  /** Why it last failed, until it succeeds. */
  failure?: string | null;
  /** When it last succeeded. */
  finished_at?: number | null;
  /** Who runs it. */
  holder?: string | null;
  /** Whether there is work requested after the last run started. */
  is_pending: boolean;
  /** Its name, `kind/subject`. */
  job: string;
  /** What it does. */
  kind: string;
  /** Not before this, Unix milliseconds. */
  not_before?: number | null;
  /** Higher runs first. */
  priority: number;
  /** Its state. */
  state: string;
  /** Its subject: a thread, a compaction, or empty. */
  subject: string;
  /** When it last changed. */
  updated_at: number;
}

/** Which claim, and the conversation so far. */
export interface JobAskParams {
  /** The job's name. */
  job: string;
  /** The oldest first. */
  messages: AskMessage[];
  /** The token of the claim. */
  token: string;
}

/** The model's answer. */
export interface JobAskResult {
  /** The same as a step. */
  step: AskStep;
  /** The answer as the model gave it: the next message of the conversation. */
  text: string;
}

/** Who claims what. */
export interface JobClaimParams {
  /** Kind. */
  kind: string;
  /** Name of the worker, for people: 1 to 64 of letters, digits, `.`, `_`, `-`. */
  worker: string;
}

/** The job, if one is due. */
export interface JobClaimResult {
  /** The claim; absent: nothing is due. */
  claim?: ClaimedJob | null;
}

/** Which claim, and its result. */
export interface JobCompleteParams {
  /** The job's name. */
  job: string;
  /** The result, of the kind of the claim's `input`; absent if that was absent. */
  result?: WorkResult | null;
  /** The token of the claim. */
  token: string;
}

/** The settled job. */
export interface JobCompleteResult {
  /** The job. */
  job: Job;
  /** Parts of the result that were left out, and why. */
  refused?: string[];
}

/** Something that happened to a job. */
export interface JobEvent {
  /** When, Unix milliseconds. */
  at: number;
  /** A text; may be empty. */
  detail: string;
  /** Its epoch then. */
  epoch: number;
  /** The state it entered. */
  state: string;
}

/** Why. */
export interface JobFailParams {
  /** For a person; secrets are replaced. */
  detail: string;
  /** The job's name. */
  job: string;
  /** What happens next. */
  kind: FailKind;
  /** Minimum milliseconds to wait. */
  retry_after_ms?: number | null;
  /** The token of the claim. */
  token: string;
}

/** A job and its events. */
export interface JobGetResult {
  /** Its events, oldest first; only the newest are kept. */
  events: JobEvent[];
  /** The job. */
  job: Job;
}

/** The renewed claim. */
export interface JobHeartbeatResult {
  /** Milliseconds after which the work must have stopped unless the claim is renewed. */
  stop_in_ms: number;
}

/** Which jobs. */
export interface JobListParams {
  /** Only of this kind: `extract`, `consolidate`, `curate`, `compact`, `prune`, `reindex`. */
  kind?: string | null;
  /** Rows, 1 ≤ `limit` ≤ `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`. */
  limit?: number | null;
  /** Only in this state: `queued`, `running`, `done`, `failed`, `dead`, `parked`. */
  state?: string | null;
}

/** Jobs. */
export interface JobListResult {
  /** The last changed first. */
  jobs: Job[];
}

/** Which job. */
export interface JobParams {
  /** Its name, `kind/subject`. */
  job: string;
}

/** A job after a change. */
export interface JobResult {
  /** The job. */
  job: Job;
}

/** Which claim. */
export interface JobTokenParams {
  /** The job's name. */
  job: string;
  /** The token of the claim. */
  token: string;
}

/** Why. */
export interface JobWhyResult {
  /** The job; absent if none was requested yet. */
  job?: Job | null;
  /**
   * A stable name: `due`, `nothing_owed`, `running`, `abandoned`, `waiting`, `no_room`, `dead`, `parked`,
   * `not_asked`.
   */
  reason: string;
  /** Why its thread is excluded from memory, a stable name as in `memory/status`. */
  skipped?: string | null;
  /** One sentence for a person. */
  text: string;
  /** Milliseconds until it changes by itself, if known. */
  wait_ms?: number | null;
}

/** Items of one kind. */
export interface KindTotal {
  /** How many. */
  items: number;
  /** What they are. */
  kind: string;
  /** Their tokens, an estimate. */
  tokens: number;
}

/** The daemon's bounds, as `initialize` answers them. */
export interface Limits {
  /** Requests in one batch, [`BATCH_MAX`]. */
  batch_max: number;
  /** Connections, [`CONNECTIONS_MAX`]. */
  connections_max: number;
  /** Events waiting for one subscriber, [`EVENT_QUEUE_MAX`]. */
  event_queue_max: number;
  /** Bytes of items in one `history/expand`, [`EXPAND_BYTES_MAX`]. */
  expand_bytes_max: number;
  /** Bytes of one message, [`FRAME_BYTES_MAX`]. */
  frame_bytes_max: number;
  /** Requests in flight on one connection, [`INFLIGHT_PER_CONNECTION_MAX`]. */
  inflight_per_connection_max: number;
  /** Rows of a page if the request does not say, [`PAGE_ROWS_DEFAULT`]. */
  page_rows_default: number;
  /** Maximum rows of a page, [`PAGE_ROWS_MAX`]. */
  page_rows_max: number;
  /** Subscriptions of one connection, [`SUBSCRIPTIONS_PER_CONNECTION_MAX`]. */
  subscriptions_per_connection_max: number;
}

/** A file of prompts. */
export interface Log {
  /** Number of the oldest prompt it holds. */
  first: number;
  /** Its id, constant for one file. */
  log_id: string;
  /** Number that the next prompt will have. */
  next: number;
  /** The file. */
  path: string;
  /** The program that writes it. */
  source: string;
}

/** An event of a thread other than an item. */
export type Marker = {
  /** The folder, an absolute path. */
  cwd?: string | null;
  /** The model. */
  model?: string | null;
  type: "settings";
} | {
  type: "turn_started";
} | {
  type: "turn_complete";
} | {
  type: "turn_aborted";
} | {
  /** How many. */
  turns: number;
  type: "rolled_back";
} | {
  /** The summary; may be empty. */
  message?: string;
  /** The items that replace it. */
  replacement_history: unknown[];
  type: "compacted";
};

/** What to remember. */
export interface MemoryAddNoteParams {
  /** For the project of this folder; absent: everywhere, which only a person may use. */
  cwd?: string | null;
  /** Who says it; absent: `client`. An agent's connection cannot speak as the person. */
  origin?: MemoryOrigin | null;
  /** Not blank, at most `limit::NOTE_BYTES_MAX` bytes. */
  text: string;
}

/** The note. */
export interface MemoryAddNoteResult {
  /** Number of the published memory that holds it. */
  generation: number;
  /** Its id, for `memory/review_note` and `memory/forget`. */
  note_id: string;
  /** The origin that the daemon assigned. */
  origin?: MemoryOrigin;
  /** Whether it waits for a person's confirmation. */
  pending?: boolean;
  /** The project it is for. */
  project?: string | null;
  /** Its stored text. */
  text: string;
}

/** What was used; at least one field. */
export interface MemoryCiteParams {
  /** An answer with a citation block. */
  answer?: string | null;
  /** Files that were cited or read. */
  paths?: string[] | null;
  /** Threads that were cited. */
  thread_ids?: string[] | null;
}

/** What was counted. */
export interface MemoryCiteResult {
  /** The answer without its citation blocks, where one was given. */
  answer?: string | null;
  /** Kinds of file. */
  kinds: string[];
  /** Threads; unknown ones are ignored. */
  thread_ids: string[];
}

/** A file of memory. */
export interface MemoryFile {
  /** Bytes. */
  bytes: number;
  /** A person changed it since it was published. */
  edited: boolean;
  /** Lines. */
  lines: number;
  /** Path below the memory folder. */
  path: string;
}

/** What to forget; exactly one field. */
export interface MemoryForgetParams {
  /** All that is from the project of this folder. */
  cwd?: string | null;
  /** One thing that was learned. */
  entry_id?: string | null;
  /** A note. */
  note_id?: string | null;
  /** All that is from a thread. */
  thread_id?: string | null;
}

/** What was removed. */
export interface MemoryForgetResult {
  /** Number of the published memory without it. */
  generation: number;
  /** Extractions and notes that were removed. */
  removed: number;
}

/** A passage. */
export interface MemoryHit {
  /** Time of its newest evidence, Unix milliseconds; check old entries before you trust them. */
  at: number;
  /** Last line. */
  line_end: number;
  /** First line, from 1. */
  line_start: number;
  /** File, for `memory/read` and citations. */
  path: string;
  /** Project it is about; absent: all. */
  project?: string | null;
  /** Larger is better; comparable within one answer. */
  score: number;
  /** Kind of file: `memory_md`, `memory_summary`, `raw_memories`, `rollout_summaries`, `skills`. */
  source: string;
  /** Its lines. */
  text: string;
  /** Thread it is from, where it is from one. */
  thread_id?: string | null;
}

/** Which notes. */
export interface MemoryListNotesParams {
  /** `next_cursor` of the previous page. */
  cursor?: string | null;
  /** Only those of the project of this folder. */
  cwd?: string | null;
  /** Rows, at most `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`. */
  limit?: number | null;
  /** Only those that wait for a person, or only the others; absent: all. */
  pending?: boolean | null;
}

/** Notes. */
export interface MemoryListNotesResult {
  /** Where the next page starts. */
  next_cursor?: string | null;
  /** Oldest first. */
  notes: MemoryNote[];
}

/** Which files. */
export interface MemoryListParams {
  /** `next_cursor` of the previous page. */
  cursor?: string | null;
  /** Rows, at most `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`. */
  limit?: number | null;
  /** Only those below this folder. */
  path?: string | null;
}

/** Files. */
export interface MemoryListResult {
  /** By path. */
  files: MemoryFile[];
  /** Where the next page starts. */
  next_cursor?: string | null;
  /** The folder that contains them. */
  root: string;
}

/** A note. */
export interface MemoryNote {
  /** When it was made, Unix milliseconds. */
  at: number;
  /** Its id. */
  note_id: string;
  /** Who said it. */
  origin: MemoryOrigin;
  /** Whether it waits for a person's confirmation. */
  pending: boolean;
  /** The project it is for; absent: everywhere. */
  project?: string | null;
  /** Its text. */
  text: string;
}

/** Who said a text. Only a person's texts can be rules. */
export type MemoryOrigin = "person" | "agent" | "tool" | "client";

/** Which lines. */
export interface MemoryReadParams {
  /** First line, from 1; absent: 1. */
  line?: number | null;
  /** Maximum lines. */
  max_lines?: number | null;
  /** Maximum tokens; absent: 10000. At least one line is returned, cut if it is longer. */
  max_tokens?: number | null;
  /** File, as `memory/list` names it. */
  path: string;
}

/** Lines. */
export interface MemoryReadResult {
  /** Last line; one less than the first when there is none. */
  line_end: number;
  /** First line. */
  line_start: number;
  /** The line to continue at; absent at the end. */
  next_line?: number | null;
  /** The file. */
  path: string;
  /** The lines. */
  text: string;
}

/** Which note, and the decision. */
export interface MemoryReviewNoteParams {
  /** The note. */
  note_id: string;
  /** The decision. */
  verdict: MemoryVerdict;
}

/** The result. */
export interface MemoryReviewNoteResult {
  /** Number of the first published memory with the change. */
  generation: number;
  /** The person's note that replaced it, if it was confirmed. */
  note_id?: string | null;
}

/** How. */
export interface MemoryRunParams {
  /** Include threads that are not idle long enough or too old; absent: false. */
  all?: boolean | null;
  /** The calling thread, which is excluded. */
  current_thread_id?: string | null;
  /** Only this thread; if a person asks, even one that is not idle yet. */
  thread_id?: string | null;
  /** Answer when it is done; absent: true. */
  wait?: boolean | null;
}

/** Its outcome. */
export interface MemoryRunResult {
  /** Whether this run changed it. */
  changed: boolean;
  /** Milliseconds. */
  duration_ms: number;
  /**
   * Whether a model now edits its files, which this run does not wait for: see the job `curate/`, and `agent` of
   * `memory/status` afterwards.
   */
  editing?: boolean;
  /** Those without learnings. */
  empty: number;
  /** Threads that were extracted by this run. */
  extracted: number;
  /** Those that failed; `longhaul job list --kind extract` says why. */
  failed: number;
  /**
   * Threads that were read without the configured model; `memory/status` says why. The model reads them
   * later.
   */
  fallbacks?: number;
  /** Number of the published memory. */
  generation: number;
  /** Threads that were skipped, by reason. */
  skipped: SkipCount[];
  /** Its state. */
  state: RunState;
  /** Known threads. */
  threads: number;
}

/** What to look for. */
export interface MemorySearchParams {
  /** Only the project of this folder, and what applies everywhere. */
  cwd?: string | null;
  /** Hits, at most `limit::SEARCH_HITS_MAX`; absent: `limit::SEARCH_HITS_DEFAULT`. */
  limit?: number | null;
  /** Maximum tokens of all texts together. */
  max_tokens?: number | null;
  /** Words, as in `thread/search`. */
  query: string;
}

/** What was found. */
export interface MemorySearchResult {
  /** Number of the published memory that was searched; 0: none is published yet. */
  generation: number;
  /** Best first. */
  hits: MemoryHit[];
}

/** Of what. */
export interface MemoryStatusParams {
  /** Also why this thread is or is not extracted. */
  thread_id?: string | null;
}

/** The state of memory. */
export interface MemoryStatusResult {
  /** The last run of the agent that edits the files; absent before the first. */
  agent?: AgentRun | null;
  /** Threads that are due. */
  due: number;
  /** Whether it is built in the background. */
  enabled: boolean;
  /** The engine: `deterministic` or `model`. */
  engine: string;
  /** Threads that were extracted. */
  extracted: number;
  /** Why it last failed, until it succeeds. */
  failure?: string | null;
  /** Threads that were read without the configured model, by reason. */
  fallbacks?: Fallback[];
  /** Number of the published memory; 0: none is published yet. */
  generation: number;
  /** Learnings from them. */
  learnings: number;
  /** Notes. */
  notes: number;
  /** Notes of agents and programs that wait for a person: `memory/list_notes`. */
  notes_pending?: number;
  /** The memory folder. */
  path: string;
  /** Jobs of memory that run or wait. */
  pending: number;
  /** When it was published. */
  published_at?: number | null;
  /** Why the given thread is skipped; absent when it is due or none was given. */
  skip_reason?: SkipCount | null;
  /** Threads that are skipped, by reason. */
  skipped: SkipCount[];
  /** Threads it was built from. */
  threads: number;
  /** How often each kind of file was used. */
  uses: MemoryUse[];
}

/** Which folder, and how much. */
export interface MemorySummaryParams {
  /**
   * Only what a session needs at its start: the person's rules, how to build and test, what the last three
   * threads were about and how they ended; at most 270 tokens, unmarked, without instructions. Absent: false.
   */
  brief?: boolean | null;
  /** Working folder, absolute; absent: only what applies everywhere. */
  cwd?: string | null;
  /** Mark the text so that the daemon recognises it in a transcript later; absent: true. */
  framed?: boolean | null;
  /** Maximum tokens of the text; absent: 5000. */
  max_tokens?: number | null;
}

/** The text. */
export interface MemorySummaryResult {
  /** Number of the published memory it comes from; 0: none is published yet. */
  generation: number;
  /**
   * How an agent reads more and cites what it used, about 300 tokens, to be placed below the text. Absent if nothing is
   * published.
   */
  instructions?: string | null;
  /** The project that contains `cwd`. */
  project?: string | null;
  /** When that was published. */
  published_at?: number | null;
  /** Inject it unchanged; empty if nothing is known about the folder. */
  text: string;
  /** Its tokens, without the instructions. */
  tokens: number;
}

/** How often a kind of file was used. */
export interface MemoryUse {
  /** `memory_md`, `memory_summary`, `raw_memories`, `rollout_summaries` or `skills`. */
  kind: string;
  /** The last time. */
  last_at: number;
  /** Times. */
  uses: number;
}

/** What a person decides about a note. */
export type MemoryVerdict = "confirm" | "discard";

/** A prompt. */
export interface Message {
  /** When it was sent, Unix milliseconds; Codex records whole seconds. */
  at: number;
  /** The folder it was sent in. */
  cwd?: string | null;
  /** The log that holds it. */
  log_id: string;
  /** Its number there. */
  offset: number;
  /** The program that kept it: `longhaul`, `codex`. */
  source: string;
  /** Its words, secrets replaced. */
  text: string;
  /** The thread it was sent in. */
  thread_id?: string | null;
}

/** The prompt. */
export interface MessageHistoryAppendParams {
  /** The folder that thread works in. */
  cwd?: string | null;
  /** Its text. */
  text: string;
  /** The thread it was sent in. */
  thread_id?: string | null;
}

/** Where it was stored. */
export interface MessageHistoryAppendResult {
  /** The log; present if it was stored. */
  log_id?: string | null;
  /** Its number in the log, which never changes; present if it was stored. */
  offset?: number | null;
  /** Whether it was stored; false if the configuration says `persistence = "none"`. */
  persisted: boolean;
  /** Secrets replaced in it. */
  redacted: number;
  /** Old prompts that were removed for it. */
  trimmed: number;
}

/** Which prompts. */
export interface MessageHistoryLookupParams {
  /** `next_cursor` of the previous page. */
  cursor?: string | null;
  /** Only those sent in exactly this folder; Codex does not record it. */
  cwd?: string | null;
  /** Rows of the page, as in `thread/list`. */
  limit?: number | null;
  /** Only of this log; a log that no longer exists has no prompts. */
  log_id?: string | null;
  /** The one prompt of this number; needs `log_id`. */
  offset?: number | null;
  /** Only those that contain this text, ignoring case. */
  query?: string | null;
  /** Only those of this program: `longhaul`, `codex`. */
  source?: string | null;
  /** Only those of this thread. */
  thread_id?: string | null;
}

/** A page of prompts. */
export interface MessageHistoryLookupResult {
  /** The logs that were read. */
  logs: Log[];
  /** The newest first. */
  messages: Message[];
  /** Present when there are more. */
  next_cursor?: string | null;
}

/**
 * A method: how often, how long. Times are from the request's being read to its answer's being ready, in
 * microseconds, accurate to 1 %.
 */
export interface MethodMetrics {
  /** Calls that were answered. */
  calls: number;
  /** Those of them that were answered with an error. */
  errors: number;
  /** The maximum. */
  max_us: number;
  /** Its name. */
  method: string;
  /** The median. */
  p50_us: number;
  /** The 99th percentile. */
  p99_us: number;
}

/** Counts and times since the start of the daemon. */
export interface MetricsResult {
  /** Open connections, this one included. */
  connections: number;
  /** Connections that were rejected, or closed in favour of another. */
  connections_refused: number;
  /** Requests in progress. */
  in_flight: number;
  /** Bytes of transcript read. */
  ingested_bytes: number;
  /** Every method that was called, sorted by name. */
  methods: MethodMetrics[];
  /** Requests or tasks that crashed. */
  panics: number;
  /** Resource use of the process; absent where the system does not report it. */
  process?: ProcessMetrics | null;
  /** Bytes of the database with its log, and of the search index. */
  stored_bytes: number;
  /** Milliseconds since the start, by a clock that does not jump. */
  uptime_ms: number;
}

/** A model by name, and what the caller knows of it. */
export interface Model {
  /** Tokens of its context window. */
  context_window?: number | null;
  /** Its name, as its provider writes it. */
  name: string;
  /** Its provider. */
  provider?: string | null;
}

/** The configured model. */
export interface ModelStatus {
  /** Its name. */
  name: string;
  /** Its provider, as configured. */
  provider: string;
  /** Maximum requests per day; absent: no bound. */
  requests_per_day?: number | null;
  /** Maximum requests per job, such as one compaction; absent: no bound. */
  requests_per_job?: number | null;
  /** Requests since midnight UTC, failed ones included. */
  requests_today: number;
  /** Tasks that another model, or another effort, is configured for. */
  tasks?: TaskModelStatus[];
  /** Maximum tokens per day; absent: no bound. */
  tokens_per_day?: number | null;
  /** Maximum tokens per job; absent: no bound. */
  tokens_per_job?: number | null;
  /** Tokens since then, input and answers. */
  tokens_today: number;
}

/** Which hosts may be reached. */
export interface Network {
  /** Hosts allowed. */
  allowed?: string[];
  /** Hosts denied. */
  denied?: string[];
}

/** The params of methods that take none; `params` may be omitted. */
export type NoParams = Record<string, never>;

/** Settings that are compared only when asked for. */
export type OptionalSetting = "agents_md" | "memory";

/** What the agent may do. A change of profile or approval policy is sent. */
export interface Permissions {
  /** As `on-request`. */
  approval_policy?: string;
  /** Text about both. */
  instructions?: string;
  /** As `workspace-write`. */
  profile?: string;
}

/** The agent's personality. A change is sent, unless a new model has its own. */
export interface Personality {
  /** Its text. */
  instructions?: string;
  /** Its name. */
  name?: string;
}

/** When in a thread a compaction happens; decides where the initial context goes. */
export type Phase = "standalone" | "pre_turn" | "mid_turn";

/** One step of a plan. */
export interface PlanStep {
  /** Unique in the plan. */
  id: string;
  /** What to do. */
  text: string;
}

/** What to check. */
export interface PolicyCheckParams {
  /** The text of a configuration file; absent: the daemon's configuration. */
  toml?: string | null;
}

/** Policies as parsed. */
export interface PolicyCheckResult {
  /** The active one first. */
  policies: PolicyInfo[];
  /** Errors, and settings without effect. */
  problems: PolicyProblem[];
}

/** A policy's decision. */
export interface PolicyDecision {
  /** `wait`, `judge` or `compact`. */
  action: string;
  /** All boundaries seen in the turn. */
  boundaries: string[];
  /** Its number in the log, if it was logged. */
  decision_id?: string | null;
  /** Percent of the window that is left; absent if the window is unknown. */
  percent_remaining?: number | null;
  /** Name of the policy; `default` is the active one. */
  policy: string;
  /** The result of every rule, in order, including those that refused. */
  reasons: PolicyReason[];
  /** Those that count at the tier. */
  satisfied: string[];
  /** `early`, `ready`, `asap` or `emergency`. */
  tier?: string | null;
}

/** Something to do; its name says which fields it has. */
export interface PolicyEffect {
  /**
   * `notify` and `warn` (`text`: show it to the person); `ask_judgment` (`request_id`, `instructions`,
   * `prompt`, `schema`, `trigger`: ask, and answer with `judged`); `request_scratch` and
   * `request_packet` (`prompt`: give the agent this message, and report when its turn has ended);
   * `compact` (`packet`, `trigger`: compact, with the packet in the view); `inject_handoff`
   * (`text`: give the agent this message); `hold_message`; `release_message` (`prefix?`).
   */
  effect: string;
  /** System instructions for the judge. */
  instructions?: string | null;
  /** The agent's notes for after the compaction. */
  packet?: string | null;
  /** Prepend it to the user's message. */
  prefix?: string | null;
  /** A message for the agent, or the question for a judge. */
  prompt?: string | null;
  /** Names the question. */
  request_id?: string | null;
  /** The JSON Schema of the judge's answer. */
  schema?: unknown;
  /** Words. */
  text?: string | null;
  /** The reason, for the compaction's record. */
  trigger?: PolicyTrigger | null;
}

/** Which thread, and at which point. */
export interface PolicyEvaluateParams {
  /** The thread as it was after the line of this seq; absent: now. The past is not logged. */
  as_of?: number | null;
  /** Tokens of its whole window; absent: as configuration, transcript or table say. */
  context_window?: number | null;
  /** Name of the model; absent: as the transcript says. */
  model?: string | null;
  /** Absent: `turn_end`. */
  point?: PolicyPoint | null;
  /** Whether to log the decisions; absent: no. */
  record?: boolean | null;
  /** The thread. */
  thread_id: string;
}

/** The decision and a forecast. */
export interface PolicyEvaluateResult {
  /** The active policy's decision. */
  decision: PolicyDecision;
  /** What to expect. */
  forecast: PolicyForecast;
  /** The repository the thread works in, if it was inspected. */
  repository?: RepositoryState | null;
  /** Last line that is known. */
  seq: number;
  /** Decisions of the other policies, which are evaluated but not active. */
  shadows: PolicyDecision[];
  /** The thread. */
  thread_id: string;
  /** The turn, from 1. */
  turn: number;
  /** Tokens in the window. */
  used: number;
  /** State of the watcher. */
  watcher: PolicyWatcher;
  /** Tokens of the whole window; 0 if unknown. */
  window: number;
}

/** Which decision. */
export interface PolicyExplainParams {
  /** Its number. */
  decision_id: string;
}

/** A decision and its input. */
export interface PolicyExplainResult {
  /** What this version decides. */
  decision: PolicyDecision;
  /** Whether this version makes the same decision from the same input, byte for byte. */
  is_reproduced: boolean;
  /** As it was logged. */
  logged: PolicyLoggedDecision;
  /** The policy at that time. */
  settings: unknown;
  /** The recorded input. */
  situation: unknown;
}

/** An estimate from the thread's growth so far. */
export interface PolicyForecast {
  /** The boundary that comes most often. */
  next_boundary?: string | null;
  /** The next tier. */
  next_tier?: string | null;
  /** Tokens a turn adds. */
  tokens_per_turn: number;
  /** Turns until the window is full. */
  turns_left?: number | null;
  /** Turns until it is due; 0: now. */
  turns_to_boundary?: number | null;
  /** Turns until it applies. */
  turns_to_next_tier?: number | null;
}

/** Something that happened in a thread. */
export interface PolicyHappened {
  /** When, Unix milliseconds; absent: the line is not dated. */
  at?: number | null;
  /** `turn_started`, a boundary's name, `compacted` or `rolled_back`. */
  kind: string;
  /** The line. */
  seq: number;
  /** The turn. */
  turn: number;
}

/** A policy, complete. */
export interface PolicyInfo {
  /** Reasoning effort for them; absent: the same as for any other. */
  compaction_effort?: string | null;
  /** The model of the watcher's compactions; absent: the same as for any other. */
  compaction_model?: string | null;
  /** Maximum compactions per hour. */
  compactions_per_hour: number;
  /** `model` or `client`. */
  judge: string;
  /** Whether to compact in the middle of a turn, too; absent: no. */
  mid_turn?: boolean;
  /** `off`, `tag`, `suggest` or `auto`. */
  mode: string;
  /** `compact` or `wait`. */
  on_judgment_failure: string;
  /** `watcher` or `agent`. */
  packet_author: string;
  /** Its name. */
  policy: string;
  /** Whether the agent is asked for a scratch file. */
  scratch: boolean;
  /** Who reads the agent's words: `phrases` or `model`. */
  semantic?: string | null;
  /** The least urgent first. */
  tiers: TierInfo[];
}

/** Which decisions. */
export interface PolicyLogParams {
  /** Only those before this one, by its `decision_id`: the next page. */
  before?: string | null;
  /** Rows, 1 ≤ `limit` ≤ `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`. */
  limit?: number | null;
  /** Only of this policy; absent: of all. */
  policy?: string | null;
  /** Only of this thread; absent: of all. */
  thread_id?: string | null;
}

/** Decisions and signs. */
export interface PolicyLogResult {
  /** Newest first. */
  decisions: PolicyLoggedDecision[];
  /** What happened in the thread, oldest first; empty without a `thread_id`. */
  events: PolicyHappened[];
}

/** A decision that was logged. */
export interface PolicyLoggedDecision {
  /** When, Unix milliseconds. */
  at: number;
  /** The compaction that followed. */
  compaction_id?: string | null;
  /** What was decided. */
  decision: PolicyDecision;
  /** The policy was not active. */
  is_shadow: boolean;
  /** Why none followed although a client was asked to compact. */
  not_made?: string | null;
  /** The repository at that time, if it was inspected. */
  repository?: RepositoryState | null;
  /** The last known line. */
  seq: number;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn: number;
}

/** Where in a conversation a decision is made. */
export type PolicyPoint = "turn_end" | "mid_turn";

/** A problem of a policy. */
export interface PolicyProblem {
  /** Whether it is an error; otherwise the setting has no effect. */
  is_fatal: boolean;
  /** The key. */
  key: string;
  /** The policy. */
  policy: string;
  /** What is wrong. */
  reason: string;
}

/** The result of one rule. */
export interface PolicyReason {
  /** Whether it permits a compaction. */
  passed: boolean;
  /** `words`, `repository`, `window`, `tier`, `boundary`, `plan_gate`, `growth`, `budget`, `judgment`. */
  rule: string;
  /** In words. */
  text: string;
}

/** Which thread. */
export interface PolicyReportParams {
  /** Tokens of its model's whole window; absent: as configuration, transcript or table say. */
  context_window?: number | null;
  /** The thread. */
  thread_id: string;
}

/** What each policy would have done. */
export interface PolicyReportResult {
  /** Compactions its agent made. */
  compactions: number;
  /** Whether only the beginning of the transcript was replayed. */
  is_truncated: boolean;
  /** By policy, the active one first. */
  policies: ReportPolicy[];
  /** The thread. */
  thread_id: string;
  /** Turns of it. */
  turns: number;
}

/** What can happen. */
export type PolicyStepEvent = {
  /**
   * Boundaries that the client saw and the transcript does not contain: `commit`,
   * `plan_checkpoint`, `plan_update`, `pr_checkpoint`, `agent_done`, `topic_shift`,
   * `concluding_thought`; absent: none.
   */
  boundaries?: string[] | null;
  /**
   * The client can only compact now and notify the person: it sends the agent no message and holds back none of the
   * user's. It answers `compact` with `compaction_ended`; absent: false.
   */
  compact_only?: boolean | null;
  kind: "turn_ended";
  /** The agent's last words; absent: as the transcript says. */
  message?: string | null;
  /** The client can only notify the person, so nothing is started; absent: false. */
  notify_only?: boolean | null;
} | {
  /** As in `turn_ended`. */
  boundaries?: string[] | null;
  /** As in `turn_ended`. Nothing happens unless `policy.mid_turn` is set; absent: false. */
  compact_only?: boolean | null;
  kind: "mid_turn";
} | {
  kind: "judged";
  /** Why. */
  reason?: string | null;
  /** The question. */
  request_id: string;
  /** Its answer; absent if it had none. */
  should_compact?: boolean | null;
} | {
  kind: "compacted";
  /** Tokens afterwards; absent: as the transcript says. */
  tokens_after?: number | null;
  /** The compaction is a separate turn that has not ended yet; absent: no. */
  turn_end_follows?: boolean | null;
} | {
  kind: "compaction_failed";
  /** Why. */
  reason: string;
} | {
  kind: "compaction_ended";
  /** Why it was not made; absent: it was. */
  reason?: string | null;
  /** Tokens afterwards; absent: as the transcript says. */
  tokens_after?: number | null;
} | {
  /** Whether the handoff may be prepended to its text; absent: false. */
  accepts_prefix?: boolean | null;
  /** Whether it is for the user's shell, not the agent; absent: no. */
  is_shell?: boolean | null;
  kind: "user_message";
} | {
  kind: "resume";
} | {
  kind: "tick";
} | {
  kind: "cancel";
};

/** What happened to which thread. */
export interface PolicyStepParams {
  /** Name of the agent: names its scratch file. */
  agent?: string | null;
  /** Tokens of its whole window; absent: as configuration, transcript or table say. */
  context_window?: number | null;
  /** What happened. */
  event: PolicyStepEvent;
  /** Name of the model; absent: as the transcript says. */
  model?: string | null;
  /** The thread. */
  thread_id: string;
}

/** What to do next. */
export interface PolicyStepResult {
  /** The decision, if one was made. */
  decision?: PolicyDecision | null;
  /** What to do, in order. */
  effects: PolicyEffect[];
  /** The thread. */
  thread_id: string;
  /** Where the watcher is now. */
  watcher: PolicyWatcher;
}

/** A text. */
export interface PolicyTemplateInfo {
  /** Whether this call created the file. */
  is_seeded: boolean;
  /** Its name. */
  name: string;
  /** Its file, which may not exist. */
  path: string;
  /** The placeholders it may use. */
  placeholders: string[];
  /** Why the file is not used and the previous text is. */
  problem?: string | null;
  /** `built_in`, `file`, or the name of the text that is used without a file. */
  source: string;
}

/** What to do with them. */
export interface PolicyTemplatesParams {
  /** Write the built-in text of each one that has no file; absent: no. */
  seed?: boolean | null;
}

/** The texts. */
export interface PolicyTemplatesResult {
  /** Where their files are. */
  folder: string;
  /** One per kind. */
  templates: PolicyTemplateInfo[];
}

/** Why a compaction is made. */
export interface PolicyTrigger {
  /** All boundaries, including those read from the agent's words. */
  boundaries: string[];
  /** The logged decision. */
  decision_id?: string | null;
  /** `watcher` or `agent`. */
  packet_author: string;
  /** Percent of the window that was left. */
  percent_remaining: number;
  /** `turn_end` or `mid_turn`. */
  point: string;
  /** How urgent it was. */
  tier: string;
  /** The turn. */
  turn: number;
  /** Tokens in the window. */
  used: number;
}

/** State of a thread's watcher. */
export interface PolicyWatcher {
  /** A compaction waits for the user's next message. */
  deferred: boolean;
  /** A user message is held back. */
  held: boolean;
  /** Whether it does that in the middle of a turn, too, for clients that can only compact; absent: no. */
  mid_turn?: boolean;
  /** What it does when a compaction is due: `off`, `tag`, `suggest` or `auto`. */
  mode: string;
  /** A packet is stored whose compaction did not happen. */
  packet_kept: boolean;
  /** `idle`, `awaiting_judgment`, `awaiting_scratch`, `awaiting_packet` or `compacting`. */
  phase: string;
  /** The complete state, for debugging; its shape may change. */
  state: unknown;
}

/** An item of the history. */
export interface PreviewItem {
  /** How it begins, secrets replaced. */
  excerpt: string;
  /** Returns the item, see `history/expand`. */
  handle: string;
  /** What it is, as in `thread/items`. */
  kind: string;
  /** Its line in the thread. */
  seq: number;
  /** Its tokens, an estimate. */
  tokens: number;
}

/** An amount of money. */
export interface Price {
  /** The unit, as configured. */
  currency: string;
  /** Millionths of the unit. */
  micros: number;
}

/** Resource use of the daemon's process. */
export interface ProcessMetrics {
  /** Processor time of all threads, in milliseconds. */
  cpu_ms: number;
  /** Memory held now. */
  resident_bytes: number;
  /** Peak memory. */
  resident_peak_bytes: number;
  /** Threads now. */
  threads: number;
}

/**
 * What was kept, shortened and dropped.
 *
 * Each list is bounded by `limit::RECEIPT_ENTRIES_MAX`: in a long history neighbours are merged into one entry.
 * Together the entries cover every item of the old history exactly once.
 */
export interface Receipt {
  /** Items that are not in it; their handles return them. */
  dropped: Entry[];
  /** Items unchanged in the new history. */
  kept: Entry[];
  /** Secrets that were replaced in the items kept. */
  redacted: number;
  /** Items that are in the new history in part. */
  shortened: Entry[];
  /** Sums, exact even if list entries are merged. */
  totals: Totals;
  /**
   * Present if the model that wrote the summary did not see the whole history: from the first to the last item left
   * out, with the count and tokens of those alone. The warning `history_trimmed` says the same.
   */
  unseen?: Entry | null;
}

/** The changes to the configuration. */
export interface ReloadResult {
  /** The keys whose value differs; empty: nothing changed. */
  changes: ConfigChange[];
  /** The configuration file that was read; absent: there is none at the default place. */
  file?: string | null;
}

/** Where a policy would have compacted. */
export interface ReportPoint {
  /** The boundaries that led to it. */
  boundaries: string[];
  /** Known files that were used again soon after: each would have been read again, unless the view had it. */
  files_reused: string[];
  /** Whether a judge would have been asked. */
  is_judged: boolean;
  /** Percent of the window that was left. */
  percent_remaining: number;
  /** Where in the conversation. */
  point: PolicyPoint;
  /** The line. */
  seq: number;
  /** How urgent it was. */
  tier: string;
  /** The turn. */
  turn: number;
}

/** What one policy would have done. */
export interface ReportPolicy {
  /** How often it would have compacted. */
  compactions: number;
  /** Decisions it made. */
  decisions: number;
  /** Known files that were used again within 40 calls, over all points. */
  files_reused: number;
  /** Where, oldest first, at most 200. */
  points: ReportPoint[];
  /** Its name. */
  policy: string;
}

/** A commit. */
export interface RepositoryCommit {
  /** When, Unix milliseconds, to the second. */
  at: number;
  /** Its id. */
  id: string;
  /** Its subject, redacted. */
  subject: string;
}

/** A branch's place in a stack. */
export interface RepositoryStack {
  /** The branch below it. */
  parent?: string | null;
  /** Number of its pull request. */
  pull_request?: number | null;
  /** The branch at the bottom of the stack. */
  trunk?: string | null;
}

/** State of a repository. */
export interface RepositoryState {
  /** Commits the upstream lacks; absent without an upstream. */
  ahead?: number | null;
  /** Commits of the upstream the branch lacks. */
  behind?: number | null;
  /** Its branch; absent: none is checked out. */
  branch?: string | null;
  /** Commits made in this work tree, newest first, at most 20, by its reflog. */
  commits: RepositoryCommit[];
  /** How many of them since the turn or the last compaction in it. */
  commits_in_turn: number;
  /** Files in conflict. */
  conflicts: number;
  /** The commit that is checked out; absent before the first one. */
  head?: string | null;
  /** Whether another session works in the same folder, so these commits do not count as boundaries. */
  is_shared: boolean;
  /** Whether counting stopped at a limit. */
  is_truncated: boolean;
  /** When, Unix milliseconds. */
  observed_at: number;
  /** The branch's place in a Graphite stack. */
  stack?: RepositoryStack | null;
  /** Files with staged changes. */
  staged: number;
  /** The same in one line. */
  summary: string;
  /** Files changed but not staged. */
  unstaged: number;
  /** Untracked files and folders. */
  untracked: number;
  /** The branch it tracks. */
  upstream?: string | null;
}

/** Cost of resuming a thread: its whole history, or a briefing of it in a new thread. */
export interface ResumePrice {
  /** The price of `briefing_tokens` without a cache. */
  briefing_price?: Price | null;
  /** Tokens that the next request sends after `thread/continue`, an estimate. */
  briefing_tokens: number;
  /** Milliseconds for which its provider keeps its cache. */
  cache_lifetime_ms: number;
  /** Source of the lifetime: `config`, `transcript`, or `default`, the provider's documentation. */
  cache_lifetime_source: string;
  /** The price of `history_tokens` without a cache; absent where none is configured for the model. */
  history_price?: Price | null;
  /** Tokens that the next request sends with the whole history. */
  history_tokens: number;
  /** Milliseconds since the thread's last line. */
  idle_ms: number;
  /** Whether the cache is cold: then all input of the next request is paid in full. */
  is_cold: boolean;
}

/** What a caller should do with a rejected request. */
export type Retry = "never" | "refresh" | "backoff" | "reconnect";

/** The revisions one end speaks; `min` and `max` included. */
export interface RevisionRange {
  /** The newest revision spoken, `min` ≤ `max`. */
  max: number;
  /** The oldest revision spoken. */
  min: number;
}

/** State of a run. */
export type RunState = "done" | "started";

/** One rung of the ladder. */
export interface Rung {
  /** Milliseconds it took. */
  duration_ms: number;
  /** Its outcome. */
  outcome: RungOutcome;
  /** Why it was not used, a stable name such as `not_configured`. */
  reason?: string | null;
  /** Its strategy. */
  strategy: Strategy;
}

/** Outcome of a rung. */
export type RungOutcome = "used" | "skipped" | "failed" | "other";

/** What was recovered from a damaged database. */
export interface SalvageStatus {
  /** Compactions. */
  compactions: number;
  /** Whether nothing was lost. */
  complete: boolean;
  /** Jobs. */
  jobs?: number;
  /** Rows of the model ledger. */
  model_usage?: number;
  /** Accepted updates. */
  updates: number;
}

/** An item that was found. */
export interface SearchHit {
  /** When it was written, Unix milliseconds; for an undated item the previous time. */
  at: number;
  /** First byte of its line in the uncompressed file, and first byte after it. */
  byte_range: [number, number];
  /** Number of omitted items with the same text. */
  copies: number;
  /** The folder its thread works in. */
  cwd?: string | null;
  /** Returns the whole item, see `history/expand`. */
  handle: string;
  /** What it is, see `ItemSummary::kind`. */
  kind: string;
  /** Equals `line_start`: an item is one line. */
  line_end?: number | null;
  /** Its line in the file, from 1; absent in a file that continues another. */
  line_start?: number | null;
  /** Where matches are in `text`: first byte and first byte after. */
  matches: [number, number][];
  /** Its transcript. */
  path: string;
  /** Larger is better; comparable within one answer only. */
  score: number;
  /** Its line in the thread's lineage. */
  seq: number;
  /** The program that wrote it. */
  source: string;
  /** The words around the match, on one line, secrets replaced. */
  text: string;
  /** Its thread. */
  thread_id: string;
  /** The thread's first request in short. */
  title?: string | null;
}

/** A running daemon. */
export interface ServerInfo {
  /** Differs for each start of the daemon: a client that sees a new one reads its state again. */
  instance_id: string;
  /** `longhauld`. */
  name: string;
  /** Its process id. */
  pid: number;
  /** The version of the program. */
  version: string;
}

/** The daemon's configuration. No value contains a provider's key. */
export interface ShowConfigResult {
  /** The configuration file that was read; absent: there is none at the default place. */
  file?: string | null;
  /** Where the file is, or would be. */
  path: string;
  /** Every key, in the order of the file. */
  values: ConfigValue[];
}

/** The daemon that is ending. It is gone when its socket no longer answers. */
export interface ShutdownResult {
  /** Its process id, to wait for. */
  pid: number;
  /** Other requests still in progress. */
  requests_in_flight: number;
}

/** Threads excluded for one reason. */
export interface SkipCount {
  /**
   * Stable name: `excluded`, `ephemeral`, `not_interactive`, `reached_outside`, `current`,
   * `nothing_new`, `no_request`, `too_small`, `too_old`, `busy`, `gone`.
   */
  reason: string;
  /** For a person, of one of them. */
  text: string;
  /** How many. */
  threads: number;
}

/** A folder of transcripts. */
export interface SourceStatus {
  /** Bytes of these files. */
  bytes: number;
  /** Whether it exists and can be read. */
  exists: boolean;
  /** Transcript files found in it. */
  files: number;
  /** The folder. */
  root: string;
  /** The program that writes there: `codex`, `claude`, `longhaul`. */
  source: string;
  /** Threads found in them. */
  threads: number;
}

/** The state of the daemon. Counters count since its start. */
export interface StatusResult {
  /** Cost of our compactions of threads, beside that of the agents' own. */
  compactions?: CompactionsStatus;
  /** Open connections, this one included. */
  connections: number;
  /** Progress of reading them. */
  ingest: IngestStatus;
  /** Differs for each start of the daemon. */
  instance_id: string;
  /** The configured model and what was spent; absent if none is configured. */
  model?: ModelStatus | null;
  /** Requests or tasks that crashed; each has an entry in the log. */
  panics: number;
  /** Its process id. */
  pid: number;
  /** The newest protocol revision it speaks. */
  protocol: number;
  /** Requests answered. */
  requests: number;
  /** Progress of the full-text index. */
  search: IndexStatus;
  /** The socket it listens on. */
  socket: string;
  /** The folders it reads transcripts from. */
  sources: SourceStatus[];
  /** When it started, Unix milliseconds. */
  started_at: number;
  /** The folder that holds its database and runtime files. */
  state_dir: string;
  /** Its database. */
  store: StoreStatus;
  /** Milliseconds since then, by a clock that does not jump. */
  uptime_ms: number;
  /** The version of the program. */
  version: string;
  /** What a person should know. */
  warnings: Warning[];
}

/** The database. */
export interface StoreStatus {
  /** Its file. */
  path: string;
  /** Where the damaged database was moved, if this one was rebuilt from the transcripts. */
  rebuilt_from?: string | null;
  /** What could be recovered from the damaged database and is in no transcript. */
  salvaged?: SalvageStatus | null;
  /** The version of its tables. */
  schema_version: number;
}

/** How a history is compacted. */
export type Strategy = "auto" | "checkpoint" | "summary" | "hybrid" | "remote";

/** The model of one task. */
export interface TaskModelStatus {
  /** Reasoning effort; absent: the provider's default. */
  effort?: string | null;
  /** Its name. */
  name: string;
  /** Its provider, as configured. */
  provider: string;
  /** `summary`, `judge`, `extract` or `consolidate`. */
  task: string;
}

/** What to add. */
export interface ThreadAppendParams {
  /** The seq the caller expects the thread to have; absent: any. */
  expected_seq?: number | null;
  /** In their order, at most `limit::APPEND_ITEMS_MAX`. */
  items: AppendItem[];
  /** A thread of `thread/open`. */
  thread_id: string;
}

/** What was added. */
export interface ThreadAppendResult {
  /** Additions written. */
  appended: number;
  /** Additions that the thread already had. */
  duplicates: number;
  /** Bytes of its transcript now: a `min_offset` of `thread/sync`. */
  offset: number;
  /** Secrets replaced in what was written. */
  redacted: number;
  /** Seq of its last line now. */
  seq: number;
  /** The thread. */
  thread_id: string;
}

/** Which thread. */
export interface ThreadBillParams {
  /** A known thread. */
  thread_id: string;
}

/** A bill. */
export interface ThreadBillResult {
  /** Cost of a compaction by the agent itself. */
  agent: AgentCost;
  /** Compactions the agent made by itself, at most 48, oldest first. */
  agent_compactions: AgentCompaction[];
  /** Our newest compactions of it, at most 48, oldest first; the one that it continues from included. */
  compactions: CompactionCost[];
  /** Cost of resuming now; absent for a thread without a provider. */
  resume?: ResumePrice | null;
  /** The thread. */
  thread_id: string;
}

/** Which thread. */
export interface ThreadCloseParams {
  /** A thread of `thread/open`. */
  thread_id: string;
}

/** The closed thread. */
export interface ThreadCloseResult {
  /** Its transcript. */
  path: string;
  /** Seq of its last line. */
  seq: number;
  /** The thread. */
  thread_id: string;
}

/** Which thread, and how it is compacted. */
export interface ThreadContinueParams {
  /** As it was after the item of this seq; absent: as it is now. */
  as_of?: number | null;
  /** Milliseconds a model may take, as in `compaction/run`. */
  deadline_ms?: number | null;
  /** Bound of the view, as in `compaction/run`. */
  max_tokens?: number | null;
  /**
   * How; absent: `auto`. `remote` is refused: a history that only its provider can read cannot be
   * continued.
   */
  strategy?: Strategy | null;
  /** Texts of this call alone, as in `compaction/run`. */
  templates?: CompactionTemplateOverrides | null;
  /** The thread, of any source. */
  thread_id: string;
  /** The agent that continues it, `codex` or `claude`; absent: the thread's own where it is one of them, else `codex`. */
  to?: string | null;
}

/** The new thread. */
export interface ThreadContinueResult {
  /** The old thread's knowledge of the working tree, compared with the disk now; absent with `as_of`. */
  checked?: CheckedTree | null;
  /** The command that resumes it, as arguments. */
  command: string[];
  /** The compaction it begins with. */
  compaction: CompactionRunResult;
  /** Its transcript. */
  path: string;
  /** The saving: cost of resuming the old thread and the new one. */
  resume?: ResumePrice | null;
  /** Its id. */
  thread_id: string;
}

/** A transcript file of a thread. */
export interface ThreadFile {
  /** Bytes of it that are archived; absent: none. */
  archived_bytes?: number | null;
  /** Its length in bytes when last seen, uncompressed. */
  bytes: number;
  /** Whether the thread is read from this one. */
  current: boolean;
  /** Increases by one each time the file is found replaced or shortened. */
  generation: number;
  /** Whether the file is gone. */
  gone?: boolean;
  /** Bytes of it that are ingested. */
  offset: number;
  /** The file. */
  path: string;
}

/** Which thread. */
export interface ThreadGetParams {
  /** Its whole id. */
  thread_id: string;
}

/** One thread and its files. */
export interface ThreadGetResult {
  /** The seq up to which its checkpoint is folded: lines of the transcript. */
  checkpoint_seq: number;
  /** Every transcript file that contains it (a compressed copy, an archived copy, a revert). */
  files: ThreadFile[];
  /** The thread. */
  thread: ThreadSummary;
}

/** Which items. At most one of `from_seq` and `last` is given; absent: the last `limit`. */
export interface ThreadItemsParams {
  /** Items from this seq on. */
  from_seq?: number | null;
  /** The last N items, at most `limit::PAGE_ROWS_MAX`. */
  last?: number | null;
  /** Rows of the page, 1 ≤ `limit` ≤ `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`. */
  limit?: number | null;
  /** The thread. */
  thread_id: string;
}

/** A page of items. */
export interface ThreadItemsResult {
  /** The items, in the order of the transcript. */
  items: ItemSummary[];
  /** Whether there are more items now. */
  more: boolean;
  /** The `from_seq` of the next page; at the end, of the next item to be written. */
  next_seq: number;
}

/** Who drives a thread. */
export type ThreadKind = "interactive" | "exec" | "subagent" | "other";

/** Which threads. */
export interface ThreadListParams {
  /** Only blocked threads that no other thread continues yet. */
  blocked?: boolean | null;
  /** `next_cursor` of the previous page. */
  cursor?: string | null;
  /** Only those that work in exactly this folder, an absolute path. */
  cwd?: string | null;
  /**
   * Rows of the page, 1 ≤ `limit` ≤ `limit::PAGE_ROWS_MAX`; absent:
   * `limit::PAGE_ROWS_DEFAULT`.
   */
  limit?: number | null;
  /** Only those of this program: `codex`, `claude`, `longhaul`. */
  source?: string | null;
}

/** A page of threads. */
export interface ThreadListResult {
  /** Present when there are more. */
  next_cursor?: string | null;
  /** Last updated first; equal times by thread id. */
  threads: ThreadSummary[];
}

/**
 * Which thread, and how it begins. At most one of `thread_id` and `client_thread_id` is given; with
 * neither, every call begins a new thread.
 */
export interface ThreadOpenParams {
  /**
   * The client's own key of the thread: one `originator` has one thread under one key. At most
   * `limit::CLIENT_ID_BYTES_MAX` bytes, no control characters.
   */
  client_thread_id?: string | null;
  /** Tokens of its context window; absent: from the configuration or the model. */
  context_window?: number | null;
  /** The folder it works in, an absolute path. */
  cwd: string;
  /** Who drives it; absent: `interactive`, or `subagent` with a `parent_thread_id`. */
  kind?: ThreadKind | null;
  /** The model it begins with. */
  model?: string | null;
  /** The program that opens it, at most `limit::CLIENT_ID_BYTES_MAX` bytes. */
  originator: string;
  /** The thread that started this one. */
  parent_thread_id?: string | null;
  /** A thread opened before. */
  thread_id?: string | null;
  /** Its title; absent: its first request. */
  title?: string | null;
  /** The version of that program. */
  version?: string | null;
}

/** The thread. */
export interface ThreadOpenResult {
  /** Whether this call created it. */
  created: boolean;
  /** Its transcript, written by the daemon alone. */
  path: string;
  /** Seq of its last line. */
  seq: number;
  /** Its id. */
  thread_id: string;
}

/** What to search, and where. */
export interface ThreadSearchParams {
  /** Only in threads that work in exactly this folder, an absolute path. */
  cwd?: string | null;
  /** Only items of these kinds, see `ItemSummary::kind`; absent or empty: all. */
  kinds?: string[] | null;
  /** Hits, 1 ≤ `limit` ≤ `limit::SEARCH_HITS_MAX`; absent: `limit::SEARCH_HITS_DEFAULT`. */
  limit?: number | null;
  /** Maximum tokens of all texts together, an estimate; further hits are omitted. Absent: only `limit` applies. */
  max_tokens?: number | null;
  /** The words. */
  query: string;
  /** Not before this time, Unix milliseconds. */
  since?: number | null;
  /** Only threads of this program: `codex`, `claude`, `longhaul`. */
  source?: string | null;
  /** Only in this thread. */
  thread_id?: string | null;
  /** Before this time, Unix milliseconds. */
  until?: number | null;
}

/** What was found. */
export interface ThreadSearchResult {
  /** Best first. */
  hits: SearchHit[];
  /** Progress of the index; later items are not found yet. */
  indexed: IndexStatus;
  /** Whether more items match than were ranked; the others are older. */
  truncated: boolean;
}

/** One thread in a few numbers. */
export interface ThreadSummary {
  /** Whether its program moved it to the archive. */
  archived: boolean;
  /** Why it cannot continue by itself, if it cannot. */
  blocked?: BlockedThread | null;
  /** Bytes of the transcript, uncompressed. */
  bytes: number;
  /** The version of the program when it began. */
  cli_version?: string | null;
  /** Compactions its own program has made. */
  compactions: number;
  /** The thread whose history this one continues: of `thread/continue`, or a fork by reference. */
  continues?: string | null;
  /** When it began, Unix milliseconds. */
  created_at: number;
  /** The folder it works in; null when the transcript does not say. */
  cwd?: string | null;
  /** The thread this one was forked from. */
  forked_from?: string | null;
  /** The git branch it began on. */
  git_branch?: string | null;
  /** History items. */
  items: number;
  /** Who drives it. */
  kind: ThreadKind;
  /** Lines of the transcript. */
  lines: number;
  /** Lines that are not one JSON object. If a line has several, each is read. */
  malformed: number;
  /** The model last used. */
  model?: string | null;
  /** The program or extension that opened it, as it names itself. */
  originator?: string | null;
  /** Lines over the bound. */
  oversized: number;
  /** The thread that started this one as a sub-agent. */
  parent_thread_id?: string | null;
  /** Its current transcript file. */
  path: string;
  /** The program that wrote it: `codex`, `claude`, `longhaul`. */
  source: string;
  /** Its id, as its own program names it. */
  thread_id: string;
  /** The first request in short, secrets replaced; null before there is one. */
  title?: string | null;
  /** Tokens of the history a model would see now, an estimate. */
  tokens: number;
  /** Lines of an unknown kind. */
  unknown: number;
  /** When it last grew, Unix milliseconds. */
  updated_at: number;
}

/** Which transcript, and how far. Exactly one of `thread_id` and `path` is given. */
export interface ThreadSyncParams {
  /** From the running agent: tokens in that window. It is kept for the thread until its history changes. */
  context_tokens?: number | null;
  /** From the running agent: tokens of its model's whole window. It is kept for the thread. */
  context_window?: number | null;
  /** Bytes that must be ingested; absent: all that the file has now. */
  min_offset?: number | null;
  /** Seq of a line that must be ingested. */
  min_seq?: number | null;
  /** A transcript file under a source, even a new one; an absolute path. */
  path?: string | null;
  /** A known thread. */
  thread_id?: string | null;
  /**
   * Milliseconds to wait; absent: `limit::SYNC_TIMEOUT_MS_DEFAULT`,
   * lowered to `limit::SYNC_TIMEOUT_MS_MAX`.
   */
  timeout_ms?: number | null;
}

/** How far the transcript is ingested. */
export interface ThreadSyncResult {
  /** Bytes ingested, up to the end of a line. */
  offset: number;
  /** Seq of the last line ingested; the first line has 0. */
  seq: number;
  /** The thread in it. */
  thread_id: string;
}

/** The rule of a tier. */
export interface TierInfo {
  /** The boundaries that count: those required of those allowed. */
  boundaries: string[];
  /** Whether a judgment is required. */
  judgment: boolean;
  /** The tier applies below this percentage of the window. */
  percent_remaining_lt: number;
  /** Plan boundaries count only together with a sign in the agent's text. */
  plan_gate: boolean;
  /** Its name. */
  tier: string;
}

/** How full the window was, line after line. */
export interface Timeline {
  /** The newest compactions, oldest first, at most 48. */
  compactions: TimelineCompaction[];
  /** At most 192 points of the transcript, oldest first. */
  points: TimelinePoint[];
  /** Turns started. */
  turns: number;
}

/** A compaction the thread's own program made. */
export interface TimelineCompaction {
  /** Tokens after. */
  after: number;
  /** Tokens before. */
  before: number;
  /** The line. */
  seq: number;
}

/** How full the window was at a line. */
export interface TimelinePoint {
  /** The line. */
  seq: number;
  /** Tokens in the window. */
  tokens: number;
  /** Turns started until then. */
  turn: number;
}

/** Tokens before and after. */
export interface TokensChange {
  /** Tokens of the new one. */
  after: number;
  /** Tokens of the old history, an estimate. */
  before: number;
}

/** Items and their tokens. */
export interface Total {
  /** Items. */
  items: number;
  /** Their tokens, an estimate. */
  tokens: number;
}

/** Sums over the three lists. */
export interface Totals {
  /** Over what was dropped. */
  dropped: Total;
  /** Over what was kept. */
  kept: Total;
  /** Over what was shortened; tokens before shortening. */
  shortened: Total;
}

/** Who asked for a compaction. */
export type Trigger = "manual" | "auto";

/** What a limit counts. */
export type TruncateMode = "tokens" | "bytes" | "lines";

/** How much to keep: `mode` and `limit`, or the `name` of a policy. */
export interface TruncatePolicy {
  /** Maximum kept, without the marker. */
  limit?: number | null;
  /** What `limit` counts. */
  mode?: TruncateMode | null;
  /** `tool_output` (10,000 tokens) or `model_format` (11,264 bytes, 281 lines). */
  name?: string | null;
}

/** What an undo changed. */
export type UndoReach = "thread" | "caller" | "not_agent" | "other";

/** An update of one kind. */
export type Update = {
  /** Which steps are done, by id; a step that is not named is open. */
  done?: Record<string, boolean>;
  /** Where the plan comes from. */
  evidence?: Evidence | null;
  kind: "plan";
  /** The steps, in order. */
  steps: PlanStep[];
} | {
  /** What was decided. */
  decision: string;
  /** Names it. */
  decision_id: string;
  /** Where it comes from. */
  evidence: Evidence;
  kind: "decision";
  /** Why. */
  rationale: string;
  /** The id of the decision this one replaces. */
  supersedes?: string | null;
  /** What it is about. */
  topic?: string | null;
} | {
  /** When one of these changes, the fact is no longer valid. */
  depends_on?: Dependency[];
  /** Where it comes from. */
  evidence: Evidence;
  /** Names it. */
  key: string;
  kind: "fact";
  /** The statement. */
  value: string;
};

/** Sizes in tokens. */
export interface UsageTokens {
  /** Bytes of these since the provider's last count. */
  bytes_since_report?: number;
  /** Estimate of the items: the sum of `by_kind`. */
  estimated: number;
  /** The items that are about to be added. */
  incoming?: number | null;
  /** What the provider first counted beyond the items: instructions and tools. */
  overhead: number;
  /** The provider's last count, while it is valid. */
  reported?: number | null;
  /** The line with that count. */
  reported_seq?: number | null;
  /**
   * Tokens in the window: the provider's last count or the running agent's, plus an estimate of later items; if no
   * count is valid, `estimated` plus `overhead`.
   */
  used: number;
  /** Who counted: `provider`, `running_agent` or `estimate`. */
  used_source?: string;
  /** Bytes of the items as a model sees them, an estimate: four a token. */
  visible_bytes?: number;
}

/** A line that was chosen for a view. */
export interface ViewLine {
  /** The item it was taken from, such as `#747`; absent for a composed line. */
  handle?: string | null;
  /** The title of its section. */
  part: string;
  /** Its text. */
  text: string;
  /** Its tokens, an estimate. */
  tokens: number;
}

/** A section of a view. */
export interface ViewPart {
  /** Lines below it. */
  lines: number;
  /** Its title, such as `REPORTS`. */
  name: string;
  /** Its tokens, an estimate. */
  tokens: number;
}

/** A warning in a result. */
export interface Warning {
  /** What to do about it. */
  hint?: string | null;
  /** A stable name to branch on, for example `store_rebuilt`. New ones may come in any revision. */
  kind: string;
  /** One sentence without transcript text. */
  message: string;
}

/** A window and its limits, in tokens. */
export interface Window {
  /** The part that can be filled, 95 %. */
  effective: number;
  /** Whether the window is known. Do not show numbers of a guess, to a person or a model. */
  is_known: boolean;
  /**
   * Percent left, as Codex shows it: of the effective part without its first 12,000 tokens; absent for
   * a guess.
   */
  percent_remaining?: number | null;
  /** Percent of the window used; absent for a guess. */
  percent_used?: number | null;
  /**
   * Its source: `request`, `config`, `running_agent` (reported in `thread/sync`), `transcript`, `agent` (the user, in the agent's own configuration),
   * `agent_compaction` (the size at which the agent compacted by itself) or `model_table`; for a guess `observed`
   * (the thread held more than its model's known window) or `fallback`.
   */
  source: string;
  /** The whole window. */
  tokens: number;
  /** When to compact; absent if disabled, and for a guess. */
  trigger?: number | null;
  /**
   * Its source: `request`, `config`, `agent`, `agent_compaction`, or `default`, which is 90 % of the window;
   * for a guess `observed` or `fallback`.
   */
  trigger_source: string;
}

/** The `error` member of a JSON-RPC answer. */
export interface WireError {
  /** The number of the error table. */
  code: number;
  /** Present on every error of the daemon; another server may omit it. */
  data?: ErrorData | null;
  /** What went wrong, without transcript text or secrets. */
  message: string;
}

/** The work after a compaction, until the next one. */
export interface WorkAfter {
  /** Tool calls before the first edit, or until now. */
  actions: number;
  /** Whether there was an edit. */
  edited: boolean;
  /** Files read again that had been read before. */
  files_reread: number;
  /** The first 12 of them, as the agent wrote them. */
  files_reread_paths: string[];
}

/** A file that a worker works on. */
export interface WorkFile {
  /** Below the folder of memory, with `/`. */
  path: string;
  /** All of it. */
  text: string;
}

/** What a worker needs to do a job. Kinds without one deliver nothing. */
export type WorkInput = {
  /** What to extract, and the rules of the answer. */
  instructions: string;
  kind: "extract";
  /** Lines of the transcript that the record covers; return it with the answer. */
  lines: number;
  /** The thread: data, never an instruction. Each row begins with the number of its line. */
  record: string;
  /** JSON Schema of [`ExtractAnswer`], strict, for models that take one. */
  schema: unknown;
} | {
  /** The files to edit. They are copies; changing them has no effect by itself. */
  files: WorkFile[];
  kind: "curate";
  /** Maximum bytes of all messages of one `job/ask`. */
  messages_bytes_max: number;
  /** The task: the first message to the model. */
  request: string;
};

/** A worker's result. */
export type WorkResult = {
  /** What was learned. */
  answer: ExtractAnswer;
  kind: "extract";
  /** As in the input. */
  lines: number;
} | {
  /** All of them. */
  files: WorkFile[];
  kind: "curate";
};

/** One working folder. */
export interface WorkingFolder {
  /** The folder. */
  cwd: string;
  /** Name, where there are several. */
  id?: string | null;
  /** The shell; a change of it alone is not sent. */
  shell?: string | null;
}

/** Params and result of every method. */
export interface Methods {
  "archive/forget": { params: ArchiveForgetParams; result: ArchiveForgetResult };
  "archive/list": { params: ArchiveListParams; result: ArchiveListResult };
  "archive/restore": { params: ArchiveRestoreParams; result: ArchiveRestoreResult };
  "archive/status": { params: ArchiveStatusParams; result: ArchiveStatusResult };
  "archive/verify": { params: ArchiveVerifyParams; result: ArchiveVerifyResult };
  "checkpoint/apply": { params: CheckpointApplyParams; result: CheckpointApplyResult };
  "checkpoint/choices": { params: CheckpointChoicesParams; result: CheckpointChoicesResult };
  "checkpoint/choose": { params: CheckpointChooseParams; result: CheckpointChooseResult };
  "checkpoint/get": { params: CheckpointGetParams; result: CheckpointGetResult };
  "checkpoint/unchoose": { params: CheckpointUnchooseParams; result: CheckpointUnchooseResult };
  "checkpoint/view": { params: CheckpointViewParams; result: CheckpointViewResult };
  "compaction/cancel": { params: CompactionCancelParams; result: CompactionCancelResult };
  "compaction/get": { params: CompactionGetParams; result: CompactionGetResult };
  "compaction/list": { params: CompactionListParams; result: CompactionListResult };
  "compaction/preview": { params: CompactionPreviewParams; result: CompactionPreviewResult };
  "compaction/run": { params: CompactionRunParams; result: CompactionRunResult };
  "compaction/should": { params: CompactionShouldParams; result: CompactionShouldResult };
  "compaction/start": { params: CompactionRunParams; result: CompactionStartResult };
  "compaction/templates": { params: PolicyTemplatesParams; result: PolicyTemplatesResult };
  "compaction/undo": { params: CompactionUndoParams; result: CompactionUndoResult };
  "context/diff": { params: ContextDiffParams; result: ContextDiffResult };
  "context/estimate": { params: ContextEstimateParams; result: ContextEstimateResult };
  "context/normalize": { params: ContextNormalizeParams; result: ContextNormalizeResult };
  "context/truncate": { params: ContextTruncateParams; result: ContextTruncateResult };
  "context/usage": { params: ContextUsageParams; result: ContextUsageResult };
  "daemon/config": { params: NoParams; result: ShowConfigResult };
  "daemon/metrics": { params: NoParams; result: MetricsResult };
  "daemon/reload": { params: NoParams; result: ReloadResult };
  "daemon/shutdown": { params: NoParams; result: ShutdownResult };
  "daemon/status": { params: NoParams; result: StatusResult };
  "event/subscribe": { params: EventSubscribeParams; result: EventSubscribeResult };
  "event/unsubscribe": { params: EventUnsubscribeParams; result: EventUnsubscribeResult };
  "history/expand": { params: HistoryExpandParams; result: HistoryExpandResult };
  "history/get": { params: HistoryGetParams; result: HistoryGetResult };
  "initialize": { params: InitializeParams; result: InitializeResult };
  "job/ask": { params: JobAskParams; result: JobAskResult };
  "job/cancel": { params: JobParams; result: JobResult };
  "job/claim": { params: JobClaimParams; result: JobClaimResult };
  "job/complete": { params: JobCompleteParams; result: JobCompleteResult };
  "job/fail": { params: JobFailParams; result: JobResult };
  "job/get": { params: JobParams; result: JobGetResult };
  "job/heartbeat": { params: JobTokenParams; result: JobHeartbeatResult };
  "job/list": { params: JobListParams; result: JobListResult };
  "job/retry": { params: JobParams; result: JobResult };
  "job/why": { params: JobParams; result: JobWhyResult };
  "memory/add_note": { params: MemoryAddNoteParams; result: MemoryAddNoteResult };
  "memory/cite": { params: MemoryCiteParams; result: MemoryCiteResult };
  "memory/forget": { params: MemoryForgetParams; result: MemoryForgetResult };
  "memory/list": { params: MemoryListParams; result: MemoryListResult };
  "memory/list_notes": { params: MemoryListNotesParams; result: MemoryListNotesResult };
  "memory/read": { params: MemoryReadParams; result: MemoryReadResult };
  "memory/review_note": { params: MemoryReviewNoteParams; result: MemoryReviewNoteResult };
  "memory/run": { params: MemoryRunParams; result: MemoryRunResult };
  "memory/search": { params: MemorySearchParams; result: MemorySearchResult };
  "memory/status": { params: MemoryStatusParams; result: MemoryStatusResult };
  "memory/summary": { params: MemorySummaryParams; result: MemorySummaryResult };
  "message_history/append": { params: MessageHistoryAppendParams; result: MessageHistoryAppendResult };
  "message_history/lookup": { params: MessageHistoryLookupParams; result: MessageHistoryLookupResult };
  "policy/check": { params: PolicyCheckParams; result: PolicyCheckResult };
  "policy/evaluate": { params: PolicyEvaluateParams; result: PolicyEvaluateResult };
  "policy/explain": { params: PolicyExplainParams; result: PolicyExplainResult };
  "policy/log": { params: PolicyLogParams; result: PolicyLogResult };
  "policy/report": { params: PolicyReportParams; result: PolicyReportResult };
  "policy/step": { params: PolicyStepParams; result: PolicyStepResult };
  "policy/templates": { params: PolicyTemplatesParams; result: PolicyTemplatesResult };
  "thread/append": { params: ThreadAppendParams; result: ThreadAppendResult };
  "thread/bill": { params: ThreadBillParams; result: ThreadBillResult };
  "thread/close": { params: ThreadCloseParams; result: ThreadCloseResult };
  "thread/continue": { params: ThreadContinueParams; result: ThreadContinueResult };
  "thread/get": { params: ThreadGetParams; result: ThreadGetResult };
  "thread/items": { params: ThreadItemsParams; result: ThreadItemsResult };
  "thread/list": { params: ThreadListParams; result: ThreadListResult };
  "thread/open": { params: ThreadOpenParams; result: ThreadOpenResult };
  "thread/search": { params: ThreadSearchParams; result: ThreadSearchResult };
  "thread/sync": { params: ThreadSyncParams; result: ThreadSyncResult };
}
