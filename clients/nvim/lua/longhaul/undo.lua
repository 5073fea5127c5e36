-- Where an undo took effect, and what to do in the agent's open session.

local M = {}

--- Agents by the source of their threads, and how to undo a compaction in their open session.
local AGENTS = {
  claude = { name = 'Claude Code', open = function()
    return ' If the longhaul plugin compacted the open session, type /compact undo in it.'
  end },
  codex = { name = 'Codex', open = function(result)
    return (' If the session is open in Codex, run `longhaul undo %s`.'):format(result.compaction_id)
  end },
  gemini = { name = 'Gemini CLI' },
  opencode = { name = 'OpenCode' },
}

--- The message, and the command that continues from before the compaction, if any.
function M.words(result)
  local items = #result.history
  if result.reach ~= 'not_agent' then
    local since = result.restored_seq and (' since #%d'):format(result.restored_seq) or ''
    return ('undone: the old history of %d items is in use again%s'):format(items, since)
  end
  local agent = AGENTS[result.source] or { name = 'The agent' }
  local words = ("undone in longhaul's records (%d items). %s keeps its own history, which is unchanged.%s"):format(
    items, agent.name, agent.open and agent.open(result) or '')
  if not (result.thread_id and result.seq) then
    return words
  end
  local command = ('longhaul continue %s --as-of %d --max-tokens 16000'):format(result.thread_id, result.seq)
  return ('%s To continue from before the compaction in a new thread (yanked): %s'):format(words, command), command
end

return M
