-- keys: names of the keys beside a lock's key, and aliases of functions that all scripts use.
-- A script that includes a part declares the arguments that the part uses before that.

local call, try = redis.call, redis.pcall
local sub, find = string.sub, string.find
local match = string.match
local min = math.min
local max, floor = math.max, math.floor

-- The bookkeeping key of a lock's key. The braces put both into one slot of a cluster.
local function beside(what, key)
	return 'redlock:' .. what .. ':{' .. key .. '}'
end

-- In `marks` of a reply, key i is the bit 2^(i - 1).
local function bit(i)
	return 2 ^ (i - 1)
end
