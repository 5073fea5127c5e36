-- Selects the thread: the newest of the current folder, else of the nearest folder above it within the project. Where there
-- is none, the newest of all is only read.

local client = require('longhaul.client')
local uv = vim.uv or vim.loop

local M = {}

--- The current folder and those above it that can be its project: up to the root of the repository, and below the home
--- folder, which holds the projects of everyone.
local function folders_here()
  local here = uv.fs_realpath(vim.fn.getcwd()) or vim.fn.getcwd()
  local home = uv.os_homedir() or ''
  local folders, folder = { here }, here
  while not uv.fs_stat(folder .. '/.git') do
    folder = vim.fn.fnamemodify(folder, ':h')
    if folder == '/' or vim.startswith(home .. '/', folder .. '/') then
      break
    end
    table.insert(folders, folder)
  end
  return folders
end

--- Threads to look at for the newest that someone worked in.
local LOOKED_AT = 20

--- The first thread that someone worked in: a continuation that nobody has resumed is newer than the thread it continues
--- but has nothing of its own.
local function worked_in(threads)
  for _, thread in ipairs(threads) do
    if not thread.unresumed then
      return thread
    end
  end
end

--- `done(failure, thread)` with the newest thread of the first of the folders that has one, or nil.
local function newest(folders, done, options)
  local function ask(at)
    local params = { cwd = folders and folders[at], limit = LOOKED_AT }
    client.request('thread/list', params, function(problem, result)
      local thread = result and worked_in(result.threads)
      if problem or thread or not folders or at == #folders then
        return done(problem, thread)
      end
      ask(at + 1)
    end, options)
  end
  ask(1)
end

--- `done(failure, thread)` for what is only read; fails if there is no thread.
function M.active(done, options)
  newest(folders_here(), function(problem, here)
    if problem or here then
      return done(problem, here)
    end
    newest(nil, function(failed, thread)
      done(failed or not thread and {
        message = 'no thread is known yet',
        hint = 'start Codex or Claude Code once, or look at :checkhealth longhaul',
        retry = 'never',
      } or nil, thread)
    end, options)
  end, options)
end

--- `done(failure, thread)` for what changes it; fails if there is no thread of this folder or its project.
function M.to_change(done)
  newest(folders_here(), function(problem, here)
    done(problem or not here and {
      message = 'no thread of this folder or its project',
      hint = ':cd to its folder, or name the thread to longhaul on the command line',
      retry = 'never',
    } or nil, here)
  end)
end

--- The name to show.
function M.name(thread)
  return thread.title or thread.cwd or thread.thread_id
end

return M
