-- record: the record of --once-per: when the last run of a key's command started, by this node's clock, and what the
-- holder says about it. The value is START TEXT, with START in milliseconds. The record is no lock, and has no token.
-- The name is within the rights to the key's queue.
-- include view.lua
-- include read.lua

local function record_key()
	return beside('queue', keys[1]) .. ':done'
end

-- Returns the text of the record, '' if there is none, and how long ago its run started; a negative time: the record
-- does not say it, or the start is in the future. Returns the server's error if the user may not read it.
local function read_record()
	local v = get(record_key()) or ''
	if v.err then
		return v
	end
	local start, text = match(v, '^(%d+) (.+)')
	return sub(text or v, 1, 300), start and clock(call) - start or -1
end

-- Stores the record of a run that started `age` ago. Returns 1 if the node has it.
local function store_record(text, age, keep_ms)
	return try('SET', record_key(), clock(call) - age .. ' ' .. text, 'PX', keep_ms).ok and 1 or 0
end
