-- hand_off: deletes each of the client's keys and passes it on: reserves it for the first waiter, and
-- wakes that waiter. The client leaves the queue. Treats each key independently of the others.
-- Flags: FLAG_LEAVES, FLAG_GIVES_UP, FLAG_BREAKS or FLAG_TELLS (proto/request.h).
-- woken_by: the ids of the client's reservations.
-- far: the bits of the keys that have waiters, maybe at another node: they are reserved here too.
--
-- A key that is gone already is passed on, too, unless it is reserved for another client: no other
-- client wakes its waiters. A key that another client has, maybe only until its attempt fails, is
-- reserved for that client to pass on.
--
-- The reply has the value of the first key, unless the request is a plain one: a client that knows only
-- the id of its token learns from it with which nodes the lock was acquired.
--
-- FLAG_LEAVES: a waiter passes on the reservation that it did not use, under the same id. It deletes
-- no key: the client may hold the lock.
--
-- FLAG_GIVES_UP: a client that never held the lock wakes the rivals that gave way to it, but does
-- not replace the reservation of a holder. If its own key was in the way of the holder's hand-off,
-- it passes the holder's reservation on.
--
-- record_age, record, keep_ms: only with --once-per: how long ago the run started, what the record says about it, and
-- how long the node keeps the record.
--
-- Readers: a client that leaves the queue or the readers wakes the next waiters that are readers. Each
-- node decides for itself which reader is the last one, so the last one reserves the key only if it
-- wakes a waiter.

-- include parts/keys.lua
-- arguments

local is_plain = find(rest, '^ 0 [01]  ')
-- include parts/plain.lua
-- include parts/quiet.lua
-- include parts/near.lua

local wall, reserve_ms, quiet
if is_own() then
	quiet = is_quiet()
	if quiet and find(rest, '^ 0 0') then
		call('DEL', key)
		return CODE_YES .. ' 0 0\n'
	end
	-- This client is in no queue, and does not know its id there.
	wall, reserve_ms = match(rest, '^ 0 .   (%d*) %d+ (%d+)  ')
end
-- A writer is the first in the queue here, or clients wait at another node.
if wall and (#wall < 2 or is_near()) then
	local wake, name = 'redlock:wake:{' .. key .. '}:', not quiet and try('ZRANGE', queue, '0', '0')[1]
	local is_woken = name and find(name, '^w') and (tonumber(try('PUBLISH', wake .. name, token)) or 0) > 0
	if is_woken or not name and find(rest, '^ 0 1') then
		call('DEL', key)
		if is_woken then
			try('ZREM', queue, name)
			name = try('ZRANGE', queue, '1', '1')[1]
			if name then
				try('PUBLISH', wake .. name, '')
			end
		end
		try('SET', reserved, token, 'PX', reserve_ms)
		return CODE_YES .. ' 0 0\n'
	end
end

-- rest
local held_ids = ''
-- include parts/view.lua
-- include parts/queue.lua
-- include parts/record.lua

-- The next holder finds the record. It says nothing about the key, which may be gone, or another client's.
if record_age ~= '' then
	note(REPLY_RANK, store_record(record, record_age, keep_ms))
end
releases = true

local err = read_keys()
if err then
	return err
end
local leaves, gives_up = has(FLAG_LEAVES), has(FLAG_GIVES_UP)

local function may_delete(i)
	return is_ours(i) and not leaves
		or has(FLAG_BREAKS) and value[i] and is_string[i] and sub(value[i], 1, 300) == token
end

-- left: with FLAG_TELLS, how long the keys would have lasted; -1: a key had no TTL.
local left, others = 0, nil
for i, key in ipairs(keys) do
	local reserved_id, is_far = reservation(key), far % 2 ^ i >= 2 ^ (i - 1)
	local id = (leaves or gives_up) and reserved_id or own_id
	leave_queue(i)
	if may_delete(i) then
		local lasts = has(FLAG_TELLS) and time_left(i) or 0
		left = (lasts < 0 or left < 0) and -1 or max(left, lasts)
		remove(i)
		pass_on(i, id, is_far and not mine[i])
	elseif readers[i] then
		others = others or i
		pass_on(i, own_id)
	elseif value[i] then
		others = others or i
		local reserves = (find(flags, '^' .. FLAG_TELLS .. '?$') or (gives_up and not reserved_id)) and (is_far or has_waiters(i))
		if reserves then
			reserve(key, own_id)
		end
		-- Another program wakes no waiter when it releases the key here.
		if (reserves or (leaves and reserved_id and is_for_us(reserved_id)))
			and not find(value[i], '^' .. TOKEN_NINES) then
			wake(i, id)
		end
	elseif (not reserved_id or is_for_us(reserved_id)) and not pass_on(i, id, is_far) then
		-- The node may have lost its queue, too: waiters join again.
		try('PUBLISH', queue_key(i), '')
	end
end
return others and refusal(others) or answer(gone and CODE_GONE or CODE_YES, left, value[1])
