-- hand_off: deletes each key that is the client's, reserves it for the first waiter, and wakes that
-- one. Treats each key on its own, whatever the others are.
-- Flags: FLAG_LEAVES, FLAG_PROMOTED, FLAG_GIVES_UP or FLAG_BREAKS (proto/request.h).
-- far: 2^(i - 1): others wait for key i, maybe at another node: reserve it here too.
--
-- Wakes also when the key is gone already: no other client wakes the waiters. Where the key has
-- another holder, maybe only for the moment that an attempt takes to fail, the reservation is left
-- for that holder to pass on; where no waiter is known, for the next client that asks, since that
-- key may also just expire. A waiter that leaves passes on the very reservation that it did not
-- use; of a semaphore's, whose slot after a blocked pop is not known, any that is claimed: to be
-- woken in vain costs less than a reservation. A client that gives up has a wake-up for those that
-- gave way to it, and no say in a reservation that a holder passed on: if its own key was in the
-- way of that, it tells of that one. Among readers, a client that leaves the queue, or got in from
-- it, wakes the next waiter. Which reader is the last one, each node sees for itself: so the
-- reservation is kept only where it wakes a waiter.

local token, reserve_ms, woken_by, flags, _, far, quarantine, wall, base, slots, held_ids = unpack(ARGV)

-- include parts/view.lua
-- include parts/queue.lua

local err = read_keys()
if err then
	return err
end
sort_keys()
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
	return {CODE_YES, 0, '', '', 0}
end
-- left: how long the keys would have lasted; -1: one did not expire.
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
partial = 0
if others then
	return refusal(others)
end
return {gone and CODE_GONE or CODE_YES, left, '', '', 0}
