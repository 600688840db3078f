-- plain: the case of most requests: one key, no flags, no slots, and no other client waits.
-- Uses `flags` and `slots`.
--
-- A script answers this case before it comes to the parts for all others: making their functions takes most
-- of its time.
-- include keys.lua

-- The value of the key, '' if it is free; false: the request is not plain. A user without the right to GET gets
-- an error in the other parts.
local function plain_value()
	return #KEYS == 1 and flags == '' and (to_number(slots) or 2) < 2
		and try('EXISTS', beside('queue', KEYS[1]), beside('reserved', KEYS[1])) == 0
		and (try('GET', KEYS[1]) or '')
end
