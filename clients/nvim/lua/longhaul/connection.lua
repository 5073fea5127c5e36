-- One connection: lines in both directions, answers matched to requests by their ids.
--
-- It is used once, and ends with one failure for all waiting calls. All callbacks run in libuv's context.

local failure = require('longhaul.failure')
local uv = vim.uv or vim.loop

local M = {}
local Connection = {}
Connection.__index = Connection

--- Maximum bytes of a message.
local FRAME_BYTES_MAX = 16 * 1024 * 1024

--- Milliseconds between two attempts, and the timeout.
local FULL_QUEUE_RETRY = 5
local CONNECT_TIMEOUT = 5000

--- Connects: `on_end(error, pipe)`. Retries while the daemon's queue of new connections is full: Linux rejects those
--- immediately with `EAGAIN`.
local function connect(path, give_up_at, on_end)
  local pipe = uv.new_pipe(false)
  pipe:connect(path, function(error)
    if not error then
      return on_end(nil, pipe)
    end
    pipe:close()
    if error ~= 'EAGAIN' or uv.now() >= give_up_at then
      return on_end(error)
    end
    local timer = uv.new_timer()
    timer:start(FULL_QUEUE_RETRY, 0, function()
      timer:close()
      connect(path, give_up_at, on_end)
    end)
  end)
end

--- Opens `path`; `on_open(failure, connection)` is called once. `on_event(params)` for each event.
function M.open(path, on_open, on_event)
  local self = setmetatable({
    waiting = {},
    next_id = 1,
    parts = {},
    bytes = 0,
    on_event = on_event,
  }, Connection)
  connect(path, uv.now() + CONNECT_TIMEOUT, function(error, pipe)
    if error then
      self.ended = failure.new('not_running', 'no daemon answers on ' .. path)
      self.ended.reason = error
      return on_open(self.ended)
    end
    self.pipe = pipe
    pipe:read_start(function(problem, chunk)
      self:receive(problem, chunk)
    end)
    on_open(nil, self)
  end)
end

--- Writes a request; `on_answer(failure, result)` is called once.
function Connection:send(method, params, on_answer)
  if self.ended then
    return on_answer(self.ended)
  end
  local id = tostring(self.next_id)
  if type(params) ~= 'table' or next(params) == nil then
    params = vim.empty_dict()
  end
  local message = { jsonrpc = '2.0', id = id, method = method, params = params }
  local line = vim.json.encode(message) .. '\n'
  if #line > FRAME_BYTES_MAX then
    return on_answer(failure.new('too_large', ('the request is too large: %d bytes'):format(#line)))
  end
  self.next_id = self.next_id + 1
  self.waiting[id] = on_answer
  self.pipe:write(line)
  return id
end

--- Ignores the answer when it comes.
function Connection:forget(id)
  self.waiting[id] = nil
end

--- Closes it; all waiting calls fail.
function Connection:finish(why)
  if self.ended then
    return
  end
  self.ended = why
  if not self.pipe:is_closing() then
    self.pipe:close()
  end
  local waiting = self.waiting
  self.waiting = {}
  for _, on_answer in pairs(waiting) do
    on_answer(why)
  end
  if self.on_end then
    self.on_end(why)
  end
end

function Connection:receive(problem, chunk)
  if problem or not chunk then
    local why = problem or 'the daemon closed it'
    return self:finish(failure.new('broken', 'the connection to the daemon broke: ' .. why))
  end
  local from = 1
  local stop = chunk:find('\n', from, true)
  while stop do
    table.insert(self.parts, chunk:sub(from, stop - 1))
    local line = table.concat(self.parts)
    self.parts, self.bytes, from = {}, 0, stop + 1
    self:read(line)
    stop = chunk:find('\n', from, true)
  end
  if from <= #chunk then
    table.insert(self.parts, chunk:sub(from))
    self.bytes = self.bytes + #chunk - from + 1
  end
  if self.bytes > FRAME_BYTES_MAX then
    self:finish(failure.new('unreadable', "the daemon's answer is too long"))
  end
end

function Connection:read(line)
  if line == '' then
    return
  end
  local is_json, message = pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
  if not is_json then
    return self:finish(failure.new('unreadable', "the daemon's answer is invalid"))
  end
  if message.method == 'event' then
    return self.on_event(message.params)
  end
  local on_answer = message.id and self.waiting[message.id]
  if not on_answer then
    return
  end
  self.waiting[message.id] = nil
  if message.error then
    on_answer(failure.refused(message.error))
  else
    on_answer(nil, message.result)
  end
end

return M
