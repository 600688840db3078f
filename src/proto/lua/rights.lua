-- rights: tries all commands of redlock's scripts on a key of doctor's own. Replies with the names of
-- the commands that are not permitted, and "~" if the key is not, separated by spaces.
--
-- Leaves no key without a TTL, whatever is permitted: RPUSH and ZADD run only after SET has put a
-- string with a TTL in their way.

local key, missing, is_key_missing = KEYS[1], {}, false

local function has(text, what)
	return string.find(text, what, 1, true)
end

local function try(...)
	local r = redis.pcall(...)
	local err = type(r) == 'table' and r.err
	if err and (has(err, 'NOPERM') or has(err, 'ACL failure') or has(err, 'user executing')) then
		if has(err, ' run ') then
			missing[#missing + 1] = string.lower((...))
		else
			is_key_missing = true
		end
	end
	return not err
end

try('GET', key)
try('GETRANGE', key, 0, 0)
try('EXISTS', key)
try('TYPE', key)
try('PTTL', key)
if try('SET', key, '1', 'PX', 1000) then
	try('RPUSH', key, '1')
end
try('LRANGE', key, 0, 0)
try('LREM', key, 0, '1')
try('RPOPLPUSH', key, key)
try('PEXPIRE', key, 1000)
try('DEL', key)
try('ZRANGEBYSCORE', key, 0, 0)
try('ZRANGE', key, 0, 0)
try('ZREM', key, '1')
try('ZREMRANGEBYSCORE', key, 0, 0)
try('HSCAN', key, 0)
try('ZSCAN', key, 0)
if try('SET', key, '1', 'PX', 1000) then
	try('ZADD', key, 1, '1')
end
try('DEL', key)
try('INFO', 'server')
try('TIME')
try('SCAN', '0', 'COUNT', 1)
if is_key_missing then
	missing[#missing + 1] = '~'
end
return table.concat(missing, ' ')
