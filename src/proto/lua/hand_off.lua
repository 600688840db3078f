-- hand_off: deletes each of the client's keys, reserves it for the first waiter, and wakes that
-- waiter. Treats each key independently of the others.
-- Flags: FLAG_LEAVES, FLAG_PROMOTED, FLAG_GIVES_UP or FLAG_BREAKS (proto/request.h).
-- far: the bits of the keys that have waiters, maybe at another node: they are reserved here too.
--
-- A key that is gone already is reserved, too: no other client wakes its waiters. A key that another
-- client has, maybe only until its attempt fails, is reserved for that client to pass on; if no
-- waiter is known, with an unclaimed wake-up, for the next client that asks, since the key may also
-- just expire.
--
-- FLAG_LEAVES: a waiter passes on the reservation that it did not use. A waiter of a semaphore that
-- leaves while BLPOP is blocked does not know its slot, and passes on every reservation that was
-- claimed: waking a waiter in vain costs less than losing a reservation.
--
-- FLAG_GIVES_UP: a client that never held the lock wakes the rivals that gave way to it, but does
-- not replace the reservation of a holder. If its own key was in the way of the holder's hand-off,
-- it passes the holder's reservation on.
--
-- Readers: a client that leaves the queue, or that joined the readers from it, wakes the next
-- waiter. Each node decides for itself which reader is the last one, so a reservation is kept only
-- if it wakes a waiter.

local token, reserve_ms, woken_by, flags, far, quarantine, wall, slots = unpack(ARGV)
local held_ids = ''

-- include parts/view.lua
-- include parts/queue.lua

local err = read_keys()
if err then
	return err
end
reply[REPLY_PARTIAL] = 0
local leaves, gives_up = has(FLAG_LEAVES), flags == FLAG_GIVES_UP
if slot ~= '' and leaves then
	local used, any = slot, slot == '#0'
	for i = 1, has_waiters(1) and limit or 0 do
		slot = '#' .. i
		local key = base .. slot
		local id = try('GET', reserved_key(key))
		if (any or slot == used) and call('EXISTS', key) == 0 and not in_list(slot) then
			reserve(1, reserve_ms, true, type(id) == 'string' and id or nil)
		end
	end
	return answer(CODE_YES, 0)
end
-- left: how long the keys would have lasted; -1: a key had no TTL.
local left, others = 0, nil
for i, key in ipairs(KEYS) do
	local v = value[i]
	local is_far = far % 2 ^ i >= bit(i)
	local id = try('GET', reserved_key(key))
	id = type(id) == 'string' and id
	if has(FLAG_PROMOTED) then
		try('DEL', promoted_key(i))
	end
	if leaves and readers[i] then
		wake_next_reader(i)
	elseif mine[i] then
		left = max(left, mine_ends[i] - clock(call))
		if remove(i) then
			if has_waiters(i) then
				reserve(i, reserve_ms, true)
			else
				try('DEL', reserved_key(key))
			end
		end
	elseif v and not is_ours(i) and not (is_string[i] and flags == FLAG_BREAKS and sub(v, 1, 300) == token) then
		others = others or i
		if flags == '' or (gives_up and not id) then
			reserve(i, reserve_ms, not is_far and not has_waiters(i))
		end
	else
		if v then
			local lasts = call('PTTL', key)
			remove(i)
			left = (lasts < 0 or left < 0) and -1 or max(left, lasts)
		end
		local here = has_waiters(i)
		if here or is_far then
			if v or not id or not gives_up then
				reserve(i, reserve_ms, here, (leaves or gives_up) and id)
			end
		elseif v then
			try('DEL', reserved_key(key))
		end
	end
end
if others then
	return refusal(others)
end
return answer(gone and CODE_GONE or CODE_YES, left)
