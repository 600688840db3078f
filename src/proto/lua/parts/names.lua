-- names: names of a lock's bookkeeping keys, and aliases that plain cases (plain.lua) do without.
-- include keys.lua

local min, keys = math.min, KEYS
local max, floor = math.max, math.floor
local to_number = tonumber

-- The bookkeeping key of a lock's key. The braces put both into one slot of a cluster.
local function beside(what, key)
	return 'redlock:' .. what .. ':{' .. key .. '}'
end
