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
stay()
local no_vote = guard()
if foreign then
	refusal(foreign)
	return add_other_slot()
end
if no_vote then
	return no_vote
end
local fair = has(FLAG_FAIR)
-- reserved[i]: see reservation().
local reserved = {}
for i = 1, #KEYS do
	settle(i)
	local here = has_waiters(i)
	if fair and is_late(i) then
		wake_next_reader(i)
		report_waiters(i, true)
		return answer_about(i, CODE_RESERVED, call('PTTL', KEYS[i]), sub(readers[i], 1, 300))
	end
	-- The client is not late, so the wake-up is unclaimed: no waiter is left.
	if fair and here and readers[i] and not value[i] and not may_join(i) then
		try('DEL', queue_key(i))
		drop(i)
		here = false
	end
	report_waiters(i, here)
	if not value[i] and not readers[i] then
		reserved[i] = reservation(i)
		if type(reserved[i]) == 'string' and not is_for_us(reserved[i]) and not is_unclaimed(i) then
			answer_about(i, CODE_RESERVED, call('PTTL', reserved_key(KEYS[i])))
			return add_other_slot()
		end
		if here and not reserved[i] and not was_woken(i) and fair then
			reserve(i, reserve_ms, true)
			return answer_about(i, CODE_RESERVED, tonumber(reserve_ms))
		end
	end
end
local number = has(FLAG_NUMBER) and (gone and raise() or last_number()) or 0
if broken then
	return answer(CODE_COUNTER, 0, broken)
end
reply[REPLY_FENCE] = number
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
				report_waiters(i, false)
			end
		end
	end
end
reply[REPLY_KEY] = unclaimed or 1
return answer(CODE_YES, tonumber(ttl), reserved[unclaimed])
