-- life: is this the life of the server that the mark of the restart guard is about (restart_guard.lua)?
-- include keys.lua

-- id: the id of the history of a master. run_id: the id of the server process; false: the mark does not tell. A user without
-- the right to INFO or to the mark gets texts in which nothing is found.
local replication, mark = tostring(try('INFO', 'replication')), tostring(try('GET', GUARD_KEY))
local at = find(replication, 'master_replid:', 1, true)
local id = at and find(replication, '\nrole:m', 1, true) and sub(replication, at + 14, at + 53)
local run_id = id and find(mark, GUARD_OVER .. id, 1, true) and sub(mark, 1, 40)
