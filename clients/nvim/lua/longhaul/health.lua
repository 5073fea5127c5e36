-- `:checkhealth longhaul`: finds problems and says how to fix them.

local client = require('longhaul.client')
local printable = require('longhaul.printable')
local socket = require('longhaul.socket')

local M = {}

-- Neovim 0.8 moved it, 0.10 renamed its functions.
local health = vim.health or require('health')
local start = health.start or health.report_start

--- Sanitized health reports.
local function gated(report)
  return function(text, advice)
    report(printable.one_line(text), advice and vim.tbl_map(printable.one_line, advice))
  end
end

local ok = gated(health.ok or health.report_ok)
local warn = gated(health.warn or health.report_warn)
local error_ = gated(health.error or health.report_error)
local info = gated(health.info or health.report_info)

local function report_daemon(status)
  ok(('the daemon answers: version %s, protocol %d, process %d'):format(status.version, status.protocol, status.pid))
  for _, source in ipairs(status.sources or {}) do
    local threads = source.threads == 1 and '1 thread' or source.threads .. ' threads'
    local text = ('%s: %s in %s'):format(source.source, threads, source.root)
    if source.exists then
      ok(text)
    else
      info(('%s: %s is not there'):format(source.source, source.root))
    end
  end
  for _, warning in ipairs(status.warnings or {}) do
    warn(warning.message, warning.hint and { warning.hint } or nil)
  end
end

local function report_methods()
  for _, row in ipairs({
    { 'memory/search', ':Longhaul memory' },
    { 'policy/evaluate', 'the forecast of the next compaction' },
  }) do
    if client.has(row[1]) then
      ok(('the daemon has %s'):format(row[1]))
    else
      info(('the daemon has no %s: %s does without'):format(row[1], row[2]))
    end
  end
end

function M.check()
  start('longhaul')
  if vim.fn.has('nvim-0.7') == 1 then
    ok('Neovim is new enough (0.7)')
  else
    error_('Neovim 0.7 or later is needed')
  end
  info('socket: ' .. (client.path() or 'none: there is no home folder'))
  local program = client.options.program
  if vim.fn.executable(program) == 1 then
    ok(program .. ' is installed')
  else
    warn(program .. ' is not on the PATH: an absent daemon cannot be started from here', { "setup({ program = '/path/to/longhaul' })" })
  end
  local foreign = client.path() and socket.foreign(client.path())
  if foreign then
    return error_(foreign)
  end
  local status, problem
  client.request('daemon/status', {}, function(failed, result)
    problem, status = failed, result
  end, { quiet = true, timeout_ms = 5000 })
  vim.wait(6000, function()
    return status ~= nil or problem ~= nil
  end, 10)
  if status then
    report_daemon(status)
    report_methods()
  else
    error_(problem and problem.message or 'the daemon does not answer', problem and problem.hint and { problem.hint } or nil)
  end
end

return M
