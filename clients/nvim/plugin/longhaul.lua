-- The command; everything else is loaded when it is used.

if vim.g.loaded_longhaul then
  return
end
vim.g.loaded_longhaul = 1

vim.api.nvim_create_user_command('Longhaul', function(call)
  require('longhaul.commands').run(call.fargs)
end, {
  nargs = '*',
  desc = 'longhaul: compaction, checkpoints, search and memory of your coding agents',
  complete = function(lead, line)
    return require('longhaul.commands').complete(lead, line)
  end,
})
