-- A real daemon for tests, and waiting with a bound.

local M = {}
local uv = vim.uv or vim.loop

M.root = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h:h:h')

function M.read(path)
  return table.concat(vim.fn.readfile(M.root .. '/' .. path), '\n')
end

function M.binaries()
  local target = vim.env.CARGO_TARGET_DIR or (M.root .. '/target')
  for _, folder in ipairs({ vim.env.LONGHAUL_BIN or '', target .. '/debug', target .. '/release' }) do
    if folder ~= '' and vim.fn.executable(folder .. '/longhauld') == 1 then
      return folder
    end
  end
  error('longhauld is not built')
end

--- Looks until there is something, for at most 20 seconds.
function M.wait_for(what, look)
  local found
  local is_there = vim.wait(20000, function()
    found = look()
    return found and true or false
  end, 10)
  assert(is_there, 'waited in vain: ' .. what)
  return found
end

local Daemon = {}
Daemon.__index = Daemon

--- A separate home with the sample sessions.
function M.daemon()
  local home = vim.fn.tempname()
  vim.fn.mkdir(home .. '/run', 'p', 448)
  vim.fn.mkdir(home .. '/.codex', 'p')
  vim.fn.mkdir(home .. '/.config/longhaul', 'p')
  vim.fn.writefile({}, home .. '/.config/longhaul/config.toml')
  vim.fn.system({ 'cp', '-r', M.root .. '/samples/codex-home/sessions', home .. '/.codex/' })
  local self = setmetatable({ home = home, socket = home .. '/run/v1.sock' }, Daemon)
  vim.env.HOME = home
  vim.env.LONGHAUL_SOCKET = self.socket
  vim.env.LONGHAUL_STATE_DIR = home .. '/state'
  vim.env.PATH = M.binaries() .. ':' .. vim.env.PATH
  return self
end

--- Starts it. One that is just ending holds the lock for a moment longer: "later" is asked again.
function Daemon:start()
  self.job = vim.fn.jobstart({ M.binaries() .. '/longhauld' }, {
    on_exit = function(_, code)
      if code == 75 then
        self:start()
      end
    end,
  })
end

--- Ends it with a signal, and waits until it has.
function Daemon:stop(signal)
  uv.kill(vim.fn.jobpid(self.job), signal or 'sigterm')
  vim.fn.jobwait({ self.job }, 10000)
end

--- Waits until the sample session is read and indexed; its thread.
function Daemon.ingested()
  local client = require('longhaul.client')
  local threads = M.wait_for('a thread is read', function()
    local list = client.wait('thread/list', {}, 2000)
    return list and list.threads[1] and list.threads
  end)
  client.wait('thread/sync', { thread_id = threads[1].thread_id })
  M.wait_for('the search index is idle', function()
    return client.wait('daemon/status', {}).search.state == 'idle'
  end)
  M.wait_for('the archive is idle', function()
    -- It is refused while the archive is opened.
    local status = client.wait('archive/status', {})
    return status and status.state == 'idle'
  end)
  return threads[1].thread_id
end

return M
