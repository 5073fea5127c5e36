-- Calls methods, across reconnects.
--
-- Owns at most one connection, and the calls that wait while it is being opened. After a restart of the daemon,
-- unanswered requests are sent again, except for methods that must not run twice: those fail with `broken`. An error
-- with `retry: backoff` is retried within the call's timeout. Every callback runs once, in Neovim's main loop.

local connection = require('longhaul.connection')
local failure = require('longhaul.failure')
local socket = require('longhaul.socket')
local uv = vim.uv or vim.loop

local M = {}

local CALL_MS = 60000
--- What the daemon gives a compaction without `deadline_ms`. It stops the model then, and records the checkpoint.
local DEADLINE_MS = 120000
local MARGIN_MS = 15000
--- How long to wait for a daemon that disappeared before calls fail, and the pauses between attempts.
local ABSENCE_MS = 10000
local BACKOFF_MS_MAX = 500
local IDLE_BACKOFF_MS_MAX = 30000
local WAITS_MAX = 4
--- A day: `vim.wait` needs a number.
local WAIT_MS_MAX = 24 * 3600 * 1000

local NOT_TWICE = {
  ['daemon/shutdown'] = true,
  ['message_history/append'] = true,
  ['memory/add_note'] = true,
  ['memory/review_note'] = true,
  ['policy/step'] = true,
  ['job/claim'] = true,
  ['thread/continue'] = true,
}

--- They take as long as there is work; the end of the connection ends them.
local UNLIMITED = {
  ['memory/run'] = true,
  ['archive/verify'] = true,
  ['archive/restore'] = true,
}

--- How long to wait for an answer, or nil for no limit.
local function limit_ms(method, params)
  if method == 'compaction/run' or method == 'thread/continue' then
    return (params.deadline_ms or DEADLINE_MS) + MARGIN_MS
  end
  return not UNLIMITED[method] and CALL_MS or nil
end

--- `program` runs `up` where `may_start`; both set by `longhaul.setup`.
M.options = { socket = nil, may_start = false, program = 'longhaul' }

local state = { open = nil, opening = nil, session = nil, listener = nil, place = nil, is_interrupted = false }

local function backoff_ms(attempt, max)
  return math.floor(math.min(max, 50 * 2 ^ math.min(attempt, 20)) * (0.5 + math.random() / 2))
end

local function later(ms, what)
  local timer = uv.new_timer()
  timer:start(ms, 0, vim.schedule_wrap(function()
    timer:close()
    what()
  end))
  return timer
end

--- The socket in use.
function M.path()
  return M.options.socket or socket.default()
end

--- The result of the last handshake, or nil.
function M.session()
  return state.session
end

--- Whether the connected daemon has a method.
function M.has(method)
  return state.session ~= nil and vim.tbl_contains(state.session.methods or {}, method)
end

function M.is_connected()
  return state.open ~= nil and state.open.ended == nil
end

local function deliver(params)
  vim.schedule(function()
    local place = state.place
    local event = params.result
    if not state.listener or (place and place.id ~= params.subscription) then
      return
    end
    if place then
      place.seq = math.max(place.seq, event.seq)
    end
    if event.kind ~= 'closing' then
      state.listener(event)
    end
  end)
end

local function absent(path, problem)
  local other = socket.other_major(path)
  if not other then
    return problem
  end
  local text = ('a daemon of protocol %d is there, this plugin speaks protocol %d'):format(other, socket.MAJOR)
  return failure.new(other > socket.MAJOR and 'too_old' or 'too_new', text)
end

--- One attempt to connect and to agree on a version: `done(failure, connection)` in the main loop.
local function attempt_open(done)
  local path = M.path()
  if not path then
    return done(failure.new('no_socket', 'no socket is named and there is no home folder to look in'))
  end
  local foreign = socket.foreign(path)
  if foreign then
    return done(failure.new('unusable', foreign))
  end
  connection.open(path, vim.schedule_wrap(function(problem, opened)
    if problem then
      local is_closed = problem.reason == 'ENOENT' or problem.reason == 'ECONNREFUSED' or problem.reason == 'ENOTDIR'
      local unusable = failure.new('unusable', ('the socket %s cannot be used: %s'):format(path, problem.reason))
      return done(is_closed and absent(path, problem) or unusable)
    end
    local hello = { client = { name = 'longhaul.nvim', version = M.VERSION }, protocol = { min = 1, max = 1 } }
    opened:send('initialize', hello, vim.schedule_wrap(function(refused, session)
      if refused then
        opened:finish(refused)
        return done(failure.of_handshake(refused))
      end
      state.session = session
      done(nil, opened)
    end))
  end), deliver)
end

M.VERSION = '0.1.0'

--- Runs `longhaul up`: `done(failure)`.
function M.start(done)
  local program = M.options.program
  if vim.fn.executable(program) == 0 then
    local text = ('no daemon answers on %s, and %s is not installed to start it'):format(M.path() or '?', program)
    return done(failure.new('not_running', text, 'install longhaul, then: longhaul up'))
  end
  local printed = {}
  vim.fn.jobstart({ program, 'up' }, {
    env = { LONGHAUL_SOCKET = M.path() },
    stderr_buffered = true,
    on_stderr = function(_, lines)
      printed = lines
    end,
    on_exit = function(_, code)
      if code == 0 then
        return done(nil)
      end
      local reason = (printed[1] or ''):gsub('^error: ', '')
      local hint = (printed[2] or ''):match('^hint: (.*)')
      done(failure.new('unusable', 'the daemon could not be started: ' .. reason, hint))
    end,
  })
end

local function adopt(opened)
  state.open = opened
  opened.on_end = vim.schedule_wrap(function()
    if state.listener then
      state.is_interrupted = true
      M.resume(0)
    end
  end)
  if opened.ended then
    opened.on_end()
  end
end

--- Returns the connection, opened if needed; retries until `give_up_at`.
local function connected(wish, done)
  if M.is_connected() then
    return done(nil, state.open)
  end
  if state.opening then
    -- The caller that began may have a shorter timeout, so its failure is not ours.
    return table.insert(state.opening, function(problem, opened)
      if problem and uv.now() < wish.give_up_at then
        return connected(wish, done)
      end
      done(problem, opened)
    end)
  end
  state.opening = { done }
  local may_start = wish.may_start and M.options.may_start and vim.env.LONGHAUL_AUTOSTART ~= '0'
  local function finish(problem, opened)
    local waiting = state.opening
    state.opening = nil
    if opened then
      adopt(opened)
    end
    for _, waits in ipairs(waiting) do
      waits(problem, opened)
    end
  end
  local function try(attempt)
    attempt_open(function(problem, opened)
      if not problem or problem.retry ~= 'reconnect' then
        return finish(problem, opened)
      end
      if may_start then
        may_start = false
        return M.start(function(not_started)
          if not_started then
            return finish(not_started)
          end
          try(attempt + 1)
        end)
      end
      local ms = backoff_ms(attempt, BACKOFF_MS_MAX)
      if uv.now() + ms >= wish.give_up_at then
        return finish(problem)
      end
      later(ms, function()
        try(attempt + 1)
      end)
    end)
  end
  try(0)
end

--- Whether a request may be sent again.
local function may_ask_again(problem, method)
  if problem.failure == 'refused' then
    return problem.retry == 'backoff' or problem.retry == 'reconnect'
  end
  return problem.failure == 'broken' and not NOT_TWICE[method]
end

--- Calls a method: `done(failure, result)`. Options: `timeout_ms`; `quiet` never starts the daemon and does not
--- wait for an absent one. Returns a function that cancels.
function M.request(method, params, done, options)
  options = options or {}
  local after_ms = options.timeout_ms or limit_ms(method, params)
  local deadline = uv.now() + (after_ms or math.huge)
  local call = { is_over = false }
  local function over(problem, result)
    if call.is_over then
      return
    end
    call.is_over = true
    if call.timer and not call.timer:is_closing() then
      call.timer:close()
    end
    if call.id then
      call.on:forget(call.id)
    end
    done(problem, result)
  end
  call.timer = after_ms and later(after_ms, function()
    over(failure.new('timeout', ('the daemon did not answer %s in time'):format(method)))
  end)
  -- Wait only for a daemon that was connected before; otherwise fail at once.
  local patience = (options.quiet or not state.session) and 0 or ABSENCE_MS
  local wish = { may_start = not options.quiet, give_up_at = uv.now() + patience }
  local function try(waits)
    connected(wish, function(unreached, opened)
      if call.is_over then
        return
      end
      local function answered(problem, result)
        local ms = problem and problem.retry_after_ms or backoff_ms(waits, BACKOFF_MS_MAX)
        local is_worth = problem and may_ask_again(problem, method) and uv.now() + ms < deadline
        -- A call without a limit must not go on ending daemon after daemon.
        local is_bounded = problem and (problem.retry == 'backoff' or not after_ms)
        if not is_worth or (is_bounded and waits >= WAITS_MAX) then
          return over(problem, result)
        end
        later(ms, function()
          if not call.is_over then
            try(waits + 1)
          end
        end)
      end
      if unreached then
        return answered(unreached)
      end
      call.on = opened
      call.id = opened:send(method, params, vim.schedule_wrap(answered))
    end)
  end
  try(0)
  return function()
    over(failure.new('cancelled', method .. ' was cancelled'))
  end
end

--- Calls a method and waits for it, for scripts and tests: result, failure.
function M.wait(method, params, timeout_ms)
  local answer
  M.request(method, params, function(problem, result)
    answer = { problem = problem, result = result }
  end, { timeout_ms = timeout_ms })
  vim.wait((timeout_ms or limit_ms(method, params) or WAIT_MS_MAX) + 1000, function()
    return answer ~= nil
  end, 5)
  return answer and answer.result, answer and answer.problem
end

--- Subscribes again, without a time limit. Never starts the daemon.
function M.resume(attempt)
  local function again()
    later(backoff_ms(attempt, IDLE_BACKOFF_MS_MAX), function()
      M.resume(attempt + 1)
    end)
  end
  connected({ may_start = false, give_up_at = 0 }, function(unreached, opened)
    if not state.listener then
      return
    end
    if unreached then
      return again()
    end
    local instance = state.session.server.instance_id
    local place = state.place
    local is_same = place and place.instance == instance
    state.place = nil
    local params = is_same and { since_seq = place.seq } or {}
    opened:send('event/subscribe', params, vim.schedule_wrap(function(problem, begun)
      if problem then
        -- A connection that ended resumes by itself.
        return
      end
      state.place = { id = begun.subscription, seq = begun.seq, instance = instance }
      local is_interrupted = state.is_interrupted
      state.is_interrupted = false
      if is_interrupted and not is_same and state.listener then
        state.listener({ kind = 'gap', seq = begun.seq, data = { next_seq = begun.seq } })
      end
    end))
  end)
end

--- Calls `listener(event)` for every event, across restarts of the daemon; there is one listener.
function M.listen(listener)
  local is_first = state.listener == nil
  state.listener = listener
  if is_first then
    M.resume(0)
  end
end

--- Ends the connection; the next call opens another.
function M.close()
  state.listener, state.place = nil, nil
  if M.is_connected() then
    state.open:finish(failure.new('cancelled', 'the connection was closed'))
  end
end

return M
