-- Formats numbers and times.

local printable = require('longhaul.printable')

local M = {}

--- Tokens, to three digits.
function M.tokens(number)
  for _, unit in ipairs({ { 1e9, 'G' }, { 1e6, 'M' }, { 1e3, 'k' } }) do
    local scaled = number / unit[1]
    if scaled >= 1 then
      return (scaled < 100 and '%.1f%s' or '%.0f%s'):format(scaled, unit[2])
    end
  end
  return ('%d'):format(number)
end

--- How long ago a time in Unix milliseconds is.
function M.ago(at)
  local seconds = math.max(0, os.time() - math.floor(at / 1000))
  for _, unit in ipairs({ { 86400, 'd' }, { 3600, 'h' }, { 60, 'min' } }) do
    if seconds >= unit[1] then
      return ('%d %s ago'):format(math.floor(seconds / unit[1]), unit[2])
    end
  end
  return 'just now'
end

--- A bar of `cells` cells of which `share` (0 to 1) is full, to an eighth of a cell.
function M.bar(share, cells)
  local eighths = math.floor(math.max(0, math.min(1, share)) * cells * 8 + 0.5)
  local full, rest = math.floor(eighths / 8), eighths % 8
  local part = rest > 0 and ({ '▏', '▎', '▍', '▌', '▋', '▊', '▉' })[rest] or ''
  return ('█'):rep(full) .. part .. (' '):rep(cells - full - (rest > 0 and 1 or 0))
end

--- One line of a text, cut to a number of columns.
function M.line(text, columns)
  local line = printable.one_line(vim.trim((text or ''):gsub('%s+', ' ')))
  if vim.fn.strdisplaywidth(line) <= columns then
    return line
  end
  return vim.fn.strcharpart(line, 0, columns - 1) .. '…'
end

return M
