-- extend: sets a new TTL if the client holds all keys; changes nothing otherwise. Replies how long the
-- keys last now.
-- Flags: FLAG_SHARED and FLAG_KEEPS (proto/request.h).

-- include parts/keys.lua
-- arguments
local held_ids = ''

-- include parts/identity.lua
-- include parts/plain.lua

if flags == '' and is_own(plain) and is_quiet() then
	call('PEXPIRE', keys[1], ttl)
	note(REPLY_RUN_ID, (ask_server()))
	return answer(CODE_YES, ttl)
end

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
note(REPLY_RUN_ID, (ask_server()))
return answer(CODE_YES, left)
