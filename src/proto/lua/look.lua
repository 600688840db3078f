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
sort_keys()
stay()
local no_vote = guard()
local number, waiters = last_number(), 0
for i = 1, #KEYS do
	if has_waiters(i) then
		waiters = waiters + bit(i)
	end
end
if foreign then
	local reply = refusal(foreign)
	reply[4], reply[5], reply[6] = run_id, reply[5] + waiters, number
	return add_other_slot(reply)
end
if not gone then
	local left = -1
	for i, key in ipairs(KEYS) do
		local lasts = mine_ends[i] and mine_ends[i] - clock(call) or call('PTTL', key)
		if lasts >= 0 and (left < 0 or lasts < left) then
			left = lasts
		end
	end
	return {CODE_FOREIGN, left, sub(value[1], 1, 300), run_id, waiters + (readers[1] and MARK_SHARED or 0), number}
end
if no_vote then
	return no_vote
end
for i, key in ipairs(KEYS) do
	local id = reservation(i)
	if is_late(i) then
		return {CODE_RESERVED, call('PTTL', key), sub(readers[i], 1, 300), run_id, marks(i) + waiters, number}
	end
	if not value[i] and not readers[i] and type(id) == 'string' and not is_for_us(id) and not is_unclaimed(i) then
		return add_other_slot({CODE_RESERVED, call('PTTL', reserved_key(key)), '', run_id, marks(i) + waiters, number})
	end
end
return {CODE_GONE, 0, '', run_id, partial + waiters, number}
