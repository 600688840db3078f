-- queue: the waiters of a key in the order of their tickets, and the reservation for a waiter that
-- was woken.
-- Uses `token`, `waiter` (the client's name in the queue; '': it is no waiter) and the arguments of
-- semaphore.lua; some functions below name further arguments.
--
-- The bookkeeping keys of a key; all of them expire. The queue and the channels of a semaphore have the
-- limit at the end of their KEY, as {KEY}:3:
--   redlock:queue     a sorted set: the waiters by their tickets. The name of a waiter that would be
--                     a reader begins with 'r'
--   redlock:reserved  the reservation: the id with which a waiter was woken. Only that waiter may
--                     take the key, once it is free
-- The channels:
--   redlock:wake:{KEY}:WAITER  the waiter subscribes to it for as long as it waits, so a waiter
--                              without a subscription is dead. The message is the id and the slot of
--                              its reservation; '': join again, you are one of the first two waiters
--   redlock:queue:{KEY}        all waiters subscribe to it. The message says that the queue was lost
-- If the user has no right to these keys or channels, redis.pcall returns an error, and no waiter is
-- woken.
-- include semaphore.lua

-- nest
local own_id = sub(token, 1, TOKEN_ID_LEN)
-- The slot for which this script has woken its own client; '': the client was woken, but not for a
-- slot; nil: it was not woken.
local woken_for

local function lock_key(i)
	return slot == '' and keys[i] or base .. slot
end

local function queue_of(what, i)
	return slot == '' and beside(what, keys[i]) or beside(what, base) .. ':' .. limit
end

local function queue_key(i)
	return queue_of('queue', i)
end

local function reserved_key(key)
	return beside('reserved', key)
end

local function channel(i, name)
	return queue_of('wake', i) .. ':' .. name
end

local function is_reader(name)
	return sub(name, 1, 1) == 'r'
end

local function has_waiters(i)
	return try('EXISTS', queue_key(i)) == 1
end

-- The bits of the keys that have waiters at this node.
local function report_waiters()
	local bits = 0
	for i = 1, #keys do
		bits = bits + (has_waiters(i) and 2 ^ (i - 1) or 0)
	end
	waiters = bits
end

-- Returns the id of a key's reservation, or nothing. A reservation that does not expire within an hour
-- was not written by a script and is removed: it would keep all clients out.
local function reservation(key)
	local id = try('GET', reserved_key(key))
	if not id or id.err then
		return
	end
	local left = to_number(try('PTTL', reserved_key(key)))
	if left and (left < 0 or left > RESERVED_MAX_MS) then
		try('DEL', reserved_key(key))
		return
	end
	return id
end

-- Is the node's clock off? Then the node keeps no reservation: once the clock is set right, the
-- reservation would last for as long as the clock was off. Uses `quarantine` and `wall`.
local function is_skewed()
	return to_number(quarantine) > 0 and math.abs((clock(try) or wall) - wall) > SKEW_MAX_MS
end

-- Uses `reserve_ms`, `quarantine` and `wall`.
local function reserve(key, id)
	if not is_skewed() then
		try('SET', reserved_key(key), id, 'PX', reserve_ms)
	end
end

-- Returns whether the waiter was there to receive the message.
local function publish(i, name, message)
	return (to_number(try('PUBLISH', channel(i, name), message)) or 0) > 0
end

-- Tells the waiters that are now among the first two, because `removed` waiters have left the queue
-- before them.
local function nudge(i, removed)
	for _, name in ipairs(try('ZRANGE', queue_key(i), max(2 - removed, 0), 1)) do
		publish(i, name, '')
	end
end

-- Removes the dead waiters before the first living one. Returns that one, and how many were removed.
local function remove_dead(i)
	local removed = 0
	while true do
		local name = try('ZRANGE', queue_key(i), 0, 0)[1]
		local subscribers = name and try('PUBSUB', 'NUMSUB', channel(i, name))[2]
		if subscribers ~= 0 or try('ZREM', queue_key(i), name) ~= 1 then
			return subscribers and subscribers > 0 and name, removed
		end
		removed = removed + 1
	end
end

-- The first waiter of key i that is alive.
local function first(i)
	local name, removed = remove_dead(i)
	nudge(i, removed)
	return name
end

-- Takes the first waiter out of the queue and wakes it with an id; if it is a reader, the readers
-- that follow it, too. The script's own client gets no message. Returns whether a waiter was woken.
local function wake(i, id, only_readers)
	local woken, removed = 0, 0
	repeat
		local name, dead = remove_dead(i)
		removed = removed + dead
		if not name or (only_readers and not is_reader(name)) then
			break
		end
		if name == waiter then
			woken_for = slot
		elseif not publish(i, name, id .. slot) then
			break
		end
		try('ZREM', queue_key(i), name)
		woken = woken + 1
		only_readers = true
	until not is_reader(name) or woken == READERS_AT_ONCE
	nudge(i, removed + woken)
	return woken > 0
end

-- Passes on key i, which is free or held by readers. A free key is reserved for the waiter that is
-- woken, and with `is_far` in any case: for a waiter at another node. Readers that hold the key are
-- joined only by waiters that are readers. Returns false if the key is free and no waiter was woken.
-- Uses the arguments of reserve().
local function pass_on(i, id, is_far)
	local key = lock_key(i)
	local is_free = call('EXISTS', key) == 0
	local is_woken = wake(i, id, not is_free)
	if is_free and (is_woken or is_far) then
		reserve(key, id)
	elseif is_free then
		try('DEL', reserved_key(key))
	end
	return is_woken or not is_free
end

-- Takes the client out of the queue of key i.
local function leave_queue(i)
	local rank = waiter ~= '' and to_number(try('ZRANK', queue_key(i), waiter))
	if rank and try('ZREM', queue_key(i), waiter) == 1 and rank < 2 then
		nudge(i, 1)
	end
end

-- Is the reservation the client's own? Uses `woken_by`: the ids with which the client was woken, one
-- after the other.
local function is_for_us(id)
	return find(woken_by, id, 1, true)
end

-- Must the client leave key i to a waiter? Uses `flags` (FLAG_OVERRIDE, FLAG_FAIR), `woken_by` and
-- `waiter_key`: the key for which the client was woken. A client that runs within a reader does not
-- wait behind a writer that waits for that reader.
local function is_for_another(i)
	if value[i] or has(FLAG_OVERRIDE) then
		return
	end
	local id = not readers[i] and reservation(keys[i])
	if id then
		return not is_for_us(id)
	end
	if held[i] or not has(FLAG_FAIR) or (woken_by ~= '' and i == to_number(waiter_key)) then
		return false
	end
	local name = first(i)
	return name and name ~= waiter
end
