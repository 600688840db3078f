-- near: are the clocks of the node and the client near, in plain cases (plain.lua)? If not, other parts compare them to a
-- millisecond. Uses `wall`, which a client without restart guard does not send (#wall < 2).
-- include keys.lua

local function is_near()
	return ((try('TIME')[1] or 0) * 1000 - wall) ^ 2 < NEAR_MS ^ 2
end
