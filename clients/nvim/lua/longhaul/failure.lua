-- Failures of calls to the daemon, and what to do next.
--
-- A failure is { failure, kind, retry, message, hint, retry_after_ms, wire }. Branch on `retry` first.

local printable = require('longhaul.printable')

local M = {}

local ADVICE = {
  not_running = { 'reconnect', 'start it with :Longhaul up' },
  unusable = { 'never', 'longhaul doctor shows why' },
  no_socket = { 'never', 'set LONGHAUL_SOCKET' },
  too_old = { 'never', 'update this plugin, or start the daemon of its version' },
  too_new = { 'never', 'restart the daemon: longhaul down, then longhaul up' },
  too_large = { 'never', 'name the thread instead of sending its items' },
  broken = { 'reconnect', ':checkhealth longhaul says whether the daemon is running' },
  unreadable = { 'never', 'plugin and daemon differ; update both' },
  timeout = { 'backoff', ':checkhealth longhaul says what the daemon is doing' },
  cancelled = { 'never' },
  missing = { 'never', 'update the daemon' },
}

--- A failure to reach the daemon.
function M.new(failure, message, hint)
  local retry, advice = ADVICE[failure][1], ADVICE[failure][2]
  return { failure = failure, kind = failure, retry = retry, message = message, hint = hint or advice }
end

--- An error of the daemon.
function M.refused(wire)
  local data = type(wire.data) == 'table' and wire.data or {}
  return {
    failure = 'refused',
    kind = data.kind or 'refused',
    retry = data.retry or 'never',
    message = wire.message,
    hint = data.hint,
    retry_after_ms = data.retry_after_ms,
    wire = wire,
  }
end

--- A rejected handshake says which end is too old.
function M.of_handshake(failure)
  local data = failure.wire and failure.wire.data or {}
  local stale = type(data.detail) == 'table' and data.detail.disagreement
  if stale == 'client_too_old' then
    return M.new('too_old', 'this plugin is too old for the running daemon: ' .. failure.message)
  elseif stale == 'daemon_too_old' then
    return M.new('too_new', 'this plugin is too new for the running daemon: ' .. failure.message)
  end
  return failure
end

--- For a person, in one or two lines.
function M.text(failure)
  local hint = failure.hint and '\n' .. printable.one_line(failure.hint) or ''
  return 'longhaul: ' .. printable.one_line(failure.message) .. hint
end

return M
