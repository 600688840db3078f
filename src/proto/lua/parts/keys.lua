-- keys: names of a lock's bookkeeping keys, and aliases of functions that all scripts use.
-- A script declares the arguments that a part uses before it includes the part.

local call, try, sub = redis.call, redis.pcall, string.sub
local find, match = string.find, string.match
local min = math.min
local max, floor = math.max, math.floor
local to_number, keys = tonumber, KEYS

-- The bookkeeping key of a lock's key. The braces put both into one slot of a cluster.
local function beside(what, key)
	return 'redlock:' .. what .. ':{' .. key .. '}'
end
