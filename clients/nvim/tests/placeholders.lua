-- Placeholders of protocol/examples: filled into requests, matched in answers. The rules stand in its README.

local M = {}
M.__index = M

local function is_list(value)
  return type(value) == 'table' and (vim.islist or vim.tbl_islist)(value)
end

local function is_object(value)
  return type(value) == 'table' and (next(value) == nil or not is_list(value))
end

local function is(type_name)
  return function(value)
    return type(value) == type_name
  end
end

local TYPED = {
  ['$ANY'] = function()
    return true
  end,
  ['$NUMBER'] = is('number'),
  ['$FRACTION'] = is('number'),
  ['$TIME'] = is('number'),
  ['$BOOL'] = is('boolean'),
  ['$STRING'] = is('string'),
  ['$LIST'] = is_list,
  ['$OBJECT'] = is_object,
  ['$ITEM'] = is_object,
}

local function is_placeholder(value)
  return type(value) == 'string' and value:match('^%$[A-Z_]+$') ~= nil
end

function M.new()
  return setmetatable({ values = {} }, M)
end

function M:fill(value)
  if is_placeholder(value) then
    return assert(self.values[value], 'the placeholder ' .. value .. ' is not bound yet')
  end
  if type(value) ~= 'table' or next(value) == nil then
    return value
  end
  return vim.tbl_map(function(field)
    return self:fill(field)
  end, value)
end

function M:matches(name, actual)
  if TYPED[name] then
    return TYPED[name](actual)
  end
  if self.values[name] == nil then
    self.values[name] = actual
  end
  return vim.deep_equal(self.values[name], actual)
end

--- Where `actual` is not what was expected; nil where it is. A null may be absent.
function M:mismatch(expected, actual, at)
  at = at or ''
  local differs = ('at %s: expected %s, got %s'):format(at, vim.inspect(expected), vim.inspect(actual))
  if expected == vim.NIL then
    return (actual ~= nil and actual ~= vim.NIL) and differs or nil
  elseif actual == nil then
    return differs
  elseif is_placeholder(expected) then
    return not self:matches(expected, actual) and differs or nil
  elseif type(expected) ~= 'table' then
    return expected ~= actual and differs or nil
  elseif type(actual) ~= 'table' then
    return differs
  end
  local is_open = is_list(expected) and expected[#expected] == '$REST'
  if is_list(expected) and not is_open and #expected ~= #actual then
    return differs
  end
  for key, field in pairs(expected) do
    local found = field ~= '$REST' and self:mismatch(field, actual[key], at .. '/' .. key)
    if found then
      return found
    end
  end
end

return M
