-- restart_guard: a node that may have forgotten keys has no vote for a while.
-- Uses `quarantine` (ms; 0: no guard) and `wall` (the client's time of day in microseconds).
--
-- A node that restarted empty, was flushed, restored or failed over must not vote on locks that it
-- has forgotten. So it has a mark, {redlock}:node, with its run id, which is another one in each
-- life of a server (its uptime follows the wall clock, and does not tell of FLUSHALL), and, if it
-- was promoted, with the id of its data's history, which is another one after each promotion: its
-- data may be another master's, from before the lock, with our mark in them. The id alone tells
-- nothing: the first replica, or a backup, gets a new one, and so does a master that has been
-- without replicas for repl-backlog-ttl, for the same data; then the second id is cleared.
--
-- A node without that mark has no vote for as long as a lock can last; a client whose locks last
-- longer makes the quarantine longer. The mark says until when, by the node's clock and by the
-- clock of the client that asked: one of them alone may be stepped. The mark does not expire: a
-- clock that was stepped, and back, would take it away; nor is it believed for longer than it says:
-- a wrong clock may have written it. A node whose time of day is not the client's has no vote
-- either, and nothing is changed there. One script is one life: nothing comes between the look and
-- the vote.

-- Which life of which server this is; '' if the server does not tell.
local function read_run_id()
	local info = try('INFO', 'server')
	return type(info) == 'string' and match(info, 'run_id:(%x+)') or ''
end

local run_id = read_run_id()
-- MARK_UNGUARDED if the node cannot tell whether it forgot keys.
local unguarded = 0

-- Has the node no vote? Then answers the reply that says why.
local function guard()
	local needed = tonumber(quarantine)
	if needed == 0 then
		return
	end
	local time, mark = try('TIME'), try('GET', GUARD_KEY)
	if type(mark) == 'table' and find(mark.err, 'WRONGTYPE', 1, true) then
		mark = ''
	end
	if run_id == '' or time.err or type(mark) == 'table' then
		unguarded = MARK_UNGUARDED
		return
	end
	local history = try('INFO', 'replication')
	history = type(history) == 'string'
		and not find(history, 'role:master.*second_repl_offset:%-1')
		and match(history, 'master_replid:(%x+)') or '0'
	local node_ms, client_ms = time[1] * 1000 + floor(time[2] / 1000), floor(wall / 1000)
	local off = node_ms - client_ms
	if math.abs(off) > SKEW_MAX_MS then
		return {CODE_SKEWED, math.abs(off), off > 0 and 'ahead of' or 'behind', run_id, partial}
	end
	-- The quarantine: until `over` by the node's clock and `over_there` by the client's; it was
	-- given for `given` ms.
	local over, given, over_there, was = match(mark or '', '^' .. run_id .. ' (%d+) (%d+) (%d+) (%x+)$')
	if history ~= '0' and history ~= was then
		over, given, over_there = nil, nil, nil
	end
	if mark == run_id then
		-- 'doctor --admit' wrote it: no locks are forgotten.
		over, given, over_there = 0, 1, 0
	else
		over, over_there = tonumber(over or node_ms), tonumber(over_there or client_ms)
		given = min(tonumber(given or 0), max(needed, QUARANTINE_BELIEVED_MS))
		if given > 0 and node_ms >= over and client_ms >= over_there then
			return
		end
		over = min(over, node_ms + given)
		if over_there > client_ms + given + 60000 then
			over_there = client_ms + given
		end
		if needed > given then
			over, over_there, given = over + needed - given, over_there + needed - given, needed
		end
	end
	local text = string.format('%s %.0f %.0f %.0f %s', run_id, over, given, over_there, history)
	if text ~= mark and try('SET', GUARD_KEY, text).err then
		unguarded = MARK_UNGUARDED
		return
	end
	if over > node_ms or over_there > client_ms then
		return {CODE_QUARANTINE, max(over - node_ms, over_there - client_ms), '', run_id, partial}
	end
end
