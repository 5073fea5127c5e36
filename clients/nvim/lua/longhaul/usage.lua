-- How full a thread's window is, as lines and highlights of a floating view.

local format = require('longhaul.format')

local M = {}

local BAR_CELLS = 40
local CHART_ROWS = 8
local CHART_COLUMNS = 60
--- Beyond this many turns, the remaining room is more useful.
local TURNS_TOLD = 100

--- The daemon's forecast, or the room until the trigger.
function M.forecast(usage, policy)
  local forecast = policy and policy.forecast
  if policy and policy.decision and policy.decision.action == 'compact' then
    return 'compact now'
  elseif forecast and (forecast.turns_to_next_tier or TURNS_TOLD) < TURNS_TOLD then
    return ('may compact in ~%d turns'):format(forecast.turns_to_next_tier)
  elseif forecast and (forecast.turns_left or TURNS_TOLD) < TURNS_TOLD then
    return ('full in ~%d turns'):format(forecast.turns_left)
  end
  local trigger = usage.window.trigger
  if not trigger then
    return usage.window.is_known and 'automatic compaction is off' or "the model's window is not known"
  end
  local room = trigger - usage.tokens.used
  return room > 0 and format.tokens(room) .. ' until compaction' or 'compaction is due'
end

--- Describes a policy decision or a crossed limit; nil for other events.
function M.event(event)
  local data = event.data
  local function given(value)
    return value ~= nil and value ~= vim.NIL
  end
  local left = given(data.percent_remaining) and (', %d %% left'):format(data.percent_remaining) or ''
  if event.kind == 'policy_decided' then
    local tier = given(data.tier) and ' at ' .. data.tier:gsub('_', ' ') or ''
    return ('the policy decided: %s%s%s'):format(data.action:gsub('_', ' '), tier, left)
  elseif event.kind == 'limit_crossed' then
    return ('compaction limit reached: %s of %s tokens%s'):format(
      format.tokens(data.tokens), format.tokens(data.window), left)
  end
end

--- Why a thread cannot continue by itself.
function M.blocked(blocked)
  if blocked.cause == 'context_full' then
    return ('window full, %d times in a row'):format(blocked.failures)
  end
  return blocked.cause == 'compaction' and 'its agent could not compact it' or 'its newest turns failed'
end

--- Describes how the working tree differs from the thread's knowledge; nil if it was not checked.
function M.checked(checked)
  if not checked then
    return nil
  end
  local parts = { ('working tree: %d files unchanged'):format(checked.unchanged) }
  for _, part in ipairs({ { 'changed since', checked.changed }, { 'gone', checked.gone }, { 'suspect facts', checked.facts_suspect } }) do
    if #part[2] > 0 then
      table.insert(parts, part[1] .. ': ' .. table.concat(part[2], ', '))
    end
  end
  return table.concat(parts, '; ')
end

--- How full the window is, in percent; the used tokens if its size is unknown.
function M.fill(usage)
  local percent = usage.window.percent_used
  return percent and ('%d%%'):format(percent) or format.tokens(usage.tokens.used)
end

--- The highlight group for a percentage.
function M.group(usage)
  if not usage.window.trigger and not usage.window.is_known then
    return 'DiagnosticInfo'
  end
  local trigger = usage.window.trigger or usage.window.effective
  local share = usage.tokens.used / math.max(1, trigger)
  return share >= 1 and 'DiagnosticError' or share >= 0.8 and 'DiagnosticWarn' or 'DiagnosticInfo'
end

local function kinds(usage)
  local rows = {}
  for kind, tokens in pairs(usage.by_kind) do
    table.insert(rows, { (kind:gsub('_', ' ')), tokens })
  end
  table.sort(rows, function(a, b)
    return a[2] ~= b[2] and a[2] > b[2] or a[2] == b[2] and a[1] < b[1]
  end)
  return rows
end

--- The tokens at `columns` even places of the timeline, and the columns where it was compacted.
local function samples(timeline, columns)
  local points = timeline.points
  local values, compacted = {}, {}
  local first, last = points[1].seq, points[#points].seq
  local column_of = function(seq)
    return math.floor((seq - first) / math.max(1, last - first) * (columns - 1)) + 1
  end
  local at = 1
  for column = 1, columns do
    while at < #points and column_of(points[at + 1].seq) <= column do
      at = at + 1
    end
    values[column] = points[at].tokens
  end
  for _, step in ipairs(timeline.compactions) do
    if step.seq >= first and step.seq <= last then
      compacted[column_of(step.seq)] = true
    end
  end
  return values, compacted
end

--- The timeline as rows of blocks; the chart is as high as the window.
local function chart(usage)
  local timeline = usage.timeline
  if not timeline or #timeline.points < 2 then
    return {}
  end
  local values, compacted = samples(timeline, CHART_COLUMNS)
  local highest = math.max(usage.window.trigger or 1, unpack(values))
  local blocks = { '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█' }
  local rows = {}
  for row = CHART_ROWS, 1, -1 do
    local cells = {}
    for column, value in ipairs(values) do
      local eighths = math.floor(value / highest * CHART_ROWS * 8 + 0.5) - (row - 1) * 8
      cells[column] = eighths >= 1 and blocks[math.min(8, eighths)] or ' '
    end
    local label = row == CHART_ROWS and format.tokens(highest) or ''
    table.insert(rows, ('%8s ┤%s'):format(label, table.concat(cells)))
  end
  local marks = {}
  for column = 1, CHART_COLUMNS do
    marks[column] = compacted[column] and '▲' or '─'
  end
  table.insert(rows, ('%8s └%s'):format('0', table.concat(marks)))
  local count = #timeline.compactions
  local legend = count > 0 and ('▲ compacted (%d)'):format(count) or 'never compacted'
  table.insert(rows, ('%10s%d %s · %s'):format('', timeline.turns, timeline.turns == 1 and 'turn' or 'turns', legend))
  return rows
end

--- A span of time in its largest unit.
local function duration(ms)
  for _, unit in ipairs({ { 86400000, 'd' }, { 3600000, 'h' }, { 60000, 'min' }, { 1000, 's' } }) do
    if ms >= unit[1] then
      return ('%d %s'):format(math.floor(ms / unit[1]), unit[2])
    end
  end
  return ('%d ms'):format(ms)
end

--- The recorded cost of a compaction by the agent itself; never a guess.
local function agents_own(agent)
  if agent.source == 'unknown' then
    return "the agent's own: not known"
  end
  local parts = {}
  if agent.input_tokens then
    table.insert(parts, format.tokens(agent.input_tokens) .. ' tokens in')
  end
  if agent.output_tokens then
    table.insert(parts, format.tokens(agent.output_tokens) .. ' out')
  end
  if agent.duration_ms then
    table.insert(parts, duration(agent.duration_ms))
  end
  local place = agent.source == 'thread' and 'this thread' or 'this model'
  return ("the agent's own: %s (%s)"):format(table.concat(parts, ', '), place)
end

--- Our newest compaction that the agent used, and the agent's own, in one line each.
function M.bill(bill)
  local last = bill.compactions[#bill.compactions]
  if not last then
    return {}
  end
  local cost, after = last.summary.cost, last.after
  local requests = cost and cost.requests > 0 and ('%d requests, %s tokens'):format(cost.requests, format.tokens(cost.tokens))
  local lines = {
    ('last compaction: %s, %s'):format(requests or 'no request', duration(last.summary.duration_ms)),
    agents_own(bill.agent),
  }
  if after then
    local edit = after.edited and 'first edit after %d actions' or 'no edit in %d actions'
    table.insert(lines, (edit .. ', %d files read again'):format(after.actions, after.files_reread))
  end
  return lines
end

--- Both prices of continuing a thread with an expired cache; nil while the cache is warm.
function M.cold(resume)
  if not resume or not resume.is_cold then
    return nil
  end
  return ('cold cache (%s idle): resuming sends %s tokens uncached, :Longhaul continue about %s'):format(
    duration(resume.idle_ms),
    format.tokens(resume.history_tokens),
    format.tokens(resume.briefing_tokens)
  )
end

--- The whole view: { title, lines, marks }.
function M.view(thread, usage, policy, bill)
  local window, used = usage.window, usage.tokens.used
  local lines, marks = {}, {}
  local function add(line, group)
    table.insert(lines, line)
    if group then
      table.insert(marks, { #lines, 0, -1, group })
    end
  end
  add((' %s'):format(format.line(thread.title or thread.cwd or '', 68)), 'Title')
  if window.is_known then
    add(('%s▏ %d %%  %s of %s usable'):format(
      ' ' .. format.bar(window.percent_used / 100, BAR_CELLS),
      window.percent_used,
      format.tokens(used),
      format.tokens(window.effective)
    ), M.group(usage))
  else
    add((' %s tokens'):format(format.tokens(used)), M.group(usage))
  end
  add(' ' .. M.forecast(usage, policy), 'Comment')
  add('')
  for _, row in ipairs(kinds(usage)) do
    local share = row[2] / math.max(1, used)
    add((' %-22s %7s %3.0f %% %s'):format(row[1], format.tokens(row[2]), share * 100, format.bar(share, 24)))
  end
  local rows = chart(usage)
  if #rows > 0 then
    add('')
    for index, row in ipairs(rows) do
      add(' ' .. row, index <= CHART_ROWS and 'DiagnosticInfo' or 'Comment')
    end
  end
  for index, line in ipairs(bill and M.bill(bill) or {}) do
    if index == 1 then
      add('')
    end
    add(' ' .. line)
  end
  local cold = bill and M.cold(bill.resume)
  if cold then
    add(' ! ' .. cold, 'DiagnosticWarn')
  end
  for _, warning in ipairs(usage.warnings or {}) do
    add(' ! ' .. warning.message, 'DiagnosticWarn')
  end
  return { title = 'context use', lines = lines, marks = marks }
end

return M
