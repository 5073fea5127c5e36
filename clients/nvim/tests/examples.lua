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

--- These need a job that nothing but the daemon itself can owe; `scripted` replays them.
local OF_WORKERS = { ['job.claim'] = true, ['job.heartbeat'] = true, ['job.complete'] = true, ['job.fail'] = true }

local function replay_all(names, path)
  local bindings = placeholders.new()
  local replayed = 0
  for _, name in ipairs(names) do
    local text = support.read('protocol/examples/' .. name .. '.json')
    -- Neovim's encoder writes 14 digits of a number. No size of a file and no time needs more.
    local example = vim.json.decode((text:gsub('9007199254740991', '99999999999999')))
    replayed = replayed + replay(example, bindings, path)
  end
  return replayed
end

return function()
  local daemon = support.daemon()
  daemon:start()
  daemon.ingested()
  local list = support.read('protocol/src/example.rs'):match('\nexamples! {([^}]*)}')
  local names = {}
  for name in list:gmatch('"([^"]+)"') do
    if not OF_WORKERS[name] then
      table.insert(names, name)
    end
  end
  local replayed = replay_all(names, daemon.socket)
  assert(replayed > 80, 'replayed ' .. replayed)
  client.close()
  return replayed .. ' exchanges'
end
