-- A daemon that only plays, for what a real one does not do on demand: other versions, a full queue.

local client = require('longhaul.client')
local support = require('support')
local uv = vim.uv or vim.loop

--- Takes a connection and answers its requests by `answer(request)`.
local function take(server, answer)
  local pipe = uv.new_pipe(false)
  server:accept(pipe)
  local text = ''
  pipe:read_start(function(_, chunk)
    if not chunk then
      return pipe:close()
    end
    text = text .. chunk
    for line in text:gmatch('([^\n]*)\n') do
      local request = vim.json.decode(line)
      local response = answer(request)
      response.jsonrpc, response.id = '2.0', request.id
      pipe:write(vim.json.encode(response) .. '\n')
    end
    text = text:match('[^\n]*$')
  end)
end

--- Answers every request by `answer(request)`; a function that ends it.
local function play(path, answer)
  local server = uv.new_pipe(false)
  assert(server:bind(path))
  server:listen(8, function()
    take(server, answer)
  end)
  return function()
    client.close()
    server:close()
  end
end

local function hello()
  local server = { name = 'longhauld', version = '1', instance_id = 'i', pid = 1 }
  return { result = { protocol = 1, server = server, capabilities = {}, methods = { 'job/claim' }, limits = vim.empty_dict() } }
end

--- A daemon of another version says which of the two ends is too old.
local function check_versions(folder)
  for end_, wanted in pairs({ client_too_old = 'too_old', daemon_too_old = 'too_new' }) do
    client.options.socket = folder .. '/' .. end_ .. '.sock'
    local stop = play(client.options.socket, function()
      local data = { kind = 'version_unsupported', retry = 'never', detail = { disagreement = end_ } }
      return { error = { code = 1001, message = 'other revisions', data = data } }
    end)
    local _, problem = client.wait('thread/list', {}, 2000)
    assert(problem.failure == wanted and problem.hint, vim.inspect(problem))
    stop()
  end
  -- A daemon of the next major beside ours.
  client.options.socket = folder .. '/v1.sock'
  local stop = play(folder .. '/v2.sock', hello)
  local _, problem = client.wait('thread/list', {}, 2000)
  assert(problem.failure == 'too_old' and problem.message:find('protocol 2 is there'), vim.inspect(problem))
  stop()
end

--- While the daemon's queue of new connections is full, a call waits for its place.
local function check_full_queue(folder)
  local path = folder .. '/queue.sock'
  local server = uv.new_pipe(false)
  assert(server:bind(path))
  local is_taking, is_owed = false, false
  server:listen(1, function()
    if is_taking then
      return take(server, hello)
    end
    is_owed = true
  end)
  local queue, refused = {}, nil
  while not refused do
    local pipe, is_done = uv.new_pipe(false), false
    table.insert(queue, pipe)
    pipe:connect(path, function(error)
      is_done, refused = true, error
    end)
    support.wait_for('an end of the attempt', function()
      return is_done
    end)
  end
  assert(refused == 'EAGAIN' and is_owed, refused)
  client.options.socket = path
  local answer, problem
  client.request('thread/list', {}, function(failed, result)
    answer, problem = result, failed
  end)
  is_taking = true
  take(server, hello)
  support.wait_for('the answer', function()
    return answer or problem
  end)
  assert(answer, vim.inspect(problem))
  for _, pipe in ipairs(queue) do
    pipe:close()
  end
  client.close()
  server:close()
end

--- A call waits as long as the daemon may work: the timer of each call, in seconds.
local function check_limits(folder)
  client.options.socket = folder .. '/limits.sock'
  local stop = play(client.options.socket, hello)
  client.wait('daemon/status', {}, 2000)
  local new_timer = uv.new_timer
  local function limit(method, params)
    local longest = 0
    uv.new_timer = function()
      local timer = new_timer()
      return {
        start = function(_, ms, ...)
          longest = math.max(longest, ms)
          return timer:start(ms, ...)
        end,
        close = function()
          timer:close()
        end,
        is_closing = function()
          return timer:is_closing()
        end,
      }
    end
    local answer, problem
    client.request(method, params, function(failed, result)
      answer, problem = result, failed
    end)
    uv.new_timer = new_timer
    support.wait_for('the answer', function()
      return answer or problem
    end)
    return longest / 1000
  end
  assert(limit('thread/list', {}) == 60)
  assert(limit('compaction/run', {}) == 135)
  assert(limit('compaction/run', { deadline_ms = 600000 }) == 615)
  assert(limit('memory/run', {}) == 0)
  stop()
end

--- An undo is of the compaction that the daemon names, of the newest thread that someone worked in.
local function check_undo(folder)
  client.options.socket = folder .. '/undo.sock'
  local asked = {}
  local compaction = function(id)
    return { summary = { compaction_id = id, created_at = 1, tokens = { before = 9, after = 1 } } }
  end
  local answers = {
    ['thread/list'] = { threads = { { thread_id = 'new', unresumed = true }, { thread_id = 'old', unresumed = false } } },
    ['thread/bill'] = { compactions = { compaction('used'), compaction('printed') }, undo_next = 'used' },
    ['compaction/undo'] = { history = {}, handles = { { tokens = 250000 } }, complete = false, reach = 'thread' },
  }
  local stop = play(client.options.socket, function(request)
    asked[request.method] = request.params
    local answer = hello()
    answer.result.methods = { 'thread/bill' }
    return answers[request.method] and { result = answers[request.method] } or answer
  end)
  local confirm, notify, said = vim.fn.confirm, vim.notify, nil
  vim.fn.confirm = function()
    return 1
  end
  vim.notify = function(text)
    said = text
  end
  vim.cmd('Longhaul undo')
  support.wait_for('the answer', function()
    return said
  end)
  vim.fn.confirm, vim.notify = confirm, notify
  assert(said:find('undone: the old history of 250k tokens', 1, true), said)
  assert(asked['thread/bill'].thread_id == 'old', vim.inspect(asked))
  assert(asked['compaction/undo'].compaction_id == 'used', vim.inspect(asked))
  stop()
end

--- In a container the user may have a number and no name.
local function check_unnamed_user(folder)
  local named = uv.os_get_passwd
  uv.os_get_passwd = function()
    return nil, 'ENOENT: no such file or directory'
  end
  client.options.socket = folder .. '/unnamed.sock'
  local stop = play(client.options.socket, hello)
  local result, problem = client.wait('daemon/status', {}, 2000)
  uv.os_get_passwd = named
  assert(result, vim.inspect(problem))
  stop()
end

return function()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p', 448)
  client.options.may_start = false
  check_versions(folder)
  check_full_queue(folder)
  check_limits(folder)
  check_undo(folder)
  check_unnamed_user(folder)
  client.options.socket = nil
end
