-- extend: sets a new TTL if the client holds all keys; changes nothing otherwise. Replies how long the
-- keys last now.
-- Flags: FLAG_SHARED and FLAG_KEEPS (proto/request.h).

-- include parts/keys.lua
-- arguments

-- include parts/plain.lua
-- include parts/life.lua

if run_id and is_own and flags == '' and is_quiet() then
	call('PEXPIRE', key, ttl)
	return CODE_YES .. ' ' .. ttl .. ' 0 ' .. REPLY_RUN_ID .. run_id .. '\n'
end

local held_ids = ''
-- include parts/view.lua
-- include parts/queue.lua

report_waiters()
local no = read_keys() or loss()
if no then
	return no
end
local left = math.huge
for i = 1, #keys do
	left = min(left, extend(i, ttl, has(FLAG_KEEPS)))
end
record_limit(left)
notes = notes .. ' ' .. REPLY_RUN_ID .. (run_id or match(tostring(try('INFO', 'server')), 'run_id:(%x+)') or '')
return answer(CODE_YES, left)
