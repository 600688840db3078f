-- extend: sets a new TTL if the client holds all keys; changes nothing otherwise.

local token, ttl, flags, slots = unpack(ARGV)
local held_ids = ''

-- include parts/view.lua
-- include parts/restart_guard.lua
-- include parts/queue.lua

local no = read_keys() or loss()
if no then
	return no
end
for i = 1, #KEYS do
	extend(i, ttl)
end
report_waiters()
reply[REPLY_RUN_ID] = run_id
return answer(CODE_YES, tonumber(ttl))
