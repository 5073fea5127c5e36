-- The `:Longhaul` commands. Each calls the daemon and shows the answer.

local client = require('longhaul.client')
local failure = require('longhaul.failure')
local float = require('longhaul.float')
local format = require('longhaul.format')
local item = require('longhaul.item')
local printable = require('longhaul.printable')
local thread = require('longhaul.thread')
local undo = require('longhaul.undo')
local usage = require('longhaul.usage')

local M = {}
local commands = {}

local function say(text, level)
  vim.notify(printable.one_line('longhaul: ' .. text), level or vim.log.levels.INFO)
end

local function complain(problem)
  vim.notify(failure.text(problem), vim.log.levels.ERROR)
end

--- Calls a method and passes on its result; failures are shown.
local function ask(method, params, done)
  client.request(method, params, function(problem, result)
    if problem then
      return complain(problem)
    end
    done(result)
  end)
end

--- As `ask`, for methods that older daemons do not have.
local function ask_if_there(method, params, done)
  ask('daemon/status', {}, function()
    if not client.has(method) then
      return complain(failure.new('missing', ('the running daemon has no %s'):format(method)))
    end
    ask(method, params, done)
  end)
end

--- Passes on the selected thread; failures are shown.
local function with(select, done)
  select(function(problem, selected)
    if problem then
      return complain(problem)
    end
    done(selected)
  end)
end

local function with_thread(done)
  with(thread.active, done)
end

local function with_thread_to_change(done)
  with(thread.to_change, done)
end

--- Shows the items behind a handle; a handle without a thread belongs to `of`.
local function expand(handle, of)
  ask('history/expand', { handle = handle, thread_id = of }, function(result)
    local lines = item.lines(result.items)
    if result.next_cursor then
      table.insert(lines, '… more: longhaul expand ' .. handle .. (of and ' --thread ' .. of or ''))
    end
    float.open({ title = handle, lines = lines })
  end)
end

function commands.compact(arguments)
  local max_tokens = tonumber(arguments[1])
  if arguments[1] and not max_tokens then
    return say(':Longhaul compact [TOKENS]: ' .. arguments[1] .. ' is not a number', vim.log.levels.ERROR)
  end
  with_thread_to_change(function(active)
    ask('compaction/run', { thread_id = active.thread_id, max_tokens = max_tokens }, function(result)
      local tokens, totals = result.tokens, result.receipt.totals
      say(('%s → %s tokens; %d items dropped, see :Longhaul dropped'):format(
        format.tokens(tokens.before), format.tokens(tokens.after), totals.dropped.items))
      float.open({ title = 'compacted: ' .. format.line(thread.name(active), 50), text = result.view, filetype = 'markdown' })
    end)
  end)
end

--- Pins or drops `what`, a text or a handle.
local function choose(active, action, what)
  ask_if_there('checkpoint/choose', vim.tbl_extend('error', { thread_id = active.thread_id, action = action }, what), function(result)
    say(('%s later views of this thread: %s'):format(action == 'pin' and 'kept in' or 'left out of',
      format.line(result.choice.text, 80)))
  end)
end

--- Offers rows of a preview by `vim.ui.select`.
local function offer(action, rows_of, label, what_of)
  with_thread_to_change(function(active)
    ask_if_there('compaction/preview', { thread_id = active.thread_id }, function(preview)
      local prompt = action == 'pin' and 'Pin into every later view' or 'Drop out of every later view'
      vim.ui.select(rows_of(preview), { prompt = prompt, format_item = label }, function(row)
        if row then
          choose(active, action, what_of(row))
        end
      end)
    end)
  end)
end

--- Chooses the given text or handle, else offers the items that a view does not have whole, or the lines that it has.
local function choice_command(action, rows_of, label, what_of)
  return function(arguments)
    local words = table.concat(arguments, ' ')
    if words == '' then
      return offer(action, rows_of, label, what_of)
    end
    with_thread_to_change(function(active)
      choose(active, action, words:match('^[%w_-]*#%d[%d%-%.%x]*$') and { handle = words } or { text = words })
    end)
  end
end

commands.pin = choice_command('pin', function(preview)
  local rows = vim.list_extend(vim.list_extend({}, preview.shortened), preview.dropped)
  table.sort(rows, function(one, other)
    return one.seq > other.seq
  end)
  return rows
end, function(row)
  return ('#%d %s: %s'):format(row.seq, (row.kind:gsub('_', ' ')), format.line(row.excerpt, 90))
end, function(row)
  return { handle = row.handle }
end)

commands.drop = choice_command('drop', function(preview)
  return preview.lines
end, function(row)
  return ('%s: %s'):format((row.part:lower():gsub('_', ' ')), format.line(row.text, 90))
end, function(row)
  return { text = row.text }
end)

function commands.checkpoint()
  with_thread(function(active)
    ask('checkpoint/view', { thread_id = active.thread_id }, function(result)
      float.open({ title = ('checkpoint, %s tokens'):format(format.tokens(result.tokens)), text = result.text, filetype = 'markdown' })
    end)
  end)
end

local function say_no_compaction()
  say('this thread has no compaction of ours yet: :Longhaul compact')
end

--- Excerpts of the active thread's items, by line: one page, so only part of a long list.
local function with_beginnings(done)
  with_thread(function(active)
    ask('thread/items', { thread_id = active.thread_id, from_seq = 0, limit = 500 }, function(result)
      local beginnings = {}
      for _, row in ipairs(result.items) do
        beginnings[row.seq] = row.excerpt
      end
      done(beginnings)
    end)
  end)
end

local function show_dropped(receipt, beginnings)
  local entries, lines = {}, {}
  for _, what in ipairs({ 'dropped', 'shortened' }) do
    for _, entry in ipairs(receipt[what]) do
      table.insert(entries, entry)
      table.insert(lines, (' %-9s %-17s %6s  %s%s'):format(what, entry.kind:gsub('_', ' '), format.tokens(entry.tokens),
        entry.items > 1 and ('%d items: '):format(entry.items) or '', format.line(beginnings[entry.seq_first] or '', 70)))
    end
  end
  if #entries == 0 then
    return say('that compaction dropped nothing')
  end
  float.open({
    title = '<CR> shows what was dropped',
    lines = lines,
    columns = 120,
    on_enter = function(line)
      expand(entries[line].handle)
    end,
  })
end

function commands.dropped()
  with_thread(function(active)
    ask('compaction/list', { thread_id = active.thread_id, limit = 20 }, function(result)
      for _, row in ipairs(result.compactions) do
        if not row.undone_at then
          return ask('compaction/get', { compaction_id = row.compaction_id }, function(compaction)
            with_beginnings(function(beginnings)
              show_dropped(compaction.receipt, beginnings)
            end)
          end)
        end
      end
      say_no_compaction()
    end)
  end)
end

--- Undoes a compaction if the person agrees.
local function undo_if_confirmed(row)
  local question = ('Undo the compaction of %s (%s tokens)?'):format(format.ago(row.created_at), format.tokens(row.tokens.before))
  if vim.fn.confirm(question, '&Undo\n&Cancel', 2) ~= 1 then
    return
  end
  ask('compaction/undo', { compaction_id = row.compaction_id }, function(result)
    local words, command = undo.words(result)
    say(words)
    if command then
      vim.fn.setreg('"', command)
    end
  end)
end

--- Of the compaction that the daemon names: a view that was only printed may be newer.
function commands.undo()
  with_thread_to_change(function(active)
    ask_if_there('thread/bill', { thread_id = active.thread_id }, function(bill)
      for _, cost in ipairs(bill.compactions) do
        if cost.summary.compaction_id == bill.undo_next then
          return undo_if_confirmed(cost.summary)
        end
      end
      say_no_compaction()
    end)
  end)
end

function commands.expand(arguments)
  local handle = arguments[1] or vim.fn.expand('<cWORD>')
  thread.active(function(_, active)
    expand(handle, active and active.thread_id)
  end)
end

local function hits_view(title, hits, line_of, on_enter)
  if #hits == 0 then
    return say('nothing was found')
  end
  local lines = {}
  for _, hit in ipairs(hits) do
    table.insert(lines, line_of(hit))
  end
  float.open({ title = title, lines = lines, on_enter = function(line)
    on_enter(hits[line])
  end, columns = 120 })
end

function commands.search(arguments)
  local query = table.concat(arguments, ' ')
  if query == '' then
    return say(':Longhaul search WORDS', vim.log.levels.ERROR)
  end
  ask('thread/search', { query = query, limit = 30 }, function(result)
    hits_view('transcripts: ' .. query, result.hits, function(hit)
      return (' %-9s %-17s %s'):format(format.ago(hit.at):gsub(' ago', ''), hit.kind:gsub('_', ' '), format.line(hit.text, 86))
    end, function(hit)
      expand(hit.handle)
    end)
  end)
end

local function open_memory(path, line)
  client.request('memory/list', {}, function(problem, result)
    if problem then
      return complain(problem)
    end
    vim.cmd('edit ' .. vim.fn.fnameescape(result.root .. '/' .. path))
    vim.api.nvim_win_set_cursor(0, { math.min(line or 1, vim.api.nvim_buf_line_count(0)), 0 })
  end)
end

function commands.memory(arguments)
  local query = table.concat(arguments, ' ')
  if query == '' then
    return ask_if_there('memory/list', {}, function(result)
      hits_view('memory: <CR> opens', result.files, function(file)
        return (' %s%s'):format(file.path, file.edited and '  (edited)' or '')
      end, function(file)
        vim.cmd('close')
        open_memory(file.path)
      end)
    end)
  end
  ask_if_there('memory/search', { query = query }, function(result)
    hits_view('memory: ' .. query, result.hits, function(hit)
      return (' %s:%d  %s'):format(hit.path, hit.line_start, format.line(hit.text, 80))
    end, function(hit)
      vim.cmd('close')
      open_memory(hit.path, hit.line_start)
    end)
  end)
end

function commands.usage()
  with_thread(function(active)
    ask('context/usage', { thread_id = active.thread_id }, function(answer)
      -- Older daemons have only one of the two, or none.
      local function asked(method, done)
        if not client.has(method) then
          return done()
        end
        client.request(method, { thread_id = active.thread_id }, function(_, result)
          done(result)
        end)
      end
      asked('policy/evaluate', function(policy)
        asked('thread/bill', function(bill)
          float.open(usage.view(active, answer, policy, bill))
        end)
      end)
    end)
  end)
end

--- Starts a new thread of an agent, by default the thread's own; copies the command that resumes it.
local function continue_in(agent, thread_id)
  ask_if_there('thread/continue', { thread_id = thread_id, to = agent }, function(begun)
    local command = table.concat(begun.command, ' ')
    local cold = usage.cold(begun.resume)
    vim.fn.setreg(vim.fn.has('clipboard') == 1 and '+' or '"', command)
    local sizes = begun.compaction.tokens
    local checked = usage.checked(begun.checked)
    say(('%s%s%s → %s tokens; go on with (copied): %s'):format(
      cold and cold .. '; ' or '',
      checked and checked .. '; ' or '',
      format.tokens(sizes.before),
      format.tokens(sizes.after),
      command
    ))
  end)
end

commands['continue'] = function(arguments)
  with_thread_to_change(function(active)
    continue_in(arguments[1], active.thread_id)
  end)
end

--- Continues the only blocked thread, or the one that the person picks.
function commands.rescue(arguments)
  ask('thread/list', { blocked = true, limit = 40 }, function(result)
    local threads = result.threads
    if #threads == 0 then
      return say('no thread is blocked')
    end
    if #threads == 1 then
      return continue_in(arguments[1], threads[1].thread_id)
    end
    local label = function(row)
      return ('%s, %s: %s'):format(usage.blocked(row.blocked), format.ago(row.updated_at), format.line(thread.name(row), 80))
    end
    vim.ui.select(threads, { prompt = 'Continue a blocked thread', format_item = label }, function(row)
      if row then
        continue_in(arguments[1], row.thread_id)
      end
    end)
  end)
end

function commands.threads()
  ask('thread/list', { limit = 100 }, function(result)
    hits_view('threads: <CR> shows the checkpoint', result.threads, function(row)
      return (' %-9s %-6s %6s  %s'):format(format.ago(row.updated_at):gsub(' ago', ''), row.source, format.tokens(row.tokens), format.line(thread.name(row), 80))
    end, function(row)
      ask('checkpoint/view', { thread_id = row.thread_id }, function(view)
        float.open({ title = 'checkpoint', text = view.text, filetype = 'markdown' })
      end)
    end)
  end)
end

function commands.up()
  client.start(function(problem)
    if problem then
      return complain(problem)
    end
    say('the daemon runs')
  end)
end

commands.status = function()
  vim.cmd('checkhealth longhaul')
end

--- Runs a command; without arguments, shows the use of the context.
function M.run(words)
  local name = words[1] or 'usage'
  local command = commands[name]
  if not command then
    return say(('there is no command %s; try :Longhaul <Tab>'):format(name), vim.log.levels.ERROR)
  end
  command(vim.list_slice(words, 2))
end

function M.complete(lead, line)
  if line:match('^%s*%S+%s+%S+%s') then
    return {}
  end
  local names = vim.tbl_keys(commands)
  table.sort(names)
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
end

return M
