-- Finds the daemon's socket, by the daemon's rule without its configuration and flags.

local M = {}
local uv = vim.uv or vim.loop

M.MAJOR = 1

local function set(value)
  return value ~= nil and value ~= '' and value or nil
end

local function absolute(path)
  return set(path) and path:sub(1, 1) == '/' and path or nil
end

--- The daemon's state folder; nil for a user without a home folder.
function M.state_dir()
  local env = vim.env
  if set(env.LONGHAUL_STATE_DIR) then
    return env.LONGHAUL_STATE_DIR
  end
  local home = set(env.HOME) or uv.os_homedir()
  if not home then
    return nil
  end
  if vim.fn.has('mac') == 1 then
    return home .. '/Library/Application Support/longhaul'
  end
  return (absolute(env.XDG_STATE_HOME) or home .. '/.local/state') .. '/longhaul'
end

--- The socket from the environment.
function M.default()
  local name = ('v%d.sock'):format(M.MAJOR)
  if set(vim.env.LONGHAUL_SOCKET) then
    return vim.env.LONGHAUL_SOCKET
  end
  local runtime = absolute(vim.env.XDG_RUNTIME_DIR)
  if runtime then
    return runtime .. '/longhaul/' .. name
  end
  local state = M.state_dir()
  return state and (state .. '/run/' .. name)
end

--- Why the socket must not be used, if so: another user's would receive transcripts.
function M.foreign(path)
  local stat = uv.fs_stat(path)
  local user = uv.getuid()
  if stat and stat.uid ~= user and stat.uid ~= 0 then
    return ('the socket %s cannot be used: it belongs to user %d'):format(path, stat.uid)
  end
end

--- The major version of another daemon that listens instead.
function M.other_major(path)
  local folder = vim.fn.fnamemodify(path, ':h')
  for _, name in ipairs(vim.fn.isdirectory(folder) == 1 and vim.fn.readdir(folder) or {}) do
    local major = tonumber(name:match('^v(%d+)%.sock$'))
    if major and major ~= M.MAJOR then
      return major
    end
  end
end

return M
