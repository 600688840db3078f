-- rights: tries all commands of redlock's scripts on a key of doctor's own. Replies with the names of
-- the commands that are not permitted, "~" if the key is not, and "&" if its channel is not, separated
-- by spaces. A refusal that names no command is about the key, or about the channel.
--
-- Leaves no key without a TTL, whatever is permitted: ZADD runs only after SET has put a string with a
-- TTL in its way.

local key, missing, is_key_missing, is_channel_missing = KEYS[1], {}, false, false

local function has(text, what)
	return string.find(text, what, 1, true)
end

local function try(...)
	local r = redis.pcall(...)
	local err = type(r) == 'table' and r.err
	if err and (has(err, 'NOPERM') or has(err, 'ACL failure') or has(err, 'user executing')) then
		if has(err, ' run ') then
			missing[#missing + 1] = string.lower((...))
		elseif has(err, 'channel') then
			is_channel_missing = true
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
	try('ZADD', key, 1, '1')
end
try('PEXPIRE', key, 1000)
try('DEL', key)
try('ZRANGE', key, 0, 0)
try('ZRANK', key, '1')
try('ZSCORE', key, '1')
try('ZCARD', key)
try('ZREM', key, '1')
try('ZRANGEBYSCORE', key, 0, 0)
try('ZREMRANGEBYSCORE', key, 0, 0)
try('HSCAN', key, 0)
try('ZSCAN', key, 0)
try('PUBLISH', 'redlock:wake:{' .. key .. '}:', '')
try('PUBSUB', 'NUMSUB', key)
try('INFO', 'server')
try('TIME')
try('SCAN', '0', 'COUNT', 1)
if is_key_missing then
	missing[#missing + 1] = '~'
end
if is_channel_missing then
	missing[#missing + 1] = '&'
end
return table.concat(missing, ' ')
