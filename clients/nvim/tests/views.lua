-- The commands as a person types them, and what they see.

local client = require('longhaul.client')
local support = require('support')

local notices = {}
vim.notify = function(text)
  table.insert(notices, text)
end

local function close_floats()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      vim.api.nvim_win_close(window, true)
    end
  end
end

--- Types a command and waits for its floating view; its text.
local function shown(command)
  vim.cmd(command)
  support.wait_for('a view of ' .. command .. ' ' .. vim.inspect(notices), function()
    return vim.api.nvim_win_get_config(0).relative ~= ''
  end)
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
end

local function expect(text, pattern)
  assert(text:find(pattern), ('%s is not in:\n%s'):format(pattern, text))
  close_floats()
end

local function check_health()
  vim.cmd('checkhealth longhaul')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  expect(text, 'the daemon answers: version')
  expect(text, 'codex: %d+ threads? in')
  vim.cmd('silent! bwipeout!')
end

--- Types <CR> in a list and waits until it has led to such a place; the text there.
local function chosen(is_there)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<CR>', true, false, true), 'xt', false)
  support.wait_for('what was chosen', is_there)
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
end

local function check_dropped()
  local lines = shown('Longhaul dropped')
  -- Named by what they hold.
  assert(lines:find('tool output') and lines:find('I.ll read the parser'), lines)
  local list = vim.api.nvim_get_current_win()
  local text = chosen(function()
    return vim.api.nvim_get_current_win() ~= list
  end)
  expect(text, '── ')
end

local function check_memory()
  client.wait('memory/run', { all = true })
  local hits = shown('Longhaul memory floats money')
  assert(hits:find('No floats for money'), hits)
  local text = chosen(function()
    -- Neovim names the folder that the link leads to.
    return vim.api.nvim_buf_get_name(0):find('/memory.*%.md$')
  end)
  assert(text:find('No floats for money'), text)
  vim.cmd('silent! bwipeout!')
  expect(shown('Longhaul memory'), 'MEMORY.md')
end

local function check_expand(thread)
  local page = client.wait('thread/items', { thread_id = thread, from_seq = 0, limit = 20 })
  local whole = shown('Longhaul expand ' .. page.items[1].handle)
  expect(whole, '── ')
  -- As a view prints it, and with the beginning of the thread's id.
  local seq = page.items[1].seq
  assert(shown('Longhaul expand #' .. seq) == whole)
  close_floats()
  assert(shown(('Longhaul expand %s#%d'):format(thread:sub(1, 8), seq)) == whole)
  close_floats()
end

local function check_undo()
  vim.fn.confirm = function()
    return 1
  end
  vim.cmd('Longhaul undo')
  support.wait_for('undone', function()
    return notices[#notices]:find("undone in longhaul's records %(%d+ items%)%. Codex keeps .* run `longhaul undo cmp_.*`.*: longhaul continue .* %-%-as%-of %d+")
  end)
end

local function check_continue()
  for agent, resumes in pairs({ codex = 'codex resume ', claude = 'claude %-%-resume ' }) do
    vim.cmd('Longhaul continue ' .. agent)
    support.wait_for('continued in ' .. agent, function()
      return notices[#notices]:find('→ .* tokens; go on with %(copied%): ' .. resumes)
    end)
  end
  vim.cmd('Longhaul continue emacs')
  support.wait_for('another agent is refused', function()
    return notices[#notices]:find('codex, claude', 1, true) or notices[#notices]:find('one of', 1, true)
  end)
end

--- A session of Codex whose last two turns failed because its window is full.
local function write_blocked(daemon, id)
  local lines = {}
  local function write(type, payload)
    table.insert(lines, vim.json.encode({ timestamp = '2026-01-03T10:00:00.000Z', type = type, payload = payload }))
  end
  write('session_meta', { id = id, cwd = '/elsewhere', originator = 'codex_cli_rs', cli_version = '0.169.0', source = 'cli' })
  for _, request in ipairs({ 'Import the bank statements.', 'Go on.' }) do
    write('response_item', { type = 'message', role = 'user', content = { { type = 'input_text', text = request } } })
    write('event_msg', { type = 'task_complete', error = { message = 'full', codex_error_info = 'context_window_exceeded' } })
  end
  local folder = daemon.home .. '/.codex/sessions/2026/01/03'
  vim.fn.mkdir(folder, 'p')
  local path = ('%s/rollout-2026-01-03T10-00-00-%s.jsonl'):format(folder, id)
  vim.fn.writefile(lines, path)
  assert(client.wait('thread/sync', { path = path }))
end

--- One blocked thread is continued at once, several are offered.
local function check_rescue(daemon)
  vim.cmd('Longhaul rescue')
  support.wait_for('none is blocked', function()
    return notices[#notices]:find('no thread is blocked', 1, true)
  end)
  local offered
  vim.ui.select = function(rows, options, done)
    offered = vim.tbl_map(options.format_item, rows)
    done(rows[1])
  end
  local function rescued()
    local before = #notices
    vim.cmd('Longhaul rescue codex')
    support.wait_for('rescued', function()
      return #notices > before and notices[#notices]:find('go on with %(copied%): codex resume ')
    end)
  end
  write_blocked(daemon, '019cadd3-0000-7000-8000-0000000000b1')
  rescued()
  assert(not offered, vim.inspect(offered))
  write_blocked(daemon, '019cadd3-0000-7000-8000-0000000000b2')
  write_blocked(daemon, '019cadd3-0000-7000-8000-0000000000b3')
  rescued()
  assert(#offered == 2 and offered[1]:find('window full, 2 times in a row', 1, true), vim.inspect(offered))
  rescued()
  assert(#client.wait('thread/list', { blocked = true }).threads == 0)
end

local function check_bill()
  local usage = require('longhaul.usage')
  local summary = { duration_ms = 12, cost = { requests = 0, tokens = 0 } }
  local after = { actions = 3, edited = true, files_reread = 2, files_reread_paths = {} }
  local agent = { source = 'thread', compactions = 2, input_tokens = 156000, duration_ms = 96000 }
  local lines = usage.bill({ compactions = { { summary = summary, after = after } }, agent = agent })
  assert(lines[1] == 'last compaction: no request, 12 ms', lines[1])
  assert(lines[2] == "the agent's own: 156k tokens in, 1 min (this thread)", lines[2])
  assert(lines[3] == 'first edit after 3 actions, 2 files read again', lines[3])
  local resume = { is_cold = true, idle_ms = 10800000, history_tokens = 182000, briefing_tokens = 6100 }
  assert(usage.cold(resume):find('182k tokens uncached, :Longhaul continue about 6.1k', 1, true))
  resume.is_cold = false
  assert(usage.cold(resume) == nil)
end

--- Notifies of decisions to act on the shown thread; not of decisions to wait, nor of other threads.
local function check_events()
  local thread
  require('longhaul.thread').active(function(_, active)
    thread = active and active.thread_id
  end)
  support.wait_for('the shown thread', function()
    return thread
  end)
  local statusline = require('longhaul.statusline')
  local function notice(kind, data)
    local before = #notices
    statusline.tell({ kind = kind, data = data })
    return #notices > before and notices[#notices] or nil
  end
  local decided = { thread_id = thread, action = 'compact', tier = 'asap', percent_remaining = 12 }
  assert(notice('policy_decided', decided) == 'longhaul: the policy decided: compact at asap, 12 % left', notices[#notices])
  decided.action, decided.tier = 'wait', vim.NIL
  assert(not notice('policy_decided', decided))
  local crossed = { thread_id = thread, tokens = 180000, window = 200000, percent_remaining = 10 }
  local words = 'longhaul: compaction limit reached: 180k of 200k tokens, 10 % left'
  assert(notice('limit_crossed', crossed) == words, notices[#notices])
  crossed.thread_id = 'another'
  assert(not notice('limit_crossed', crossed))
  assert(not notice('thread_updated', { thread_id = thread }))
end

--- The first row of a list is chosen; words are chosen as they are.
local function check_choices()
  vim.ui.select = function(rows, options, done)
    assert(options.format_item(rows[1]):find(': '), options.format_item(rows[1]))
    done(rows[1])
  end
  for _, case in ipairs({
    { 'Longhaul pin', 'kept in later views' },
    { 'Longhaul drop', 'left out of later views' },
    { 'Longhaul pin Keep the whole cents', 'Keep the whole cents' },
  }) do
    vim.cmd(case[1])
    support.wait_for(case[1], function()
      return notices[#notices]:find(case[2], 1, true)
    end)
  end
end

--- Where the folder's project has no thread, the newest of all is read, and nothing is changed.
local function check_elsewhere()
  vim.cmd('cd ' .. vim.fn.tempname():gsub('/[^/]*$', ''))
  expect(shown('Longhaul'), 'tool outputs')
  for _, command in ipairs({ 'compact', 'pin Keep it', 'pin', 'drop', 'undo', 'continue' }) do
    local before = #notices
    vim.cmd('Longhaul ' .. command)
    support.wait_for(command .. ' is refused', function()
      return #notices > before and notices[#notices]:find('no thread of this folder or its project', 1, true)
    end)
  end
end

return function()
  local daemon = support.daemon()
  daemon:start()
  local thread = daemon.ingested()
  check_elsewhere()
  -- Below the folder of the sample session.
  vim.fn.getcwd = function()
    return '/home/dev/ledger/src'
  end
  expect(shown('Longhaul'), 'tool outputs')
  expect(shown('Longhaul compact 400'), '%S')
  assert(notices[#notices]:find('tokens; %d+ items dropped'), vim.inspect(notices))
  check_dropped()
  check_choices()
  check_undo()
  check_bill()
  check_continue()
  expect(shown('Longhaul checkpoint'), '%S')
  expect(shown('Longhaul search test'), 'test')
  expect(shown('Longhaul threads'), 'codex')
  check_expand(thread)
  check_memory()
  vim.cmd('Longhaul nonsense')
  assert(notices[#notices]:find('no command nonsense'))
  assert(vim.deep_equal(vim.fn.getcompletion('Longhaul un', 'cmdline'), { 'undo' }))
  local line = support.wait_for('the statusline', function()
    local text = require('longhaul').statusline()
    return text ~= '' and text
  end)
  assert(line:find('%d+%%%% · %S'), line)
  check_events()
  assert(vim.api.nvim_eval_statusline("%{%v:lua.require'longhaul'.statusline()%}", {}).str:find('%d%% · '))
  check_health()
  check_rescue(daemon)
  client.close()
  daemon:stop()
  return line
end
