-- keys: names of a lock's bookkeeping keys, and aliases of functions that all scripts use.
-- A script declares the arguments that a part uses before it includes the part.

local call, try, sub = redis.call, redis.pcall, string.sub
local find, match = string.find, string.match
local min = math.min
local max, floor = math.max, math.floor
local to_number, keys = tonumber, KEYS

-- The value of a key, '?' if it is no string, false if it is gone; the server's error if the user may not read it.
local function get(key)
	local v = try('GET', key)
	return type(v) == 'table' and find(v.err, 'WRONGTYPE') and '?' or v
end

-- The server's time in milliseconds, once it is known; false if `run` must not ask for it.
local now

local function clock(run)
	if not now then
		local t = run('TIME')
		now = t[1] and t[1] * 1000 + floor(t[2] / 1000)
	end
	return now
end

-- The bookkeeping key of a lock's key. The braces put both into one slot of a cluster.
local function beside(what, key)
	return 'redlock:' .. what .. ':{' .. key .. '}'
end
