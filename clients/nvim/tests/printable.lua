-- The gate, held to the specimens of the crate; and hostile words of a daemon in every view.

local printable = require('longhaul.printable')
local support = require('support')

--- A code as UTF-8.
local function utf8(code)
  if code < 0x80 then
    return string.char(code)
  elseif code < 0x800 then
    return string.char(0xc0 + math.floor(code / 64), 0x80 + code % 64)
  elseif code < 0x10000 then
    return string.char(0xe0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
  end
  local tail = string.char(0x80 + math.floor(code / 4096) % 64, 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
  return string.char(0xf0 + math.floor(code / 262144)) .. tail
end

--- Whether a text holds a hidden character; a line break is none where `has_lines`.
local function is_hiding(hidden, text, has_lines)
  for _, range in ipairs(hidden) do
    for code = range[1], math.min(range[2], range[1] + 64) do
      if not (has_lines and code == 10) and text:find(utf8(code), 1, true) then
        return true
      end
    end
  end
  return false
end

local function check_specimens(specimens)
  for _, row in ipairs(specimens.shown) do
    assert(printable.one_line(row[1]) == row[2], vim.inspect({ row, printable.one_line(row[1]) }))
    assert(printable.block(row[1]) == row[3], vim.inspect({ row, printable.block(row[1]) }))
  end
  for _, text in ipairs(specimens.kept) do
    assert(printable.one_line(text) == text and printable.block(text) == text, text)
  end
  for _, hostile in ipairs(specimens.hostile) do
    for _, text in ipairs({ hostile, 'é' .. hostile .. 'é', 'a' .. hostile .. '\nb' }) do
      assert(not is_hiding(specimens.hidden, printable.one_line(text)), vim.inspect(text))
      assert(not is_hiding(specimens.hidden, printable.block(text), true), vim.inspect(text))
      assert(not printable.row(text):find('\n'), vim.inspect(text))
    end
  end
  assert(vim.deep_equal(printable.HIDDEN, specimens.hidden), 'the ranges are those of the crate')
  assert(printable.one_line('a\155\255b') == 'a\\x9b\\xffb', 'bytes that are no text')
end

--- Shows what a hostile daemon says wherever a view, a notice or a report takes words of it.
local function check_views(specimens)
  local shown = {}
  local notify = vim.notify
  vim.notify = function(text)
    table.insert(shown, text)
  end
  local all = table.concat(specimens.hostile, 'x') .. '\n# forged\n'
  local float, failure = require('longhaul.float'), require('longhaul.failure')
  local item, thread = require('longhaul.item'), require('longhaul.thread')
  local usage = {
    window = { is_known = true, percent_used = 1, tokens = 9, effective = 9, trigger = 8 }, tokens = { used = 1, estimated = 1, overhead = 0 },
    by_kind = { [all] = 1 }, warnings = { { message = all } },
  }
  local views = {
    { title = all, lines = { all, ' ' .. all }, is_rows = 2 },
    { title = 'a', text = all },
    { title = 'a', lines = item.lines({ { type = 'message', role = all, content = all }, { type = all } }) },
    { title = 'a', lines = { thread.name({ title = all }) }, is_rows = 1 },
    require('longhaul.usage').view({ title = all }, usage),
  }
  for _, view in ipairs(views) do
    local buffer, window = float.open(view)
    local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
    local config = vim.api.nvim_win_get_config(window)
    table.insert(shown, table.concat(lines, ' '))
    table.insert(shown, config.title and vim.inspect(config.title[1][1]) or '')
    assert(not view.is_rows or #lines == view.is_rows, 'a name forges no line')
    vim.api.nvim_win_close(window, true)
  end
  table.insert(shown, (failure.text({ message = all, hint = all }):gsub('\n', ' ', 1)))
  require('longhaul.commands').run({ all })
  for _, text in ipairs(shown) do
    assert(not is_hiding(specimens.hidden, text), vim.inspect(text))
  end
  vim.notify = notify
  return #shown
end

return function()
  local specimens = vim.json.decode(support.read('printable/specimens.json'))
  check_specimens(specimens)
  return check_views(specimens) .. ' places'
end
