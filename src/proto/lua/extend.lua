-- extend: sets a new TTL if the client holds all keys; changes nothing otherwise.

local token, ttl, flags, slots = unpack(ARGV)
local held_ids = ''

-- include parts/view.lua
-- include parts/restart_guard.lua
-- include parts/queue.lua

local err = read_keys()
if err then
	return err
end
sort_keys()
if foreign then
	return refusal(foreign)
end
if gone then
	return {CODE_GONE, 0, '', '', marks(gone)}
end
local waiters = 0
for i = 1, #KEYS do
	extend(i, ttl)
	if has_waiters(i) then
		waiters = waiters + bit(i)
	end
end
return {CODE_YES, tonumber(ttl), '', run_id, waiters}
