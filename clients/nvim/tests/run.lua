-- Runs the tests: nvim --headless -u NONE -i NONE -l is not there in 0.7, so
--   nvim --headless -u NONE -i NONE -c 'luafile clients/nvim/tests/run.lua'

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
vim.opt.runtimepath:append(vim.fn.fnamemodify(here, ':h'))
package.path = here .. '/?.lua;' .. package.path
vim.cmd('runtime plugin/longhaul.lua')
vim.o.columns, vim.o.lines = 120, 40

local failed = 0
for _, name in ipairs({ 'printable', 'restart', 'scripted', 'examples', 'views' }) do
  local began = vim.fn.reltime()
  local is_ok, result = xpcall(require(name), debug.traceback)
  require('longhaul.client').close()
  local seconds = vim.fn.reltimefloat(vim.fn.reltime(began))
  failed = failed + (is_ok and 0 or 1)
  print(('\n%s %-10s %5.1f s  %s'):format(is_ok and 'ok  ' or 'FAIL', name, seconds, result or ''))
end
vim.cmd(failed > 0 and 'cquit 1' or 'qall!')
