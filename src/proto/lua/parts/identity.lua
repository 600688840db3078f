-- identity: the id of the server process.
-- include keys.lua

-- The hexadecimal value of a field of INFO. A search for its name alone is faster than a pattern.
local function field(info, name)
	local at = find(info, name)
	return at and match(info, '^:(%x+)', at + #name)
end

-- Returns the id of the server process, '' if the server does not tell; and the text with it.
local function ask_server()
	local info = tostring(try('INFO', 'server'))
	return field(info, 'run_id') or '', info
end
