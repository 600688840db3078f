-- extend: sets a new TTL if the client holds all keys; changes nothing otherwise. Replies how long the
-- keys last now.
-- Flags: FLAG_SHARED and FLAG_KEEPS (proto/request.h).

-- arguments
local held_ids = ''

-- include parts/restart_guard.lua
-- include parts/plain.lua

local value_now = tostring(plain_value())
if value_now == token or sub(value_now, 1, TOKEN_ID_LEN + 1) == token .. ':' then
	call('PEXPIRE', KEYS[1], ttl)
	reply[REPLY_RUN_ID] = run_id
	return answer(CODE_YES, to_number(ttl))
end

-- include parts/view.lua
-- include parts/queue.lua

report_waiters()
local no = read_keys() or loss()
if no then
	return no
end
local left = math.huge
for i = 1, #KEYS do
	left = min(left, extend(i, ttl, has(FLAG_KEEPS)))
end
record_limit(left)
reply[REPLY_RUN_ID] = run_id
return answer(CODE_YES, left)
