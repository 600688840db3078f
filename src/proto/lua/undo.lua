-- undo: deletes each of the client's keys after a failed attempt. Wakes no waiter, unless a hand-off
-- found the key in its way and left a reservation.

-- arguments
local flags, held_ids, waiter = '', '', ''

-- include parts/view.lua
-- include parts/queue.lua

releases = true

local err = read_keys()
if err then
	return err
end
reply[REPLY_PARTIAL] = 0
for i, key in ipairs(KEYS) do
	local id = is_ours(i) and remove(i) and reservation(key)
	if id then
		pass_on(i, id)
	end
end
return loss() or answer(CODE_YES, 0)
