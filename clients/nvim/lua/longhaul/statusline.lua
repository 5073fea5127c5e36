-- The statusline component: the daemon's last answer, refreshed when an event reports a change.
--
-- Drawing never waits and never starts the daemon.

local client = require('longhaul.client')
local printable = require('longhaul.printable')
local thread = require('longhaul.thread')
local usage = require('longhaul.usage')

local M = {}

--- Minimum milliseconds between two calls.
local PAUSE_MS = 1000
local QUIET = { quiet = true, timeout_ms = 5000 }

local state = { is_listening = false, is_asking = false, is_stale = false, text = '', shown = nil }

local function show(text)
  state.text = printable.one_line(text)
  vim.cmd('redrawstatus')
end

local function finish()
  vim.defer_fn(function()
    state.is_asking = false
    if state.is_stale then
      M.refresh()
    end
  end, PAUSE_MS)
end

local function with_forecast(active, answer)
  local function done(_, policy)
    show(('%s · %s'):format(usage.fill(answer):gsub('%%', '%%%%'), usage.forecast(answer, policy)))
    finish()
  end
  if not client.has('policy/evaluate') then
    return done()
  end
  client.request('policy/evaluate', { thread_id = active.thread_id }, done, QUIET)
end

--- Refreshes, at most once a second.
function M.refresh()
  state.is_stale = true
  if state.is_asking then
    return
  end
  state.is_asking, state.is_stale = true, false
  thread.active(function(_, active)
    if not active then
      show('')
      return finish()
    end
    state.shown = active.thread_id
    client.request('context/usage', { thread_id = active.thread_id }, function(_, answer)
      if answer then
        return with_forecast(active, answer)
      end
      show('')
      finish()
    end, QUIET)
  end, QUIET)
end

local CHANGES = { thread_updated = true, compaction_completed = true, policy_decided = true, limit_crossed = true, gap = true }

--- Notifies when the policy decides to act on the shown thread, or it reaches its limit; not for a decision to wait.
function M.tell(event)
  local words = usage.event(event)
  if not words or event.data.thread_id ~= state.shown or event.data.action == 'wait' then
    return
  end
  local level = event.kind == 'limit_crossed' and vim.log.levels.WARN or vim.log.levels.INFO
  vim.notify(printable.one_line('longhaul: ' .. words), level)
end

local function listen()
  state.is_listening = true
  client.listen(function(event)
    if CHANGES[event.kind] then
      M.refresh()
    end
    M.tell(event)
  end)
  local group = vim.api.nvim_create_augroup('LonghaulStatusline', {})
  vim.api.nvim_create_autocmd('DirChanged', { group = group, callback = M.refresh })
  M.refresh()
end

--- For 'statusline': `%{%v:lua.require'longhaul'.statusline()%}`; '' while unknown.
function M.text()
  if not state.is_listening then
    listen()
  end
  return state.text == '' and '' or '◔ ' .. state.text
end

return M
