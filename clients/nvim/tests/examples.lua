-- Every exchange of protocol/examples, by this plugin, against a real daemon.

local client = require('longhaul.client')
local placeholders = require('placeholders')
local support = require('support')
local uv = vim.uv or vim.loop

--- A line there and a line back, over a bare socket: for what no client would send.
local function say(pipe, request)
  local answer
  pipe:read_stop()
  pipe:read_start(function(_, chunk)
    answer = chunk
  end)
  pipe:write(vim.json.encode(request) .. '\n')
  support.wait_for('an answer', function()
    return answer
  end)
  return vim.json.decode(answer)
end

local function ask(request)
  local result, problem = client.wait(request.method, request.params)
  if problem then
    assert(problem.failure == 'refused', problem.message)
    return { jsonrpc = '2.0', id = request.id, error = problem.wire }
  end
  return { jsonrpc = '2.0', id = request.id, result = result }
end

local function replay(example, bindings, path)
  local is_bare = type(example.method) ~= 'string' or example.method == 'initialize'
  local pipe = uv.new_pipe(false)
  local is_open = false
  pipe:connect(path, function()
    is_open = true
  end)
  support.wait_for('a connection', function()
    return is_open
  end)
  for _, exchange in ipairs(example.exchanges) do
    local request = bindings:fill(exchange.request)
    local answer = is_bare and say(pipe, request) or ask(request)
    local found = bindings:mismatch(exchange.response, answer)
    assert(not found, ('%s: %s: %s'):format(example.method, exchange.name, found))
  end
  pipe:close()
  return #example.exchanges
end

--- These need a job that nothing but the daemon itself can owe, and a plugin calls none of them.
local OF_WORKERS = { ['job/ask'] = true, ['job/claim'] = true, ['job/heartbeat'] = true, ['job/complete'] = true, ['job/fail'] = true }

--- All but those of workers, in the order of replay.
local function examples()
  local list = {}
  for _, file in ipairs(vim.fn.globpath(support.root .. '/protocol/examples', '**/*.json', true, true)) do
    local text = table.concat(vim.fn.readfile(file), '\n')
    -- Neovim's encoder writes 14 digits of a number. No size of a file and no time needs more.
    local example = vim.json.decode((text:gsub('9007199254740991', '99999999999999')))
    if not OF_WORKERS[example.method] then
      table.insert(list, example)
    end
  end
  table.sort(list, function(a, b)
    return a.order < b.order
  end)
  return list
end

return function()
  local daemon = support.daemon()
  daemon:start()
  daemon.ingested()
  local bindings = placeholders.new()
  bindings:matches('$NEW_FILE', vim.fn.tempname())
  local replayed = 0
  for _, example in ipairs(examples()) do
    replayed = replayed + replay(example, bindings, daemon.socket)
  end
  assert(replayed > 80, 'replayed ' .. replayed)
  client.close()
  return replayed .. ' exchanges'
end
