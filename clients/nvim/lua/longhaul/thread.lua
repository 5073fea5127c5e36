-- Selects the thread: the newest of the current folder, else the newest of all.

local client = require('longhaul.client')

local M = {}

--- `done(failure, thread)`; fails if there is no thread.
function M.active(done, options)
  local function ask(params, otherwise)
    client.request('thread/list', params, function(problem, result)
      local thread = result and result.threads[1]
      if problem or thread then
        return done(problem, thread)
      end
      otherwise()
    end, options)
  end
  ask({ cwd = vim.fn.getcwd(), limit = 1 }, function()
    ask({ limit = 1 }, function()
      done({
        message = 'no thread is known yet',
        hint = 'start Codex or Claude Code once, or look at :checkhealth longhaul',
        retry = 'never',
      })
    end)
  end)
end

--- The name to show.
function M.name(thread)
  return thread.title or thread.cwd or thread.thread_id
end

return M
