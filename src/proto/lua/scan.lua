-- scan: the next page of the node's locks: the strings that have one of our tokens as value, with the first
-- 300 bytes of the value and the number of connected waiters. If the page is too long, the reply has the old
-- cursor, and the client asks again with a smaller count. The reply is {cursor, 1 if the page was too long, page}.
-- complete: '1' if a key that the user may not read is an error; else the page leaves it out.
-- records: '1': the records of --once-per, too: an entry with the lock's key, how long ago its run began in place of
-- the remaining time, -1 in place of the waiters, and the record's text.

-- arguments

-- include parts/count.lua
-- include parts/read.lua

-- A slot's waiters are those of the semaphore.
local function queue_of(key)
	local base = match(key, '^(.*)#%d+$')
	local limit = base and try('GET', beside('limit', base))
	return type(limit) == 'string' and beside('queue', base) .. ':' .. limit or beside('queue', key)
end

local r = call('SCAN', cursor, 'COUNT', count, 'TYPE', 'string')
local page, length = {}, 0
for _, key in ipairs(r[2]) do
	local v = (complete == '1' and call or try)('GETRANGE', key, 0, 299)
	local lock, start, text = records == '1' and match(key, '^redlock:queue:{(.*)}:done$')
	if lock and type(v) == 'string' then
		start, text = match(v, '^(%d+) (.+)')
	end
	local age, waiters
	if start and clock(try) then
		key, v, age, waiters = lock, text, clock(try) - start, -1
	elseif type(v) == 'string' and #key <= REQUEST_KEY_MAX and sub(v, TOKEN_ID_LEN + 1, TOKEN_ID_LEN + 1) == ':'
			and not find(sub(v, 1, TOKEN_ID_LEN), '[^0-9a-f]') then
		age, waiters = call('PTTL', key), count_waiters(queue_of(key))
	end
	if age then
		local entry = string.format('%d %d %.0f %d\n', #key, #v, age, waiters) .. key .. v
		length = length + #entry
		page[#page + 1] = entry
	end
end
if length > 60000 then
	return {cursor, 1, ''}
end
return {r[1], 0, table.concat(page)}
