-- undo: deletes each of the client's keys after a failed attempt. Wakes no waiter, unless a hand-off
-- found the key in its way and left a reservation.

-- include parts/keys.lua
-- arguments

-- include parts/plain.lua

if plain == '' then
	return CODE_GONE .. ' 0 0\n'
end
if is_own and is_quiet() then
	call('DEL', key)
	return CODE_YES .. ' 0 0\n'
end
if is_others() then
	return CODE_FOREIGN .. ' ' .. call('PTTL', key) .. ' 0\n' .. sub(plain, 1, 300)
end

-- rest
local flags, held_ids, waiter = '', '', ''
-- include parts/view.lua
-- include parts/queue.lua

releases = true

local err = read_keys()
if err then
	return err
end
for i, key in ipairs(keys) do
	local id = is_ours(i) and remove(i) and reservation(key)
	if id then
		pass_on(i, id)
	end
end
return loss() or answer(CODE_YES, 0)
