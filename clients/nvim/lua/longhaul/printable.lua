-- Sanitizes untrusted text: transcripts, file names and models may contain characters that are invisible or that move
-- the text around them. All shown text passes one of these functions. Neutralized characters are shown as `\u{202e}` or
-- `\n`; colors are removed. Same rules as the crate `longhaul-printable`, tested with its specimens.

local M = {}

--- Ranges of invisible characters.
M.HIDDEN = {
  { 0x0, 0x1f }, { 0x7f, 0x9f },
  -- Soft hyphen, combining grapheme joiner, Arabic letter mark.
  { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c },
  -- Fillers that are shown as nothing.
  { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
  -- Zero-width space, direction marks, line and paragraph separators, overrides, isolates.
  { 0x200b, 0x200b }, { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
  { 0x3164, 0x3164 },
  -- Byte order mark, a filler, annotations, formats of shorthand and music, tags.
  { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
  { 0xe0000, 0xe0fff },
}

--- Blanks outside of ASCII that are not hidden.
local BLANKS = {
  { 0xa0, 0xa0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
}

local NAMES = { [9] = '\\t', [10] = '\\n', [13] = '\\r' }

local function is_in(ranges, code)
  for _, range in ipairs(ranges) do
    if code <= range[2] then
      return code >= range[1]
    end
  end
  return false
end

local function is_joiner(code)
  return code == 0x200c or code == 0x200d
end

local function is_selector(code)
  return code >= 0xfe00 and code <= 0xfe0f
end

local function is_script(code)
  return code ~= nil and code >= 0x80 and not is_in(BLANKS, code) and not is_in(M.HIDDEN, code) and not is_joiner(code)
end

--- The character at a byte and the byte after it; nil where there is none. What is no UTF-8 is a byte by itself,
--- with a negative code.
local function character(text, at)
  local first = text:byte(at)
  if not first or first < 0x80 then
    return first, at + 1
  end
  local length = first >= 0xf0 and first < 0xf5 and 4 or first >= 0xe0 and first < 0xf0 and 3 or first >= 0xc2 and first < 0xe0 and 2
  if not length or not text:find('^' .. ('[\128-\191]'):rep(length - 1), at + 1) then
    return -first, at + 1
  end
  local code = first % 2 ^ (7 - length)
  for byte = at + 1, at + length - 1 do
    code = code * 64 + text:byte(byte) % 64
  end
  return code, at + length
end

--- Whether a character may stay between its neighbors.
local function is_kept(before, code, after, keeps_lines)
  if code >= 0x20 and code <= 0x7e then
    return true
  elseif code == 9 or code == 10 then
    return keeps_lines
  elseif is_joiner(code) then
    -- Inside a word of a script that joins, or of a joined emoji.
    return is_script(before) and is_script(after)
  elseif is_selector(code) then
    -- One a character: a run of them carries hidden bytes.
    return before ~= nil and before > 0x20 and not is_in(M.HIDDEN, before) and not is_selector(before) and not is_joiner(before)
  end
  return code > 0 and not is_in(M.HIDDEN, code)
end

local function gate(text, keeps_lines)
  if not text:find(keeps_lines and '[^\t\n\32-\126]' or '[^\32-\126]') then
    return text
  end
  local out, at, before = {}, 1, nil
  while at <= #text do
    local code, next_at = character(text, at)
    local after = character(text, next_at)
    local color_end = code == 0x1b and select(2, text:find('^%[[%d;:]*m', next_at))
    if is_kept(before, code, after, keeps_lines) then
      table.insert(out, text:sub(at, next_at - 1))
    elseif color_end then
      next_at = color_end + 1
    elseif not (code == 13 and keeps_lines and after == 10) then
      table.insert(out, NAMES[code] or (code < 0 and '\\x%02x' or '\\u{%x}'):format(math.abs(code)))
    end
    at, before = next_at, code
  end
  return table.concat(out)
end

--- The text as one line: line breaks and tabs are shown as `\n`, `\r` and `\t`.
function M.one_line(text)
  return gate(text, false)
end

--- The text with its lines and tabs; `\r\n` ends a line like `\n`.
function M.block(text)
  return gate(text, true)
end

--- A row of a buffer: its tabs stay, a line break in it is shown.
function M.row(text)
  return (gate(text, true):gsub('\n', '\\n'))
end

return M
