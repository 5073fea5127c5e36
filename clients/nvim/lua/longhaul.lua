-- The plugin's interface: options, the statusline, and functions for other plugins.

local client = require('longhaul.client')

local M = { client = client }

--- Options, all of them optional:
---   socket   string    the daemon's socket; default: from the environment
---   start    boolean   whether a command may start the daemon; default: true
---   program  string    the `longhaul` program; default: 'longhaul'
function M.setup(options)
  options = options or {}
  for name in pairs(options) do
    if not vim.tbl_contains({ 'socket', 'start', 'program' }, name) then
      error(('longhaul.setup: there is no option %s; the options are socket, start, program'):format(name))
    end
  end
  client.options.socket = options.socket
  client.options.may_start = options.start ~= false
  client.options.program = options.program or 'longhaul'
end
M.setup()

--- Compacts a history of your own: `done(failure, result)`; `result.view` is the text to continue from.
--- `items` are history items in the Responses API form. Options: max_tokens, strategy, …
function M.compact(items, options, done)
  local params = vim.tbl_extend('force', options or {}, { items = items })
  return client.request('compaction/run', params, done)
end

--- Use of the active thread's context, for a statusline; '' while unknown.
function M.statusline()
  return require('longhaul.statusline').text()
end

return M
