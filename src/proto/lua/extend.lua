-- extend: sets a new TTL if the client holds all keys; changes nothing otherwise. Replies how long the
-- keys last now and, with FLAG_KEEPS, the value of the first one.
-- Flags: FLAG_SHARED and FLAG_KEEPS (proto/request.h).

-- include parts/keys.lua
-- arguments

-- The client has got the server's run id on this connection, and does not ask for it.
local ttl = match(rest, '^ 0 (%d+) $')
local is_plain = ttl
-- include parts/plain.lua

if is_own() then
	call('PEXPIRE', key, ttl)
	return CODE_YES .. ' ' .. ttl .. (try('EXISTS', 'redlock:queue:{' .. key .. '}') == 1 and ' 1\n' or ' 0\n')
end

-- rest
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
if wall ~= '' then
	notes = notes .. ' ' .. REPLY_RUN_ID .. (match(tostring(try('INFO', 'server')), 'run_id:(%x+)') or '')
end
return answer(CODE_YES, left, has(FLAG_KEEPS) and value[1])
