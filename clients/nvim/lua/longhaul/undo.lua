-- Where an undo took effect, and what to do in the agent's open session.

local format = require('longhaul.format')

local M = {}

-- A history that is too large for one answer has only handles.
local function size(result)
  if result.complete then
    return ('%d items'):format(#result.history)
  end
  local all = 0
  for _, handle in ipairs(result.handles) do
    all = all + handle.tokens
  end
  return format.tokens(all) .. ' tokens'
end

--- The message, and the command that continues from before the compaction, if any.
function M.words(result)
  local items = size(result)
  if result.reach ~= 'not_agent' then
    local since = result.restored_seq and (' since #%d'):format(result.restored_seq) or ''
    return ('undone: the old history of %s is in use again%s'):format(items, since)
  end
  local hint = result.session_hint and ' ' .. result.session_hint or ''
  local words = ("undone in longhaul's records (%s). %s keeps its own history, which is unchanged.%s"):format(
    items, result.agent or 'The agent', hint)
  if not (result.thread_id and result.seq) then
    return words
  end
  local command = ('longhaul continue %s --as-of %d --max-tokens 16000'):format(result.thread_id, result.seq)
  return ('%s To continue from before the compaction in a new thread (yanked): %s'):format(words, command), command
end

return M
