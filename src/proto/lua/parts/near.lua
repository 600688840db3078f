-- near: are the clocks of the node and the client near, in plain cases (plain.lua)? Or has the client no restart guard?
-- Uses `wall`. If they are not, other parts compare them to a millisecond.
-- include keys.lua

local function is_near()
	return #wall < 2 or ((try('TIME')[1] or 0) * 1000 - wall) ^ 2 < (SKEW_MAX_MS - 1000) ^ 2
end
