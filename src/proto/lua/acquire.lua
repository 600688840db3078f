-- acquire: takes all keys, or none. A key that is the client's own is extended.
-- Flags: FLAG_SHARED, FLAG_WAITS, FLAG_PROMOTED, FLAG_FAIR and FLAG_NUMBER (proto/request.h).

local token, ttl, woken_by, flags, reserve_ms, waiter_key, quarantine, wall, slots, held_ids = unpack(ARGV)

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
if foreign then
	local reply = refusal(foreign)
	reply[4] = run_id
	return add_other_slot(reply)
end
if no_vote then
	return no_vote
end
local fair = has(FLAG_FAIR)
-- waiters: the bits of the keys that have waiters. reserved[i]: see reservation().
local waiters, reserved = 0, {}
for i = 1, #KEYS do
	settle(i)
	local here = has_waiters(i)
	if fair and is_late(i) then
		wake_next_reader(i)
		return {CODE_RESERVED, call('PTTL', KEYS[i]), sub(readers[i], 1, 300), run_id, marks(i) + waiters + bit(i)}
	end
	-- The client is not late, so the wake-up is unclaimed: no waiter is left.
	if fair and here and readers[i] and not value[i] and not may_join(i) then
		try('DEL', queue_key(i))
		drop(i)
		here = false
	end
	if here then
		waiters = waiters + bit(i)
	end
	if not value[i] and not readers[i] then
		reserved[i] = reservation(i)
		if type(reserved[i]) == 'string' and not is_for_us(reserved[i]) and not is_unclaimed(i) then
			return add_other_slot({CODE_RESERVED, call('PTTL', reserved_key(KEYS[i])), '', run_id, marks(i) + waiters})
		end
		if here and not reserved[i] and not was_woken(i) and fair then
			reserve(i, reserve_ms, true)
			return {CODE_RESERVED, tonumber(reserve_ms), '', run_id, marks(i) + waiters}
		end
	end
end
local number = 0
if has(FLAG_NUMBER) then
	number = gone and raise() or last_number()
end
if broken then
	return {CODE_COUNTER, 0, broken, run_id, partial}
end
local unclaimed
for i = 1, #KEYS do
	if value[i] then
		extend(i, ttl)
	else
		put(i, ttl)
		if not shared and (was_woken(i) or (has(FLAG_WAITS) and i == tonumber(waiter_key))) then
			try('DEL', promoted_key(i))
		end
		if type(reserved[i]) == 'string' then
			try('DEL', reserved_key(KEYS[i]))
			drop(i)
			if not is_for_us(reserved[i]) then
				try('DEL', queue_key(i))
				unclaimed = unclaimed or i
				waiters = waiters - waiters % 2 ^ i + waiters % bit(i)
			end
		end
	end
end
return {CODE_YES, tonumber(ttl), unclaimed and reserved[unclaimed] or '', run_id,
	(unclaimed and (unclaimed - 1) * MARK_INDEX or 0) + waiters + unguarded, number}
