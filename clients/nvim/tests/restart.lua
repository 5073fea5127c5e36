-- What a person lives through: no daemon, one that is started on demand, one that restarts.

local client = require('longhaul.client')
local support = require('support')

return function()
  local daemon = support.daemon()
  client.options.may_start = false
  local _, absent = client.wait('thread/list', {}, 2000)
  assert(absent.failure == 'not_running' and absent.hint:match('Longhaul up'), vim.inspect(absent))

  client.options.may_start = true
  local list, problem = client.wait('thread/list', {})
  assert(list, vim.inspect(problem))
  client.options.may_start = false
  client.wait('daemon/shutdown', {})
  support.wait_for('the started daemon ends', function()
    return not client.is_connected()
  end)

  daemon:start()
  local thread = daemon.ingested()
  local kinds = {}
  client.listen(function(event)
    kinds[event.kind] = true
  end)
  client.wait('daemon/status', {})
  local instance = client.session().server.instance_id
  local digests, answered = {}, 0
  for _ = 1, 100 do
    client.request('checkpoint/view', { thread_id = thread }, function(failed, view)
      answered = answered + 1
      digests[failed and failed.message or view.digest] = true
    end)
  end
  daemon:stop('sigkill')
  daemon:start()
  support.wait_for('every request is answered', function()
    return answered == 100
  end)
  assert(#vim.tbl_keys(digests) == 1, vim.inspect(digests))
  assert(client.session().server.instance_id ~= instance)
  support.wait_for('the listener gets a gap', function()
    return kinds.gap
  end)

  local outcome
  local cancel = client.request('checkpoint/view', { thread_id = thread }, function(failed)
    outcome = failed and failed.failure
  end)
  cancel()
  assert(outcome == 'cancelled')
  client.close()
  daemon:stop()
end
