-- plain: the case of most requests: one key, no flags, no slots, and no other client waits.
-- Uses `flags` and `slots`.
--
-- A script answers this case before it comes to the parts for all others: making their functions takes most
-- of its time.
-- include keys.lua

-- Is the request plain? `value`: the value that the key must have; false: it must be free. A user without
-- the right to GET gets an error in the other parts.
local function is_plain(value)
	return #KEYS == 1 and flags == '' and (to_number(slots) or 2) < 2 and try('GET', KEYS[1]) == value
		and try('EXISTS', beside('queue', KEYS[1]), beside('reserved', KEYS[1])) == 0
end
