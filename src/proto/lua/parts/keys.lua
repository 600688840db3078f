-- keys: aliases of what all scripts use.
-- A script declares the arguments that a part uses before it includes the part.

local call, try, sub = redis.call, redis.pcall, string.sub
local find, match = string.find, string.match
local key = KEYS[1]
