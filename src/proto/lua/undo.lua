-- undo: deletes each of the client's keys after a failed attempt. Wakes no waiter, unless a hand-off
-- found the key in its way and left a reservation.

local token, reserve_ms, quarantine, wall, slots = unpack(ARGV)
local flags, held_ids = '', ''

-- include parts/view.lua
-- include parts/queue.lua

local err = read_keys()
if err then
	return err
end
reply[REPLY_PARTIAL] = 0
for i = 1, #KEYS do
	if value[i] == token and remove(i) then
		local id = try('GET', reserved_key(KEYS[i]))
		if type(id) == 'string' then
			if has_waiters(i) then
				reserve(i, reserve_ms, true, id)
			else
				try('DEL', reserved_key(KEYS[i]))
			end
		end
	end
end
return loss() or answer(CODE_YES, 0)
