-- Where an undo took effect, and what to do in the agent's open session.

local M = {}

--- The message, and the command that continues from before the compaction, if any.
function M.words(result)
  local items = #result.history
  if result.reach ~= 'not_agent' then
    local since = result.restored_seq and (' since #%d'):format(result.restored_seq) or ''
    return ('undone: the old history of %d items is in use again%s'):format(items, since)
  end
  local hint = result.session_hint and ' ' .. result.session_hint or ''
  local words = ("undone in longhaul's records (%d items). %s keeps its own history, which is unchanged.%s"):format(
    items, result.agent or 'The agent', hint)
  if not (result.thread_id and result.seq) then
    return words
  end
  local command = ('longhaul continue %s --as-of %d --max-tokens 16000'):format(result.thread_id, result.seq)
  return ('%s To continue from before the compaction in a new thread (yanked): %s'):format(words, command), command
end

return M
