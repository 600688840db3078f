-- life: is this the life of the server that the mark of the restart guard is about (restart_guard.lua)?
-- Uses `is_plain` (plain.lua), and the beginning of `rest`: own_limit and wall.
-- include keys.lua

-- run_id: the beginning of the id of the server process; '': the client does not ask for it; nil: the request is not plain, the server
-- is no master, or the mark does not tell. In the text, the id of the history comes after 50 bytes at least. (A text has no
-- field `err`.)
local replication, mark, run_id = try('INFO', 'replication'), nil, nil
if is_plain and not replication.err and find(replication, '\nrole:m', 1, true) then
	mark = try('GET', GUARD_KEY)
	if mark and not mark.err and find(replication, 'replid:' .. sub(mark, -40), 50, true) then
		run_id = sub(mark, 1, RUN_ID_LEN)
	elseif find(rest, '^ ?0  ') then
		run_id = ''
	elseif find(rest, '^ ?0 0 ') then
		run_id = match(tostring(try('INFO', 'server')), 'run_id:(%x+)')
	end
end
