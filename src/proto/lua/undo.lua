-- undo: deletes each of the client's keys after a failed attempt. Wakes no waiter, unless a hand-off
-- found the key in its way and left a reservation.

-- include parts/keys.lua
-- arguments

local is_plain = find(rest, '^0 ')
-- include parts/plain.lua

if value == true then
	return CODE_GONE .. ' 0 0\n'
end
-- include parts/others.lua

if is_others() then
	return (CODE_FOREIGN .. ' %d 0\n'):format(call('PTTL', key)) .. holder()
end

-- include parts/quiet.lua

if is_own() and is_quiet() then
	call('DEL', key)
	return CODE_YES .. ' 0 0\n'
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
