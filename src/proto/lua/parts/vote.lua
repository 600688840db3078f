-- vote: the plain answer of the restart guard (restart_guard.lua).
-- Uses `quarantine` and `wall`.
-- include life.lua

-- True: the node has a vote: in this life of the server, its quarantine was over once. False: the guard decides.
local has_vote = run_id
if has_vote and quarantine ~= '0' then
	local t = try('TIME')
	has_vote = t[1] and math.abs(t[1] * 1000 + t[2] / 1000 - wall / 1000) < SKEW_MAX_MS
end
