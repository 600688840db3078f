-- vote: the plain answer of the restart guard (restart_guard.lua), once life.lua has found the server's run id.
-- Uses `wall`.
-- include life.lua
-- include near.lua

-- Has the node a vote? In this life of the server, its quarantine was over once; the clocks are near. False: the guard
-- decides.
local function has_vote()
	return #wall < 2 or find(mark, ' ' .. GUARD_OVER, -42, true) and is_near()
end
