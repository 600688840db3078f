-- break: deletes a lock of another program, which is a hash or a sorted set with a TTL. Compares the
-- lock with its description, as the user saw it: the type and the members' names. The key is deleted
-- only if it still has that description.
--
-- Redisson's lock is a hash, Symfony's a sorted set; the names in both are the holders'. A holder
-- that extends its lock changes no name. A key without a TTL is no lock, and a key with more names
-- than one SCAN returns is data: the description of such a key has no names, and it is not deleted.

local description = unpack(ARGV)

-- include parts/reply.lua

local key, names = KEYS[1], {}
local kind, left = redis.call('TYPE', key).ok, redis.call('PTTL', key)
local scan = ({['hash'] = 'HSCAN', ['zset'] = 'ZSCAN'})[kind]
if left == -2 then
	return answer(CODE_GONE, 0)
end
if scan and left >= 0 then
	local r = redis.call(scan, key, '0', 'COUNT', '64')
	if r[1] == '0' then
		for i = 1, #r[2], 2 do
			names[#names + 1] = r[2][i]
		end
	end
end
table.sort(names)
local v = '(' .. kind .. ')'
for _, name in ipairs(names) do
	v = v .. ' ' .. name
end
if #v > 300 then
	v = string.sub(v, 1, 250) .. '... ' .. redis.sha1hex(v)
end
if #names > 0 and v == description then
	redis.call('DEL', key)
	return answer(CODE_YES, 0)
end
return answer(CODE_FOREIGN, left, v)
