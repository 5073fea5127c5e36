-- History items as text, for reading.

local M = {}

local function content(parts)
  if type(parts) == 'string' then
    return parts
  end
  local texts = {}
  for _, part in ipairs(parts or {}) do
    table.insert(texts, part.text or ('[%s]'):format(part.type or 'part'))
  end
  return table.concat(texts, '\n')
end

local SHOW = {
  message = function(item)
    return item.role or 'message', content(item.content)
  end,
  function_call = function(item)
    return 'call ' .. (item.name or ''), item.arguments
  end,
  custom_tool_call = function(item)
    return 'call ' .. (item.name or ''), item.input
  end,
  function_call_output = function(item)
    local output = item.output
    return 'output', type(output) == 'table' and content(output.content or output) or output
  end,
  reasoning = function(item)
    return 'reasoning', content(item.summary)
  end,
}
SHOW.custom_tool_call_output = SHOW.function_call_output

--- The lines of some items, each under a heading.
function M.lines(items)
  local lines = {}
  for _, item in ipairs(items) do
    local heading, text
    if SHOW[item.type] then
      heading, text = SHOW[item.type](item)
    end
    if type(text) ~= 'string' or text == '' then
      heading, text = item.type or 'item', vim.json.encode(item)
    end
    table.insert(lines, '── ' .. heading)
    vim.list_extend(lines, vim.split(text, '\r?\n'))
    table.insert(lines, '')
  end
  return lines
end

return M
