-- restart_guard: a node that may have forgotten keys has no vote for a while.
-- Uses `quarantine` (ms; 0: no guard) and `wall` (the client's time of day in ms; '', '0': see life.lua). Sets items of
-- the reply, and no_vote. It is no function, which would take a node longer to make than to run.
--
-- A node that restarted empty, was flushed, restored or failed over must not vote on locks that it
-- has forgotten. A node that may vote therefore has a mark, the key {redlock}:node. FLUSHALL deletes
-- the mark. The mark contains the server's run id, which changes with every start. (The uptime would
-- not do: it follows the wall clock, and does not tell of FLUSHALL.)
--
-- If the server was promoted, the mark also contains the id of its replication history, which
-- changes with every promotion: the data may be those of another master, from before the lock, with
-- this server's mark in them. The history id counts only after a promotion, which sets a second id.
-- Without a promotion it changes for the same data, too: when a master gets its first replica or a
-- backup, or has been without replicas for repl-backlog-ttl, which also clears the second id.
--
-- If it was not promoted, the mark contains 0 and the id of its replication history, with the servers of which is known
-- that no start and no promotion keeps that id. A master with that id has the run id of the mark, and is not asked for it:
-- INFO of the server costs as much as all else here. Another id or another role proves nothing: the guard asks, as it
-- does where the mark has 0 alone.
--
-- A node without a valid mark has no vote for as long as a lock can last, the quarantine. A client
-- with locks that last longer makes the quarantine longer. The mark tells when the quarantine ends, by
-- the node's clock and by the clock of the client that asked: either clock may be stepped. The mark
-- does not expire: a clock that is stepped forwards and back would remove it. The quarantine never
-- lasts longer than the duration in the mark, because a wrong clock may have written the times. A
-- node with another time of day than the client's has no vote either, and nothing is changed there.
-- The server cannot restart between the check of the mark and the vote: both are in one script.
-- include life.lua
-- include read.lua
-- include reply.lua

-- The code, time and text of the reply that says why the node has no vote, or an error; nil: the node has a vote.
local no_vote
repeat
	local needed = to_number(quarantine)
	local mark = needed > 0 and get(GUARD_KEY)
	-- The quarantine: until `over` by the node's clock and `over_there` by the client's; it was
	-- given for `given` ms.
	local run_id, over, given, over_there, was = match(tostring(mark), '^(%x+) (%d+) (%d+) (%d+) (%x+)$')
	-- m: a master; s, r: a replica.
	local told = replication.err and '' or replication
	local role, replid = match(told, 'role:(.)'), match(told, 'master_replid:(%x+)')
	local history, info = was, nil
	if role ~= 'm' or not was or sub(was, 2) ~= replid then
		local marked = run_id
		info = wall ~= '' and tostring(try('INFO', 'server')) or ''
		run_id = match(info, 'run_id:(%x+)') or ''
		history = role == 'm' and find(told, 'd_repl_offset:-1', 1, true) and '0' or replid or '0'
		if marked ~= run_id or history ~= '0' and history ~= was then
			over, given, over_there, was = nil
		end
	end
	notes = ' ' .. REPLY_RUN_ID .. run_id
	-- A replica that takes writes loses them to its master's data.
	if role == 's' or role == 'r' then
		no_vote = {err = 'READONLY'}
		break
	end
	if needed == 0 then
		break
	end
	local node_ms, client_ms = clock(try), to_number(wall)
	if run_id == '' or not node_ms or mark and mark.err then
		note(REPLY_UNGUARDED, 1)
		break
	end
	local off = node_ms - client_ms
	if max(off, -off) > SKEW_MAX_MS then
		no_vote = {CODE_SKEWED, max(off, -off), off > 0 and 'ahead of' or 'behind'}
		break
	end
	-- Is it a server whose replication id tells of each start and each promotion?
	local version = history == '0' and replid and match(info, 'redis_version:(%d%.%d).-mode:st.-executable:/')
	if version and version > '6.1' and version < '9' then
		history = GUARD_LASTS .. replid
	end
	if mark == run_id then
		-- 'doctor --admit' wrote it: no locks are forgotten.
		over, given, over_there = 0, 1, 0
	else
		over, over_there = to_number(over or node_ms), to_number(over_there or client_ms)
		given = min(to_number(given or 0), max(needed, QUARANTINE_BELIEVED_MS))
		if given > 0 and (was == GUARD_OVER .. (replid or '') or node_ms >= over and client_ms >= over_there) then
			history = #history == 41 and GUARD_OVER .. sub(history, 2) or history
			if history ~= was then
				try('SET', GUARD_KEY, sub(mark, 1, -#was - 1) .. history)
			end
			break
		end
		over = min(over, node_ms + given)
		if over_there > client_ms + given + 60000 then
			over_there = client_ms + given
		end
		if needed > given then
			over, over_there, given = over + needed - given, over_there + needed - given, needed
		end
	end
	local text = ('%s %.0f %.0f %.0f %s'):format(run_id, over, given, over_there, history)
	if text ~= mark and try('SET', GUARD_KEY, text).err then
		note(REPLY_UNGUARDED, 1)
		break
	end
	local rest_ms = max(over - node_ms, over_there - client_ms)
	if rest_ms > 0 then
		no_vote = {CODE_QUARANTINE, rest_ms}
	end
until true
