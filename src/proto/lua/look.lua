-- look: reports the holder of the keys. Changes nothing, except that a waiter stays in the queue. A
-- key with an unclaimed reservation counts as free for every client.
-- Flags: FLAG_SHARED, FLAG_WAITS and FLAG_PROMOTED (proto/request.h).

local token, ttl, woken_by, flags, waiter_key, quarantine, wall, slots, held_ids = unpack(ARGV)

-- include parts/view.lua
-- include parts/restart_guard.lua
-- include parts/other_slot.lua
-- include parts/fence.lua

local err = read_keys()
if err then
	return err
end
stay()
local no_vote = guard()
reply[REPLY_FENCE] = last_number()
for i = 1, #KEYS do
	report_waiters(i, has_waiters(i))
end
if foreign then
	refusal(foreign)
	return add_other_slot()
end
if not gone then
	local left = -1
	for i, key in ipairs(KEYS) do
		local lasts = mine_ends[i] and mine_ends[i] - clock(call) or call('PTTL', key)
		if lasts >= 0 and (left < 0 or lasts < left) then
			left = lasts
		end
	end
	return answer_about(1, CODE_FOREIGN, left, sub(value[1], 1, 300))
end
if no_vote then
	return no_vote
end
for i, key in ipairs(KEYS) do
	local id = reservation(i)
	if is_late(i) then
		return answer_about(i, CODE_RESERVED, call('PTTL', key), sub(readers[i], 1, 300))
	end
	if not value[i] and not readers[i] and type(id) == 'string' and not is_for_us(id) and not is_unclaimed(i) then
		answer_about(i, CODE_RESERVED, call('PTTL', reserved_key(key)))
		return add_other_slot()
	end
end
return answer(CODE_GONE, 0)
