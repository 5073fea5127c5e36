-- Floating views: lines, a title, and the action of <CR> on a line. `q` and <Esc> close. Sanitizes all text.

local M = {}
local api = vim.api
local printable = require('longhaul.printable')

local function size(lines, wanted)
  local columns = math.max(20, math.min(vim.o.columns - 6, wanted.columns or 100))
  local width = 20
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(columns, width + 1)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return width, math.max(1, math.min(vim.o.lines - 6, height))
end

local function window_config(lines, view)
  local width, height = size(lines, view)
  local config = {
    relative = 'editor',
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.floor((vim.o.columns - width) / 2),
    style = 'minimal',
    border = 'rounded',
  }
  if vim.fn.has('nvim-0.9') == 1 then
    config.title, config.title_pos = ' ' .. printable.one_line(view.title) .. ' ', 'center'
  end
  return config
end

--- Opens a view: { title, lines or text, filetype?, marks? = { {line, from, to, group} }, on_enter?(line number),
--- columns? }. Each of `lines` stays one line, even if a name or title has line breaks; `text` is split into lines.
function M.open(view)
  local buffer = api.nvim_create_buf(false, true)
  local lines = view.text and vim.split(printable.block(view.text), '\n', { plain = true })
    or vim.tbl_map(printable.row, view.lines)
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].modifiable = false
  if view.filetype then
    vim.bo[buffer].filetype = view.filetype
  end
  local window = api.nvim_open_win(buffer, true, window_config(lines, view))
  -- Menu colors are too strong for reading in many color schemes.
  vim.wo[window].winhighlight = 'NormalFloat:Normal,FloatBorder:Comment'
  vim.wo[window].wrap = true
  vim.wo[window].linebreak = true
  vim.wo[window].cursorline = view.on_enter ~= nil
  local space = api.nvim_create_namespace('longhaul')
  for _, mark in ipairs(view.marks or {}) do
    api.nvim_buf_add_highlight(buffer, space, mark[4], mark[1] - 1, mark[2], mark[3])
  end
  for _, key in ipairs({ 'q', '<Esc>' }) do
    vim.keymap.set('n', key, '<Cmd>close<CR>', { buffer = buffer, nowait = true })
  end
  if view.on_enter then
    vim.keymap.set('n', '<CR>', function()
      view.on_enter(api.nvim_win_get_cursor(window)[1])
    end, { buffer = buffer, nowait = true })
  end
  return buffer, window
end

return M
