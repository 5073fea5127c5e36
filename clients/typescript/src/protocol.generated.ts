// Generated from protocol/schema/longhaul-v1.schema.json by scripts/generate.mjs. Do not edit.

/** The major version: it is in the name of the socket. */
export const PROTOCOL_MAJOR = 1;
/** The revisions these types know. */
export const REVISIONS = { min: 1, max: 1 } as const;
/** Bounds of the protocol. */
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

/** What a compaction by the agent itself takes: medians of what its transcripts record. */
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

/** A run of the agent that looks after the files of memory. */
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
  /** What happened besides items. */
  marker?: Marker | null;
}

/** Which thread. */
export interface ArchiveForgetParams {
  /** The thread. */
  thread_id: string;
}

/** What went. */
export interface ArchiveForgetResult {
  /** Bytes of the texts that were removed; 0: there were none. */
  removed_bytes: number;
}

/** Which threads. */
export interface ArchiveListParams {
  /** `next_cursor` of the page before. */
  cursor?: string | null;
  /** Only those whose transcript is gone. */
  gone?: boolean | null;
  /** Rows, at most `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`. */
  limit?: number | null;
  /** Only this one. */
  thread_id?: string | null;
}

/** A page of archived threads. */
export interface ArchiveListResult {
  /** Present when there are more. */
  next_cursor?: string | null;
  /** One row for each transcript. */
  threads: ArchivedThread[];
}

/** What, and where to. */
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
  /** What resumes the thread, word by word; empty where the file is not where an agent looks. */
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

/** Nothing to say. */
export type ArchiveStatusParams = Record<string, never>;

/** The archive in numbers. */
export interface ArchiveStatusResult {
  /** Its bytes on the disk. */
  bytes: number;
  /** Files that are not what was written. */
  damaged: number;
  /** Transcripts with something that is not archived yet. */
  files_behind: number;
  /** Transcripts it has whose files are gone. */
  gone: number;
  /** Days of use after which a thread that did not grow goes; 0: never. */
  max_age_days: number;
  /** Bytes it may have. */
  max_bytes: number;
  /** When the thread that rests for longest last grew; absent: it has none. */
  oldest_at?: number | null;
  /** Its folder. */
  path: string;
  /** Why it cannot be written, while that is so. */
  problem?: string | null;
  /** Whether secrets are replaced before a text is archived. */
  redacts: boolean;
  /** What it does now. */
  state: ArchiveState;
  /** Of these, bytes that are stored: what several texts share counts once. */
  stored_text_bytes: number;
  /** Bytes of the texts it can give back. */
  text_bytes: number;
  /** Threads it has. */
  threads: number;
  /** Transcripts it has, of some threads several. */
  transcripts: number;
  /** When the file that waits for longest was last read whole and compared with its digest; absent where one never was. */
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
  /** Files that are not what was written. */
  damaged: number;
  /** Threads that have lost something by it: their transcripts are gone, too. */
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
  /** Whether the transcript is not there any more. */
  gone: boolean;
  /** Where the transcript is, or was. */
  path: string;
  /** Whether its secrets were replaced. */
  redacted: boolean;
  /** The program that wrote it. */
  source: string;
  /** The thread. */
  thread_id: string;
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
  /** Whether the files are as they should be after them. */
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
  /** When last, Unix milliseconds; absent where the line is not dated. */
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
  /** Facts that hold. */
  max_facts_valid?: number | null;
  /** Plan steps that are open. */
  max_open_plan_steps?: number | null;
  /** Files, commands and outputs, the newest. */
  max_recent_artifacts?: number | null;
  /** Characters of one value. */
  max_value_chars?: number | null;
}

/** Files and facts of a thread, held against the disk one by one. */
export interface CheckedTree {
  /** The first 32 of those with other content, the latest touched first, as the agent wrote them. */
  changed: string[];
  /** Names of the first 32 facts whose files changed or cannot be seen. */
  facts_suspect: string[];
  /** Facts whose files are as they were. */
  facts_valid: number;
  /** The first 32 of those that are gone. */
  gone: string[];
  /** Files that are as the thread read or left them. */
  unchanged: number;
  /** Files of which nobody can tell: outside of the thread's folder, too large, or never seen in time. */
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

/** What became of an update. */
export interface CheckpointApplyResult {
  /** Whether it is part of the checkpoint now. */
  accepted: boolean;
  /** How to mend it. */
  hint?: string | null;
  /** Why not, for a person. */
  reason?: string | null;
  /** Why not, as a stable name such as `evidence_missing`. */
  rule?: string | null;
  /** The present seq. */
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
  /** Tokens that all pins together take of a view. */
  pinned_tokens: number;
  /** The most that they may take. */
  pinned_tokens_max: number;
}

/** What to choose. Exactly one of `text` and `handle` is given. */
export interface CheckpointChooseParams {
  /** Into every view, or into none. */
  action: ChoiceAction;
  /** Items of the thread. Of a longer text the beginning is kept, see `whole_bytes`. */
  handle?: string | null;
  /** Words. To drop: no line of a view holds them. */
  text?: string | null;
  /** Its whole id. */
  thread_id: string;
}

/** What was chosen. */
export interface CheckpointChooseResult {
  /** As it is in force. */
  choice: Choice;
  /** Whether it was in force already. */
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
  /** An object with a `schema_version` of its own (1); bounded in size. */
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

/** What was taken back. */
export interface CheckpointUnchooseResult {
  /** As it was in force. */
  choice: Choice;
}

/** Which thread, how much, and when. */
export interface CheckpointViewParams {
  /** As it was after the item of this seq; absent: as it is now. */
  as_of?: number | null;
  /** Bounds of the sections. */
  caps?: Caps | null;
  /** Tokens of the text at most, never exceeded; absent: the daemon's default. */
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

/** A pin or drop in force. */
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
  /** The thread it was made in: this one, or one that it goes on from. */
  thread_id: string;
  /** Tokens it takes of a view; 0 for a drop. */
  tokens: number;
  /** Bytes of the items' whole text, where only the beginning was kept. */
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
  /** What it needs to know besides its name; may be empty. */
  payload: string;
  /** Milliseconds after which the work must have stopped unless the claim is renewed. */
  stop_in_ms: number;
  /** Shows the claim in the calls that follow. */
  token: string;
}

/** A program that calls the daemon. */
export interface ClientInfo {
  /** Its name, for example `longhaul-cli`; at most 128 bytes. */
  name: string;
  /** Its version; at most 64 bytes. */
  version: string;
}

/** How the agent works with the person. Any change is told, also its end. */
export interface CollaborationMode {
  /** The reasoning effort it asks for. */
  effort?: string | null;
  /** Its words. */
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
  /** The work since; absent where it was only shown. */
  after?: WorkAfter | null;
  /** The line of the thread at which the agent took it; absent where it was only shown. */
  in_force_seq?: number | null;
  /** Of `summary.cost.tokens`, those of the answers; absent where no model was asked, and for old compactions. */
  output_tokens?: number | null;
  /**
   * Its row in `compaction/list`: requests, tokens and milliseconds. `tokens.before` is what the agent's own request
   * would have sent at least, an estimate.
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
  /** What models cost; nothing where none was asked. */
  cost?: Cost;
  /** The history that replaces the old one. */
  history: unknown[];
  /** The line of the thread that put it in force, where that was asked for. */
  installed_seq?: number | null;
  /** The rungs that were tried, in order; the last one made it. */
  ladder: Rung[];
  /** Why the thread's watcher asked for it, where it did. */
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
  /** Continues where the page that carried it as `next_cursor` ended. */
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

/** A compaction that was not made. */
export interface CompactionPreviewResult {
  /** Items that would go, the newest first, at most 256. */
  dropped: PreviewItem[];
  /** All items that would go, by their kind. */
  dropped_by_kind: KindTotal[];
  /** Items that stay as they are. */
  kept: PreviewItem[];
  /** The lines that were chosen for it; header, pins and the last request are not among them. */
  lines: ViewLine[];
  /** Tokens that the view may have. */
  max_tokens: number;
  /** The older items that would go. */
  older?: Entry | null;
  /** Its sections in their order, with their cost. */
  parts: ViewPart[];
  /** What a model would be asked; absent where none would. */
  question?: CompactionQuestion | null;
  /** The present seq. */
  seq: number;
  /** Items of which a part stays. */
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

/** What a model would be asked, and at which cost at most. */
export interface CompactionQuestion {
  /** Tokens of the first request at most, an estimate. */
  input_tokens: number;
  /** Its name. */
  model: string;
  /** Tokens of its answer at most. */
  output_tokens_max: number;
  /** Its provider. */
  provider: string;
  /**
   * Requests that the budget lets one compaction make: where the model refuses an input for its size, a smaller
   * one is sent. Absent: no bound.
   */
  requests_max?: number | null;
  /** Tokens of all of them that the budget lets one compaction have. Absent: no bound. */
  tokens_max?: number | null;
}

/** Why a compaction was made. */
export type CompactionReason = "user_requested" | "context_limit" | "model_downshift" | "policy" | "other";

/** What to compact, and how. Exactly one of `thread_id` and `items` is given. */
export interface CompactionRunParams {
  /**
   * The agent itself compacts, and this is a step of it. The steps of one compaction are one record: the answer takes
   * the id and the place of what was announced, unless the agent worked in between. Absent: a compaction of its own.
   */
  agent_step?: AgentStep | null;
  /** Compacts the thread as it was after the item of this seq; absent: as it is now. */
  as_of?: number | null;
  /** Milliseconds the caller is willing to wait; strategies that would take longer are skipped. */
  deadline_ms?: number | null;
  /**
   * Items that are rebuilt for every request and never summarised; placed according to `phase`. Absent with
   * `mid_turn`: what the history itself tells of settings, environment, project instructions and memory, with
   * the warning `no_initial_context` where it tells nothing.
   */
  initial_context?: unknown[] | null;
  /**
   * Puts the result in force: it replaces the history of a thread of `thread/open` in one step, which undo takes
   * back. Not with `items` or `as_of`. Absent: no.
   */
  install?: boolean | null;
  /** A history of the caller's own, in the Responses API item form. */
  items?: unknown[] | null;
  /** Tokens `view` may have at most, never exceeded; absent: the daemon's default. */
  max_tokens?: number | null;
  /**
   * The model that will read the result. With a `provider` it also writes the summary; its `context_window` then
   * decides how much of the history it is sent.
   */
  model?: Model | null;
  /** Absent: `standalone`. */
  phase?: Phase | null;
  /**
   * On a change to a model with a smaller window: the one before, which writes the summary since it can still
   * read the whole history. Without a `provider` it is asked of the configured one.
   */
  previous_model?: Model | null;
  /** Why, for the log; absent: as `trigger` says. What `compaction/should` answered. */
  reason?: CompactionReason | null;
  /** Absent: `auto`. */
  strategy?: Strategy | null;
  /** Texts of this call alone, in place of those in force. */
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
  /** What models cost; nothing where none was asked. */
  cost?: Cost;
  /** The history that replaces the old one. */
  history: unknown[];
  /** The line of the thread that put it in force, where that was asked for. */
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
  /** With `mid_turn`: whether the turn goes on; absent: it does. */
  follow_up?: boolean | null;
  /** Items about to be added to the thread, or without one a history of the caller's own. */
  items?: unknown[] | null;
  /** The model that comes; absent: the thread's. */
  model?: string | null;
  /** `pre_turn` (absent) or `mid_turn`. */
  phase?: Phase | null;
  /** Tokens of its whole window. */
  previous_context_window?: number | null;
  /** The model that answered last, when it is another one. */
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
  /** Tokens at which to compact; absent when that is switched off. */
  limit?: number | null;
  /** Who says so: `default`, `config`, `request` … */
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
  /** What models cost; nothing where none was asked. */
  cost?: Cost;
  /** When, Unix milliseconds. */
  created_at: number;
  /** Milliseconds it took. */
  duration_ms: number;
  /** When in the life of the thread. */
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
  /** Stands above a checkpoint's view, at most 4 KiB. */
  checkpoint_guide?: string | null;
  /** Stands above a summary, at most 4 KiB. */
  summary_prefix?: string | null;
  /** What a model is asked for a summary, at most 32 KiB. */
  summary_prompt?: string | null;
}

/** Whose text it is. */
export type CompactionTemplateSource = "built_in" | "file" | "agent" | "call" | "other";

/** A text that a compaction was made with. */
export interface CompactionTemplateUsed {
  /** Digest of the text before its placeholders were filled. */
  digest: string;
  /** Its name, as of `compaction/templates`. */
  name: string;
  /** Whose it is. */
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
  /** Whether `history` holds all of it, that is, `handles` is empty. */
  complete: boolean;
  /** What did not fit, to be fetched by `history/expand`, in order after `history`. */
  handles: Entry[];
  /** The old history, as far as it fits into a frame. */
  history: unknown[];
  /** Where it arrives. */
  reach?: UndoReach;
  /** The line of the thread that put its history back, where the compaction was in force. */
  restored_seq?: number | null;
  /** The last line that was compacted: `thread/continue` with it as `as_of` goes on from before the compaction. */
  seq?: number | null;
  /** The program whose thread it is, as in `thread/list`. */
  source?: string | null;
  /** The thread; absent for given items. */
  thread_id?: string | null;
  /** When it was first undone, Unix milliseconds. */
  undone_at: number;
}

/** What our compactions of threads took, as far as they are stored, beside what agents' own take. */
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
  /** What stood in the histories, an estimate: requests of their agents would have sent it. */
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
  /** Its name in the file, tables with a point: `compaction.keep_days`. */
  key: string;
  /** `default`, `file`, `environment NAME` or `flag NAME`. */
  origin: string;
  /** The value in force, in words. */
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

/** The settings the model was last told, and those of the next turn. */
export interface ContextDiffParams {
  /** What holds for the next turn. */
  current: ContextSettings;
  /** Settings to compare besides the five. */
  include?: OptionalSetting[] | null;
  /**
   * What the model was last told. Without it and without `thread_id`, as after a compaction, everything is
   * told.
   */
  reference?: ContextSettings | null;
  /**
   * A thread whose transcript says what the model was last told, instead of `reference`. Settings the
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
  /** Whether they contain everything, because there was no reference. */
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
  /** Tokens by what they are spent on (`user`, `tool_outputs`, `images` …); only with `items`. */
  by_kind?: Record<string, number> | null;
  /** The bytes it was made from. */
  bytes: number;
  /** The tokenizer that counted; absent for an estimate by size. */
  tokenizer?: string | null;
  /** Tokens: by a tokenizer if one was named, else model-visible bytes ÷ 4, rounded up. */
  tokens: number;
}

/** Which model answers. Another name is told, with the instructions if there are any. */
export interface ContextModel {
  /** Its own instructions. */
  instructions?: string;
  /** Its name. */
  name?: string;
}

/** What to normalise, and for whom. */
export interface ContextNormalizeParams {
  /**
   * What the model takes, such as `text` and `image`; without `image`, images become a sentence.
   * Absent: everything.
   */
  input_modalities?: string[] | null;
  /** History items. */
  items: unknown[];
  /** Indexes of items to take out, each with its counterpart. */
  remove?: number[];
  /** The provider refused an image: those of the newest output become a sentence. */
  repair_image?: boolean;
}

/** The valid history. */
export interface ContextNormalizeResult {
  /** What was changed, by index; empty if the history was valid. */
  changes: ContextChange[];
  /** The items; one that needed no change has the bytes that were sent. */
  items: unknown[];
}

/** What a model is told about where and how it works. Absent parts are not told. */
export interface ContextSettings {
  /** Text of the project's instructions. */
  agents_md?: string | null;
  /** How it works with the person. */
  collaboration_mode?: CollaborationMode | null;
  /** Where it works. */
  environment?: Environment | null;
  /** Text of what is remembered. */
  memory?: string | null;
  /** Which model it is. */
  model?: ContextModel | null;
  /** What it may do. */
  permissions?: Permissions | null;
  /** How it speaks. */
  personality?: Personality | null;
}

/** What to cut, and how far. Exactly one of `text` and `items` is given. */
export interface ContextTruncateParams {
  /**
   * Puts the number of lines before a text that was cut, as outputs of commands have it; an output
   * of several parts becomes one text, its images behind it.
   */
  formatted?: boolean | null;
  /** History items, cut as they are recorded: outputs of tools, with a fifth of head-room. */
  items?: unknown[] | null;
  /** How much may stay. */
  policy: TruncatePolicy;
  /** A text. */
  text?: string | null;
}

/** What is left. */
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

/** Of which window. `thread_id`, `items`, or both: then the items are what is about to be added. */
export interface ContextUsageParams {
  /** The thread as it was after this line. */
  as_of?: number | null;
  /** Tokens at which to compact, 0 for never; absent: as configured, or 90 % of the window. */
  auto_compact_limit?: number | null;
  /**
   * Tokens of the model's whole window; absent: as configured, as the transcript states, or as known
   * of the model.
   */
  context_window?: number | null;
  /** History items. */
  items?: unknown[] | null;
  /** Name of the model; absent: the one the thread names. */
  model?: string | null;
  /** A thread. */
  thread_id?: string | null;
}

/** How full the window is. */
export interface ContextUsageResult {
  /**
   * Estimated tokens by what they are spent on: `system`, `user`, `assistant`, `tool_calls`,
   * `tool_outputs`, `reasoning`, `images`, `initial_context`, `summary`, `other`; kinds without any
   * are left out.
   */
  by_kind: Record<string, number>;
  /** The model. */
  model?: string | null;
  /** Line of the thread it is the state of. */
  seq?: number | null;
  /** The thread, if one was named. */
  thread_id?: string | null;
  /** How the window filled over time; only for a thread. */
  timeline?: Timeline | null;
  /** The sizes. */
  tokens: UsageTokens;
  /**
   * What to know about it: `window_unknown`, `over_window`, `over_trigger`, `item_over_headroom`,
   * `limit_unreachable`.
   */
  warnings: Warning[];
  /** The window. */
  window: Window;
}

/** What models cost. */
export interface Cost {
  /** Requests, failed ones included. */
  requests: number;
  /** Tokens, input and answers. */
  tokens: number;
}

/** Where it is recorded what an agent's compactions take. */
export type CostSource = "thread" | "model" | "unknown";

/** A thing a fact rests on. */
export interface Dependency {
  /** Its hash when the fact was learned, as the checkpoint showed it. */
  hash?: string | null;
  /** A file path or another artifact of the checkpoint. */
  uri: string;
}

/** An item, or several neighbours, of the old history. */
export interface Entry {
  /** Gives the exact items back by `history/expand`, on any later day. */
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

/** Where the agent works. A change of folders, date, time zone or network is told. */
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
  /** Facts of this case (the field, the limit and its value, the present seq …); the shape depends on the kind. */
  detail?: unknown;
  /** One sentence for a person: what to do about it. */
  hint?: string | null;
  /** The row of the error table. A kind of a newer daemon reads as [`ErrorKind::Unrecognized`]. */
  kind: ErrorKind;
  /** Names the request in the daemon's log. */
  request_id?: string | null;
  /** What to do next; valid also when the kind is not known. */
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
  /** The facts, as the kind says; more fields may come. */
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
  /**
   * Also those after this seq that the daemon still remembers; a `gap` comes first when it does not
   * remember all of them.
   */
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

/** Where something comes from: it must be there, or the update is refused. */
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
  /** A few words that name the thread. */
  rollout_slug: string;
  /** Markdown: what was asked, done, and how it ended. */
  rollout_summary: string;
}

/** One thing that was learned. */
export interface ExtractLearning {
  /** `constraint`, `preference`, `correction`, `note`, `fix`, `command`, `fact` or `co_change`. */
  kind: string;
  /** Words of that row, as they stand there. */
  quote: string;
  /** The line it rests on, by the number of its row. */
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

/** One call of a file tool; arguments that it does not need are empty or 0. */
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
  /** Continues where the answer that carried it as `next_cursor` ended. */
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
  /** Whether the transcript is gone or says something else by now, and the archive gave some of these items back. */
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
  /** Whether the transcript is gone or says something else by now, and the archive gave some of these items back. */
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
  /** The seq of the last line the history knows. */
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
  /** Gives the line back at any later time. */
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

/** How far the full-text index is. */
export interface IndexStatus {
  /** Bytes of the index on disk. */
  bytes: number;
  /** Transcripts with something that is not indexed yet. */
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
  /** Bytes read of those that were to read when catching up began. */
  bytes_done: number;
  /** Bytes that were to read when catching up began. */
  bytes_total: number;
  /** The newest files that could not be read; a bounded list. */
  errors: IngestError[];
  /** When all folders were last scanned, Unix milliseconds; absent before the first time. */
  last_scan_at?: number | null;
  /** Lines read. */
  lines: number;
  /** Lines that are not one JSON object. Where several stand on one, each is read. */
  malformed: number;
  /** Lines over the bound; their place and digest are kept. */
  oversized: number;
  /** Files waiting to be read. */
  queued_files: number;
  /** Whether there is something left to read. */
  state: IngestState;
  /** Lines of a kind this version does not know; kept as they are. */
  unknown: number;
}

/** Who calls, and what it understands. */
export interface InitializeParams {
  /** The capabilities it asks for; absent: the baseline. Names the daemon does not know are not granted. */
  capabilities?: string[] | null;
  /** The calling program. */
  client: ClientInfo;
  /**
   * The folder an agent works in, an absolute path. Read on the agents' socket only: it must lie in the
   * project the daemon sees the process run in, and decides where the system does not tell.
   */
  folder?: string | null;
  /** The revisions it speaks; absent: the oldest one. */
  protocol?: RevisionRange | null;
}

/** What was agreed on. */
export interface InitializeResult {
  /** The capabilities granted to this connection, sorted. */
  capabilities: string[];
  /** The bounds in force. */
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
  /** When it was written, Unix milliseconds, when its line says so. */
  at?: number | null;
  /** How it begins, on one line, secrets replaced. */
  excerpt: string;
  /** Gives the item back, see `history/expand`. */
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
  /** When it was first asked for. */
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
  /** Names it: `kind/subject`. */
  job: string;
  /** What it does. */
  kind: string;
  /** Not before this, Unix milliseconds. */
  not_before?: number | null;
  /** Runs before others, higher first. */
  priority: number;
  /** Its state. */
  state: string;
  /** To what: a thread, a compaction, or empty. */
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

/** Which claim, and what was made. */
export interface JobCompleteParams {
  /** The job's name. */
  job: string;
  /** What was made, of the kind of the claim's `input`; absent where that was. */
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
  /** In words; may be empty. */
  detail: string;
  /** Its epoch then. */
  epoch: number;
  /** The state it came into. */
  state: string;
}

/** Why. */
export interface JobFailParams {
  /** In words, for a person; secrets are replaced. */
  detail: string;
  /** The job's name. */
  job: string;
  /** What happens next. */
  kind: FailKind;
  /** Milliseconds to wait at least. */
  retry_after_ms?: number | null;
  /** The token of the claim. */
  token: string;
}

/** A job and its events. */
export interface JobGetResult {
  /** What happened to it, the oldest first; only the newest are kept. */
  events: JobEvent[];
  /** The job. */
  job: Job;
}

/** The claim holds. */
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
  /** The job; absent where none was asked for yet. */
  job?: Job | null;
  /**
   * A stable name: `due`, `nothing_owed`, `running`, `abandoned`, `waiting`, `no_room`, `dead`, `parked`,
   * `not_asked`.
   */
  reason: string;
  /** Why its thread is left out of memory, a stable name as in `memory/status`. */
  skipped?: string | null;
  /** One sentence for a person. */
  text: string;
  /** Milliseconds until it changes by itself, where that is known. */
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

/** The bounds in force, as `initialize` answers them. */
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
  /** Rows of a page where the request does not say, [`PAGE_ROWS_DEFAULT`]. */
  page_rows_default: number;
  /** Rows of a page at most, [`PAGE_ROWS_MAX`]. */
  page_rows_max: number;
  /** Subscriptions of one connection, [`SUBSCRIPTIONS_PER_CONNECTION_MAX`]. */
  subscriptions_per_connection_max: number;
}

/** A file of prompts. */
export interface Log {
  /** Number of the oldest prompt it holds. */
  first: number;
  /** Its id: the same as long as it is the same file. */
  log_id: string;
  /** Number that the next prompt will have. */
  next: number;
  /** The file. */
  path: string;
  /** The program that writes it. */
  source: string;
}

/** What happens in a thread besides its items. */
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
  /** For the project of this folder; absent: everywhere, which only a person may say. */
  cwd?: string | null;
  /** Whose words it is; absent: `client`. An agent's connection cannot speak as the person. */
  origin?: MemoryOrigin | null;
  /** In words; not blank, at most `limit::NOTE_BYTES_MAX` bytes. */
  text: string;
}

/** The note. */
export interface MemoryAddNoteResult {
  /** Number of the published memory that holds it. */
  generation: number;
  /** Its id, for `memory/review_note` and `memory/forget`. */
  note_id: string;
  /** Whose words the daemon takes it for. */
  origin?: MemoryOrigin;
  /** It waits until a person confirms it. */
  pending?: boolean;
  /** The project it is for. */
  project?: string | null;
  /** Its words as they are kept. */
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

/** What is forgotten. */
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
  /** `next_cursor` of the page before. */
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
  /** `next_cursor` of the page before. */
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
  /** The folder they lie in. */
  root: string;
}

/** A note. */
export interface MemoryNote {
  /** When it was made, Unix milliseconds. */
  at: number;
  /** Its id. */
  note_id: string;
  /** Whose words it is. */
  origin: MemoryOrigin;
  /** It waits until a person confirms it. */
  pending: boolean;
  /** The project it is for; absent: everywhere. */
  project?: string | null;
  /** Its words. */
  text: string;
}

/** Whose words a text is. Rules come from a person alone. */
export type MemoryOrigin = "person" | "agent" | "tool" | "client";

/** Which lines. */
export interface MemoryReadParams {
  /** First line, from 1; absent: 1. */
  line?: number | null;
  /** Lines, at most. */
  max_lines?: number | null;
  /** Tokens, at most; absent: 10000. At least one line is answered, cut where it is longer. */
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

/** What becomes of a note. */
export interface MemoryReviewNoteParams {
  /** The note. */
  note_id: string;
  /** What becomes of it. */
  verdict: MemoryVerdict;
}

/** What became of it. */
export interface MemoryReviewNoteResult {
  /** Number of the published memory from which on it is so. */
  generation: number;
  /** The person's note that took its place, where it was confirmed. */
  note_id?: string | null;
}

/** How. */
export interface MemoryRunParams {
  /** Take threads that have not rested long enough or are old; absent: false. */
  all?: boolean | null;
  /** The thread that asks: it is left out. */
  current_thread_id?: string | null;
  /** Only this thread; at a person's wish it need not have rested. */
  thread_id?: string | null;
  /** Answer when it is done; absent: true. */
  wait?: boolean | null;
}

/** What came of it. */
export interface MemoryRunResult {
  /** Whether this run changed it. */
  changed: boolean;
  /** Milliseconds. */
  duration_ms: number;
  /**
   * Whether a model goes on to edit its files, which this run does not wait for: job `curate/`, and `agent` of
   * `memory/status` when it has ended.
   */
  editing?: boolean;
  /** Those of them that taught nothing. */
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
  /** Threads that are known. */
  threads: number;
}

/** What to look for. */
export interface MemorySearchParams {
  /** Only what concerns the project of this folder, and what holds everywhere. */
  cwd?: string | null;
  /** Hits, at most `limit::SEARCH_HITS_MAX`; absent: `limit::SEARCH_HITS_DEFAULT`. */
  limit?: number | null;
  /** Tokens of all texts together; never exceeded. */
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

/** How it is. */
export interface MemoryStatusResult {
  /** The last run of the agent that looks after the files; absent before the first. */
  agent?: AgentRun | null;
  /** Threads that are due. */
  due: number;
  /** Whether it is made in the background. */
  enabled: boolean;
  /** What makes memory: `deterministic` or `model`. */
  engine: string;
  /** Threads that were extracted. */
  extracted: number;
  /** Why it last failed, until it succeeds. */
  failure?: string | null;
  /** Threads that were read without the configured model, by reason. */
  fallbacks?: Fallback[];
  /** Number of the published memory; 0: none is published yet. */
  generation: number;
  /** Things learned in them. */
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
  /** Threads it was made of. */
  threads: number;
  /** How often each kind of file was used. */
  uses: MemoryUse[];
}

/** For whom, and how much. */
export interface MemorySummaryParams {
  /**
   * Only what a session needs at its start: the person's rules, how to build and test, what the last three
   * threads were about and how they ended; at most 270 tokens, unmarked, without instructions. Absent: false.
   */
  brief?: boolean | null;
  /** Working folder, absolute; absent: only what holds everywhere. */
  cwd?: string | null;
  /** Mark the text so that the daemon recognises it in a transcript later; absent: true. */
  framed?: boolean | null;
  /** Tokens of the text, never exceeded; absent: 5000. */
  max_tokens?: number | null;
}

/** The text. */
export interface MemorySummaryResult {
  /** Number of the published memory it is of; 0: none is published yet. */
  generation: number;
  /**
   * How an agent reads more and names what it used, about 300 tokens, to be put below the text. Absent when
   * nothing is published.
   */
  instructions?: string | null;
  /** The project `cwd` lies in. */
  project?: string | null;
  /** When that was made. */
  published_at?: number | null;
  /** To be injected as it is; empty when nothing is known that concerns the folder. */
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
  /** When it was sent, Unix milliseconds; Codex keeps whole seconds. */
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
  /** Its words. */
  text: string;
  /** The thread it was sent in. */
  thread_id?: string | null;
}

/** Where it was stored. */
export interface MessageHistoryAppendResult {
  /** The log; present when it was kept. */
  log_id?: string | null;
  /** Its number in the log, which never changes; present when it was kept. */
  offset?: number | null;
  /** Whether it was kept: not, where the configuration says `persistence = "none"`. */
  persisted: boolean;
  /** Secrets replaced in it. */
  redacted: number;
  /** Old prompts that made room for it. */
  trimmed: number;
}

/** Which prompts. */
export interface MessageHistoryLookupParams {
  /** Continues where the page that carried it as `next_cursor` ended. */
  cursor?: string | null;
  /** Only those sent in exactly this folder; Codex does not say where. */
  cwd?: string | null;
  /** Rows of the page, as in `thread/list`. */
  limit?: number | null;
  /** Only of this log; one that is no longer there has no prompts. */
  log_id?: string | null;
  /** The one prompt of this number; needs `log_id`. */
  offset?: number | null;
  /** Only those that hold these words, in any case. */
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
  /** None took longer. */
  max_us: number;
  /** Its name. */
  method: string;
  /** Half of the calls took no longer. */
  p50_us: number;
  /** 99 of 100 took no longer. */
  p99_us: number;
}

/** Counts and times since the start of the daemon. */
export interface MetricsResult {
  /** Open connections, this one included. */
  connections: number;
  /** Connections that were refused, or gave their place to another. */
  connections_refused: number;
  /** Requests that are worked on now. */
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

/** The model that may be asked. */
export interface ModelStatus {
  /** Its name. */
  name: string;
  /** Its provider, as configured. */
  provider: string;
  /** Requests a day may have; absent: no bound. */
  requests_per_day?: number | null;
  /** Requests one job may have, such as one compaction; absent: no bound. */
  requests_per_job?: number | null;
  /** Requests since midnight UTC, failed ones included. */
  requests_today: number;
  /** Tasks that another model, or another effort, is configured for. */
  tasks?: TaskModelStatus[];
  /** Tokens a day may have; absent: no bound. */
  tokens_per_day?: number | null;
  /** Tokens one job may have; absent: no bound. */
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

/** What the agent may do. A change of profile or approval policy is told. */
export interface Permissions {
  /** As `on-request`. */
  approval_policy?: string;
  /** Words about both. */
  instructions?: string;
  /** As `workspace-write`. */
  profile?: string;
}

/** How the agent speaks. A change is told, unless another model comes with its own. */
export interface Personality {
  /** Its words. */
  instructions?: string;
  /** Its name. */
  name?: string;
}

/** When in the life of a thread a compaction happens; decides where the initial context goes. */
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
  /** The text of a configuration file; absent: what is in force. */
  toml?: string | null;
}

/** Policies as parsed. */
export interface PolicyCheckResult {
  /** The one in force first. */
  policies: PolicyInfo[];
  /** What is wrong, and what has no effect. */
  problems: PolicyProblem[];
}

/** What a policy says. */
export interface PolicyDecision {
  /** `wait`, `judge` or `compact`. */
  action: string;
  /** All boundaries seen in the turn. */
  boundaries: string[];
  /** Its number in the log, where it was logged. */
  decision_id?: string | null;
  /** Percent of the window that is left; absent where the window is not known. */
  percent_remaining?: number | null;
  /** Name of the policy; `default` is in force. */
  policy: string;
  /** What every rule said, in order, those that said no included. */
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
  /** Goes before the words of the user's message. */
  prefix?: string | null;
  /** A message for the agent, or the question for a judge. */
  prompt?: string | null;
  /** Names the question. */
  request_id?: string | null;
  /** The JSON Schema of the judge's answer. */
  schema?: unknown;
  /** Words. */
  text?: string | null;
  /** Why: for the compaction's record. */
  trigger?: PolicyTrigger | null;
}

/** Which thread, and where it is. */
export interface PolicyEvaluateParams {
  /** The thread as it was after the line of this seq; absent: now. The past is not logged. */
  as_of?: number | null;
  /** Tokens of its whole window; absent: as configuration, transcript or table say. */
  context_window?: number | null;
  /** Name of the model; absent: as the transcript says. */
  model?: string | null;
  /** Absent: `turn_end`. */
  point?: PolicyPoint | null;
  /** Whether the decisions go into the log; absent: no. */
  record?: boolean | null;
  /** The thread. */
  thread_id: string;
}

/** The decision and a forecast. */
export interface PolicyEvaluateResult {
  /** Of the policy in force. */
  decision: PolicyDecision;
  /** What to expect. */
  forecast: PolicyForecast;
  /** The repository the thread works in, if it was inspected. */
  repository?: RepositoryState | null;
  /** Last line that is known. */
  seq: number;
  /** Of the policies that are evaluated but not in force. */
  shadows: PolicyDecision[];
  /** The thread. */
  thread_id: string;
  /** The turn, from 1. */
  turn: number;
  /** Tokens in the window. */
  used: number;
  /** State of the watcher. */
  watcher: PolicyWatcher;
  /** Tokens of the whole window; 0 where it is not known. */
  window: number;
}

/** Which decision. */
export interface PolicyExplainParams {
  /** Its number. */
  decision_id: string;
}

/** A decision and what it was made of. */
export interface PolicyExplainResult {
  /** What this version decides. */
  decision: PolicyDecision;
  /** Whether this version makes the same decision from the same input, byte for byte. */
  is_reproduced: boolean;
  /** As it was logged. */
  logged: PolicyLoggedDecision;
  /** The policy as it was then. */
  settings: unknown;
  /** The recorded input. */
  situation: unknown;
}

/** An estimate from how the thread grew so far. */
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
  /** Turns until it holds. */
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
  /** Compactions in an hour, at most. */
  compactions_per_hour: number;
  /** `model` or `client`. */
  judge: string;
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
  /** The compaction that it led to. */
  compaction_id?: string | null;
  /** What was decided. */
  decision: PolicyDecision;
  /** The policy was not in force. */
  is_shadow: boolean;
  /** Why it led to none although a client was asked for it. */
  not_made?: string | null;
  /** The repository as it was then, if it was inspected. */
  repository?: RepositoryState | null;
  /** Last line that was known. */
  seq: number;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn: number;
}

/** Where in a conversation a decision is made. */
export type PolicyPoint = "turn_end" | "mid_turn";

/** Something about a policy that a person should know. */
export interface PolicyProblem {
  /** It is refused; else it only has no effect. */
  is_fatal: boolean;
  /** The key. */
  key: string;
  /** The policy. */
  policy: string;
  /** What about it. */
  reason: string;
}

/** What one rule said. */
export interface PolicyReason {
  /** Whether it lets a compaction pass. */
  passed: boolean;
  /** `words`, `repository`, `window`, `tier`, `boundary`, `plan_gate`, `rearm`, `budget`, `judgment`. */
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
  /** By policy, the one in force first. */
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
   * The client can compact now and notify the person, and nothing else: it gives the agent no message and
   * holds none of the user's. It answers `compact` with `compaction_ended`; absent: false.
   */
  compact_only?: boolean | null;
  kind: "turn_ended";
  /** The agent's last words; absent: as the transcript says. */
  message?: string | null;
  /** The client can only notify the person: nothing is started; absent: false. */
  notify_only?: boolean | null;
} | {
  /** As of `turn_ended`. */
  boundaries?: string[] | null;
  kind: "mid_turn";
} | {
  kind: "judged";
  /** Why. */
  reason?: string | null;
  /** The question. */
  request_id: string;
  /** Its answer; absent: it could not. */
  should_compact?: boolean | null;
} | {
  kind: "compacted";
  /** Tokens that are left; absent: as the transcript says. */
  tokens_after?: number | null;
  /** The compaction is a turn of its own whose end is still to come; absent: no. */
  turn_end_follows?: boolean | null;
} | {
  kind: "compaction_failed";
  /** Why. */
  reason: string;
} | {
  kind: "compaction_ended";
  /** Why it was not made; absent: it was. */
  reason?: string | null;
  /** Tokens that are left; absent: as the transcript says. */
  tokens_after?: number | null;
} | {
  /** The handoff may be put before its text; absent: false. */
  accepts_prefix?: boolean | null;
  /** It is for the user's shell, not for the agent; absent: no. */
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
  /** The decision, where one was made. */
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
  /** Its file, whether there is one or not. */
  path: string;
  /** The placeholders it may use. */
  placeholders: string[];
  /** Why the file is not used; the previous text is. */
  problem?: string | null;
  /** `built_in`, `file`, or the name of the text that is used without a file. */
  source: string;
}

/** What to do with them. */
export interface PolicyTemplatesParams {
  /** Writes the built-in text of every one that has no file; absent: no. */
  seed?: boolean | null;
}

/** The texts. */
export interface PolicyTemplatesResult {
  /** Where their files are. */
  folder: string;
  /** One a kind. */
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
  /** A message of the user's is held back. */
  held: boolean;
  /** What it does when a compaction is due: `off`, `tag`, `suggest` or `auto`. */
  mode: string;
  /** A packet is stored whose compaction did not happen. */
  packet_kept: boolean;
  /** `idle`, `awaiting_judgment`, `awaiting_scratch`, `awaiting_packet` or `compacting`. */
  phase: string;
  /** The whole state, for debugging; its shape may change. */
  state: unknown;
}

/** An item of the history. */
export interface PreviewItem {
  /** How it begins, secrets replaced. */
  excerpt: string;
  /** Gives the item back, see `history/expand`. */
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

/** What the daemon's process takes from the machine. */
export interface ProcessMetrics {
  /** Processor time of all threads, in milliseconds. */
  cpu_ms: number;
  /** Memory held now. */
  resident_bytes: number;
  /** The most that was held. */
  resident_peak_bytes: number;
  /** Threads now. */
  threads: number;
}

/**
 * What was kept, shortened and dropped.
 *
 * Each list is bounded by `limit::RECEIPT_ENTRIES_MAX`: neighbours of a long
 * history stand as one entry. Together the entries cover every item of the old history exactly once.
 */
export interface Receipt {
  /** Items that are not in it; their handles bring them back. */
  dropped: Entry[];
  /** Items unchanged in the new history. */
  kept: Entry[];
  /** Secrets that were replaced in what was taken over. */
  redacted: number;
  /** Items of which the new history has a part. */
  shortened: Entry[];
  /** Sums, exact whatever the lists join. */
  totals: Totals;
  /**
   * Where the model that wrote the summary was not shown the whole history: from the first to the last item left
   * out, with the number and tokens of those alone. The warning `history_trimmed` says the same in words.
   */
  unseen?: Entry | null;
}

/** What differs from the configuration so far. */
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
  /**
   * Files that were known and used again soon after: each would have been read again, unless it
   * stood in the view.
   */
  files_reused: string[];
  /** A judge would have been asked. */
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
  /** How many of them since the turn began, or since the last compaction in it. */
  commits_in_turn: number;
  /** Files in conflict. */
  conflicts: number;
  /** The commit that is checked out; absent before the first one. */
  head?: string | null;
  /** Another session works in the same folder, so these commits do not count as boundaries. */
  is_shared: boolean;
  /** Whether there are more files than were counted. */
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

/** What resuming a thread costs: its whole history, or a briefing of it in a new thread. */
export interface ResumePrice {
  /** The price of `briefing_tokens` without a cache. */
  briefing_price?: Price | null;
  /** Tokens that it sends after `thread/continue`, an estimate. */
  briefing_tokens: number;
  /** Milliseconds for which its provider keeps what it cached. */
  cache_lifetime_ms: number;
  /** Who says so: `config`, `transcript`, or `default`, the provider's documentation. */
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

/** What a caller should do with a request that was refused. */
export type Retry = "never" | "refresh" | "backoff" | "reconnect";

/** The revisions one end speaks, both ends included. */
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
  /** What came of it. */
  outcome: RungOutcome;
  /** Why it was not used, a stable name such as `not_configured`. */
  reason?: string | null;
  /** Its strategy. */
  strategy: Strategy;
}

/** What came of a rung. */
export type RungOutcome = "used" | "skipped" | "failed" | "other";

/** What was recovered from a damaged database. */
export interface SalvageStatus {
  /** Compactions. */
  compactions: number;
  /** Whether nothing was lost. */
  complete: boolean;
  /** Jobs. */
  jobs?: number;
  /** Rows of what models cost. */
  model_usage?: number;
  /** Accepted updates. */
  updates: number;
}

/** An item that was found. */
export interface SearchHit {
  /** When it was written, Unix milliseconds; for an undated one the time before it. */
  at: number;
  /** First byte of its line in the uncompressed file, and first byte after it. */
  byte_range: [number, number];
  /** Further items with the same words, which are left out. */
  copies: number;
  /** The folder its thread works in. */
  cwd?: string | null;
  /** Gives the whole item back, see `history/expand`. */
  handle: string;
  /** What it is, see `ItemSummary::kind`. */
  kind: string;
  /** The same line: an item is one. */
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

/** What the daemon runs with. Keys of providers are in no value. */
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
  /** Other requests that are still worked on. */
  requests_in_flight: number;
}

/** Threads that were left out for one reason. */
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
  /** Whether it is there and can be read. */
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
  /** What compactions of threads took, and what those of their agents take. */
  compactions?: CompactionsStatus;
  /** Open connections, this one included. */
  connections: number;
  /** How far it has read them. */
  ingest: IngestStatus;
  /** Differs for each start of the daemon. */
  instance_id: string;
  /** The model that may be asked, and what was spent; absent where none is configured. */
  model?: ModelStatus | null;
  /** Requests or tasks that crashed; each has an entry in the log. */
  panics: number;
  /** Its process id. */
  pid: number;
  /** The newest protocol revision it speaks. */
  protocol: number;
  /** Requests answered. */
  requests: number;
  /** How far the full-text index is. */
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
  /** Where the damaged database went, if this one had to be built again from the transcripts. */
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
  /** How hard it thinks; absent: as the provider has it. */
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
  /** Additions that the thread held already. */
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

/** Whose bill. */
export interface ThreadBillParams {
  /** A known thread. */
  thread_id: string;
}

/** A bill. */
export interface ThreadBillResult {
  /** What a compaction by the agent itself takes. */
  agent: AgentCost;
  /** Compactions the agent made by itself, at most 48, oldest first. */
  agent_compactions: AgentCompaction[];
  /** Our newest compactions of it, at most 48, oldest first; the one that it continues from included. */
  compactions: CompactionCost[];
  /** What resuming costs now; absent for a thread without a provider behind it. */
  resume?: ResumePrice | null;
  /** The thread. */
  thread_id: string;
}

/** Which thread. */
export interface ThreadCloseParams {
  /** A thread of `thread/open`. */
  thread_id: string;
}

/** How the thread was left. */
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
  /** What the old thread knows of the working tree, held against the disk at this moment; absent of an earlier one (`as_of`). */
  checked?: CheckedTree | null;
  /** The command that resumes it, word by word. */
  command: string[];
  /** The compaction it begins with. */
  compaction: CompactionRunResult;
  /** Its transcript. */
  path: string;
  /** What this saves: resuming the old thread beside resuming the new one. */
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
  /** Grows by one each time the file is found to be replaced or shortened. */
  generation: number;
  /** Whether the file is not there any more. */
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
  /** Every transcript file that holds it (a compressed copy, an archived copy, a revert). */
  files: ThreadFile[];
  /** The thread. */
  thread: ThreadSummary;
}

/** Which items. At most one of `from_seq` and `last` is given; absent: the last `limit`. */
export interface ThreadItemsParams {
  /** Items from this seq on. */
  from_seq?: number | null;
  /** The last so many items, at most `limit::PAGE_ROWS_MAX`. */
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
  /** Whether there is more already. */
  more: boolean;
  /** The `from_seq` of what comes next; where nothing comes yet, of what will be written. */
  next_seq: number;
}

/** Who drives a thread. */
export type ThreadKind = "interactive" | "exec" | "subagent" | "other";

/** Which threads. */
export interface ThreadListParams {
  /** Only those that are blocked, and that no other thread continues yet. */
  blocked?: boolean | null;
  /** Continues where the page that carried it as `next_cursor` ended. */
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
  /** The newest updated first; equal times by thread id. */
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
  /** Tokens of its context window; absent: as the configuration or the model tells. */
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
  /** What to call it; absent: its first request. */
  title?: string | null;
  /** The version of that program. */
  version?: string | null;
}

/** The thread. */
export interface ThreadOpenResult {
  /** Whether this call began it. */
  created: boolean;
  /** Its transcript, written by the daemon alone. */
  path: string;
  /** Seq of its last line. */
  seq: number;
  /** Its id. */
  thread_id: string;
}

/** What to look for, and where. */
export interface ThreadSearchParams {
  /** Only in threads that work in exactly this folder, an absolute path. */
  cwd?: string | null;
  /** Only items of these kinds, see `ItemSummary::kind`; absent or empty: all. */
  kinds?: string[] | null;
  /** Hits, 1 ≤ `limit` ≤ `limit::SEARCH_HITS_MAX`; absent: `limit::SEARCH_HITS_DEFAULT`. */
  limit?: number | null;
  /** Tokens of all texts together, an estimate; hits beyond are left out. Absent: no bound but `limit`. */
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
  /** How far the index is; what is written after that is not found yet. */
  indexed: IndexStatus;
  /** Whether more items match than were ranked: those left out are older. */
  truncated: boolean;
}

/** One thread in a few numbers. */
export interface ThreadSummary {
  /** Whether its program moved it to the archive. */
  archived: boolean;
  /** Why it cannot continue by itself, where it cannot. */
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
  /** Lines that are not one JSON object. Where several stand on one, each is read. */
  malformed: number;
  /** The model last used. */
  model?: string | null;
  /** The program or extension that opened it, in its own words. */
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
  /** Bytes that have to be ingested; absent: all that the file has now. */
  min_offset?: number | null;
  /** Seq of a line that has to be ingested. */
  min_seq?: number | null;
  /** A transcript file under a source, also one that was never seen before; an absolute path. */
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
  /** A judgment is asked for. */
  judgment: boolean;
  /** The tier applies below this percentage of the window. */
  percent_remaining_lt: number;
  /** Plan boundaries count only beside a sign in the agent's words. */
  plan_gate: boolean;
  /** Its name. */
  tier: string;
}

/** How full the window was, line after line. */
export interface Timeline {
  /** The newest compactions, oldest first, at most 48. */
  compactions: TimelineCompaction[];
  /** At most 192 places of the transcript, oldest first. */
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

/** How much may stay: `mode` and `limit`, or the `name` of a policy. */
export interface TruncatePolicy {
  /** The most that stays, the marker not counted. */
  limit?: number | null;
  /** What `limit` counts. */
  mode?: TruncateMode | null;
  /** `tool_output` (10,000 tokens) or `model_format` (11,264 bytes, 281 lines). */
  name?: string | null;
}

/** Where an undo arrives. */
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
  /** When one of these changes, the fact is no longer served as valid. */
  depends_on?: Dependency[];
  /** Where it comes from. */
  evidence: Evidence;
  /** Names it. */
  key: string;
  kind: "fact";
  /** What is so. */
  value: string;
};

/** Sizes in tokens. */
export interface UsageTokens {
  /** Of these, bytes of what came since the provider's last count. */
  bytes_since_report?: number;
  /** The items by their size: the sum of `by_kind`. */
  estimated: number;
  /** The items that are about to be added. */
  incoming?: number | null;
  /** What the provider counted beyond the items at first: instructions and tools. */
  overhead: number;
  /** The provider's last count, while it holds. */
  reported?: number | null;
  /** The line with that count. */
  reported_seq?: number | null;
  /**
   * In the window: the provider's last count and an estimate of what came since, or, where that
   * count no longer holds, `estimated` and `overhead`.
   */
  used: number;
  /** Bytes of the items as a model sees them, an estimate: four a token. */
  visible_bytes?: number;
}

/** A line that was chosen for a view. */
export interface ViewLine {
  /** The item it was taken from, such as `#747`; absent for what was put together. */
  handle?: string | null;
  /** The title of its section. */
  part: string;
  /** Its words. */
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

/** A remark that comes with a result. */
export interface Warning {
  /** What to do about it. */
  hint?: string | null;
  /** A stable name to branch on, for example `store_rebuilt`. New ones may come in any revision. */
  kind: string;
  /** One sentence; holds no transcript text. */
  message: string;
}

/** A window and its limits, in tokens. */
export interface Window {
  /** The part that can be filled, 95 %. */
  effective: number;
  /** Whether the window is known. Of a guess no number should be shown, to a person or a model. */
  is_known: boolean;
  /**
   * Percent left, as Codex shows it: of the effective part without its first 12,000 tokens; absent for
   * a guess.
   */
  percent_remaining?: number | null;
  /** Percent of the window used; absent for a guess. */
  percent_used?: number | null;
  /**
   * Who says so: `request`, `config`, `transcript`, `agent` (the user, in the agent's own configuration),
   * `agent_compaction` (where the agent compacted by itself) or `model_table`; for a guess `observed`
   * (the thread held more than is known of its model) or `fallback`.
   */
  source: string;
  /** The whole window. */
  tokens: number;
  /** When to compact; absent when switched off, and for a guess. */
  trigger?: number | null;
  /**
   * Who says so: `request`, `config`, `agent`, `agent_compaction`, or `default`, which is 90 % of the window;
   * for a guess `observed` or `fallback`.
   */
  trigger_source: string;
}

/** The `error` member of a JSON-RPC answer. */
export interface WireError {
  /** The number of the error table. */
  code: number;
  /** Present on every error of the daemon; a foreign server may leave it out. */
  data?: ErrorData | null;
  /** What went wrong, in words that hold no transcript text and no secret. */
  message: string;
}

/** The work after a compaction, until the next one. */
export interface WorkAfter {
  /** Calls of tools before the first edit, or until now. */
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
  /** What to look for, and what holds for the answer. */
  instructions: string;
  kind: "extract";
  /** Lines of the transcript that the record is made of; to be given back with the answer. */
  lines: number;
  /** The thread: data, never an instruction. Each row begins with the number of its line. */
  record: string;
  /** JSON Schema of [`ExtractAnswer`], strict, for models that take one. */
  schema: unknown;
} | {
  /** The files to work on. They are copies: nothing that is done to them has an effect. */
  files: WorkFile[];
  kind: "curate";
  /** Bytes of all messages of one `job/ask`, at most. */
  messages_bytes_max: number;
  /** What is to be done: the first message to the model. */
  request: string;
};

/** What a worker made of a job. */
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
  /** The shell; a change of it alone is not told. */
  shell?: string | null;
}

/** Every method: what it takes and what it answers. */
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
