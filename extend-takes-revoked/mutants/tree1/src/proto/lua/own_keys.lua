-- own_keys: looks for errors among redlock's bookkeeping keys, for doctor. Reads about 50,000 keys at
-- most. Replies with the most severe of: "broken KEY", a fencing counter that cannot be raised; "near
-- KEY", a counter that soon cannot be raised; "lasting N KEY", a bookkeeping key without a TTL and N
-- more like it; "", nothing found.

local expires = {queue = 1, reserved = 1, readers = 1}
local cursor, near, lasting, count = '0', nil, nil, 0
for _ = 1, 50 do
	local r = redis.call('SCAN', cursor, 'MATCH', 'redlock:*:{*', 'COUNT', 1000)
	cursor = r[1]
	for _, key in ipairs(r[2]) do
		local name = string.match(key, '^redlock:([%l-]+):{')
		if expires[name] and redis.pcall('PTTL', key) == -1 then
			lasting, count = key, count + 1
		end
		if name == 'fence' then
			local v = redis.pcall('GET', key)
			if type(v) == 'table' then
				v = string.find(v.err, 'WRONGTYPE', 1, true) and '?'
			end
			v = v and (tonumber(string.match(v, '^%d+$')) or 1 / 0) or 0
			if v >= FENCE_MAX then
				return 'broken ' .. key
			end
			if v > FENCE_MAX / 2 then
				near = 'near ' .. key
			end
		end
	end
	if cursor == '0' then
		break
	end
end
return near or (lasting and 'lasting ' .. count - 1 .. ' ' .. lasting or '')
