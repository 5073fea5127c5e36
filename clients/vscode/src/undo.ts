// Which compaction an undo is of. Pure.

import type { CompactionSummary, ThreadBillResult } from "@longhaul/client";

/** The one that was just `made`, else the one that the daemon names: a view that was only printed may be newer. */
export function compactionToUndo(bill: ThreadBillResult, made?: string): CompactionSummary | undefined {
  const id = made ?? bill.undo_next;
  return bill.compactions.find(({ summary }) => summary.compaction_id === id)?.summary;
}
