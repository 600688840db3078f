-- other_slot: refusals that name another slot of a semaphore, and the time to wait.
-- Uses `woken_by`; in a script for clients without reservations: ''.
-- include queue.lua

-- Adds to a refusal another slot that is free here and not reserved, if there is one, and the time
-- until the first slot expires. Begins with the client's own slot, so that several clients get
-- different ones.
local function add_other_slot()
	if slot == '' or own_limit == LIMIT_UNKNOWN then
		return
	end
	local own, soonest = to_number(sub(slot, 2)), -1
	for n = 0, limit - 1 do
		local i = (own + n - 1) % limit + 1
		local key = base .. '#' .. i
		local left = call('PTTL', key)
		if left == -2 then
			local id = reservation(key)
			if not id or is_for_us(id) then
				note(REPLY_SLOT, i)
				note(REPLY_SOONEST, 0)
				return
			end
			left = call('PTTL', reserved_key(key))
		end
		if left >= 0 and (soonest < 0 or left < soonest) then
			soonest = left
		end
	end
	note(REPLY_SOONEST, soonest)
end

-- The reply "slots are held with another limit than the client's", with the holder of the first of them; nil:
-- they are not, or the client has no limit. A record of a limit without a slot is out of date.
local function conflict()
	local recorded = recorded_limit()
	for i = 1, recorded ~= to_number(own_limit) and recorded or 0 do
		local v = try('GET', base .. '#' .. i)
		if v and not v.err then
			note(REPLY_LIMIT, recorded)
			return slot ~= '' and own_limit ~= LIMIT_UNKNOWN and answer(CODE_FOREIGN, call('PTTL', limit_key), v)
		end
	end
end

-- The reply "key i has another holder".
local function refuse(i)
	add_other_slot()
	return refusal(i)
end

-- The reply "key i is free, or readers hold it, but another waiter is first".
local function refuse_reserved(i)
	add_other_slot()
	return answer_about(i, CODE_RESERVED, max(call('PTTL', readers[i] and keys[i] or reserved_key(keys[i])), 0), readers[i])
end
