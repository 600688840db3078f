-- undo: deletes each of the client's keys after a failed attempt. Wakes no waiter, unless a hand-off
-- found the key in its way and left a reservation.

-- include parts/keys.lua
-- arguments
local flags, held_ids, waiter = '', '', ''

-- include parts/plain.lua

if plain == '' then
	return answer(CODE_GONE, '0')
end
if is_own(plain) and is_quiet() then
	call('DEL', keys[1])
	return answer(CODE_YES, '0')
end
if is_others(plain) then
	return refuse_plain(plain)
end

-- rest
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
return loss() or answer(CODE_YES, '0')
