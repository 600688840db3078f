-- other_slot: a reply that refuses a semaphore's slot names another slot, and the time to wait.
-- Uses `woken_by`.
-- include queue.lua

-- Adds to the reply another slot that is free here and not reserved, or 0, and the time until the
-- first slot expires. Begins with the client's own slot, so that several clients get different ones.
local function add_other_slot()
	if slot == '' then
		return reply
	end
	local own, soonest = tonumber(sub(slot, 2)), -1
	for n = 0, limit - 1 do
		local i = (own + n - 1) % limit + 1
		local key = base .. '#' .. i
		local left = call('PTTL', key)
		if left == -2 then
			local id = try('GET', reserved_key(key))
			if type(id) ~= 'string' or id == woken_by or in_list('#' .. i) then
				reply[REPLY_SLOT], reply[REPLY_SOONEST] = i, 0
				return reply
			end
			left = call('PTTL', reserved_key(key))
		end
		if left >= 0 and (soonest < 0 or left < soonest) then
			soonest = left
		end
	end
	reply[REPLY_SLOT], reply[REPLY_SOONEST] = 0, soonest
	return reply
end
