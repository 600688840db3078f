-- join: a waiter enters the queue. BLPOP follows in the same packet, so the waiter is blocked before
-- the server serves other clients.
-- Flags: FLAG_SHARED and FLAG_PROMOTED (proto/request.h).
--
-- If the key is free and its reservation is unclaimed, no other client waits: BLPOP takes the
-- wake-up, and the queue stays empty. Otherwise redlock:queue is set until the client must have
-- asked again. If no other waiter is known, a reservation for another waiter becomes the client's.
-- For a semaphore, the same holds for each slot; if no slot is free, the client asks again when the
-- first slot expires. A writer is promoted only if readers hold the key: a promoted writer that
-- never returned would keep the wake-up from the queue.

local token, ttl, flags, slots, held_ids = unpack(ARGV)

-- include parts/view.lua
-- include parts/queue.lua

local err = read_keys()
if err then
	return err
end
settle(1)
local v, is_open = value[1], readers[1] and not value[1]
local left = (v or is_open) and call('PTTL', KEYS[1]) or 0
local own, free, kept = tonumber(sub(slot, 2)), nil, nil
if slot == '' then
	if not v and is_unclaimed(1) then
		try('DEL', queue_key(1))
		return answer(CODE_FOREIGN, 0)
	end
else
	left = -1
	for n = 0, limit - 1 do
		local i = (own + n - 1) % limit + 1
		local key = base .. '#' .. i
		local lasts = call('PTTL', key)
		if lasts == -2 then
			local id = try('GET', reserved_key(key))
			if type(id) ~= 'string' then
				free = free or i
			elseif in_list('#' .. i) then
				try('DEL', queue_key(1))
				return answer(CODE_FOREIGN, 0)
			else
				kept = kept or {i, id}
				lasts = call('PTTL', reserved_key(key))
			end
		end
		if lasts >= 0 and (left < 0 or lasts < left) then
			left = lasts
		end
	end
end
local lasts = max(left, tonumber(ttl)) + 1000
local known = try('PTTL', queue_key(1))
if type(known) == 'table' then
	return known
end
local is_first = known < 0
report_waiters(1, true)
if known < lasts then
	known = try('SET', queue_key(1), '1', 'PX', lasts)
	if known.err then
		return known
	end
end
if readers[1] and has(FLAG_PROMOTED) then
	try('SET', promoted_key(1), '1', 'PX', lasts)
end
if slot ~= '' then
	if free then
		reply[REPLY_SLOT] = free
		return answer(CODE_YES, 0)
	end
	if kept and is_first then
		reply[REPLY_SLOT] = kept[1]
		return answer(CODE_YES, 0, kept[2])
	end
	if not v then
		return answer(CODE_RESERVED, left)
	end
end
if v then
	return answer_about(1, CODE_FOREIGN, left, sub(v, 1, 300))
end
if is_open and is_first then
	return answer(CODE_YES, 0)
end
if is_open then
	return answer_about(1, CODE_RESERVED, left, sub(readers[1], 1, 300))
end
local id = reservation(1)
id = type(id) == 'string' and id or ''
if is_first or id == '' then
	return answer(CODE_YES, 0, id)
end
return answer(CODE_RESERVED, call('PTTL', reserved_key(KEYS[1])))
