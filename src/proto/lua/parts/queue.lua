-- queue: waiters of a key, blocked on one node in order of arrival, and the reservation for the
-- first of them.
-- Uses `token` and the arguments of semaphore.lua; some functions below name further arguments.
--
-- The bookkeeping keys of a key; all of them expire:
--   redlock:queue          a client waits at this node
--   redlock:wake           the list that waiters block on; the server serves them in order of
--                          arrival. Its only element is the wake-up: the id of the reservation
--   redlock:reserved       the reservation, by the id of the token that was released: the waiter that
--                          was woken with this id may take the key. If the wake-up is still in the
--                          list, no waiter was there to take it: the reservation is unclaimed
--   redlock:promoted       a writer was woken and found readers: the promoted writer. It is next in
--                          any case: it blocks on redlock:wake, and first of all on
--   redlock:promoted-wake  a list like redlock:wake
-- If the user has no right to these keys, redis.pcall returns an error, and no waiter is woken.
-- include semaphore.lua

local function queue_key(i)
	return beside('queue', slot == '' and KEYS[i] or base)
end

local function wake_key(i)
	return beside('wake', slot == '' and KEYS[i] or base)
end

local function reserved_key(key)
	return beside('reserved', key)
end

local function promoted_key(i)
	return beside('promoted', KEYS[i])
end

local function promoted_wake_key(i)
	return beside('promoted-wake', KEYS[i])
end

local function has_waiters(i)
	return try('EXISTS', queue_key(i)) == 1
end

-- Sets the bit of key i among the reply's waiters.
local function report_waiters(i, any)
	local bits = reply[REPLY_WAITERS]
	reply[REPLY_WAITERS] = bits - bits % 2 ^ i + bits % bit(i) + (any and bit(i) or 0)
end

-- Returns the id of key i's reservation, which is the id of the token that was released. The waiter
-- that was woken with this id may take the key. False, or an error: none. A reservation that does not
-- expire within an hour was not written by a release and is removed: it would keep all clients out.
local function reservation(i)
	local id = try('GET', reserved_key(KEYS[i]))
	local left = type(id) == 'string' and try('PTTL', reserved_key(KEYS[i]))
	if type(left) == 'number' and (left < 0 or left > 3600000) then
		try('DEL', reserved_key(KEYS[i]))
		id = false
	end
	return id
end

-- moved[i]: settle() moved a wake-up during this script.
local moved = {}

-- Is the wake-up of a semaphore's slot ("#3") still in the list? All slots have one list.
local function in_list(suffix)
	for _, element in ipairs(try('LRANGE', wake_key(1), 0, -1)) do
		if sub(element, TOKEN_ID_LEN + 1) == suffix then
			return true
		end
	end
	return false
end

-- Is the reservation of key i unclaimed? Then no waiter is left in the queue. A wake-up that this
-- script moved does not count: the server serves it to a waiter only after the script has ended.
local function is_unclaimed(i)
	if slot == '' then
		return not moved[i] and try('EXISTS', wake_key(i)) == 1
	end
	return in_list(slot)
end

-- Removes the wake-up from the list.
local function drop(i)
	if slot == '' then
		try('DEL', wake_key(i))
		try('DEL', promoted_wake_key(i))
		return
	end
	for _, element in ipairs(try('LRANGE', wake_key(i), 0, -1)) do
		if sub(element, TOKEN_ID_LEN + 1) == slot then
			try('LREM', wake_key(i), 0, element)
		end
	end
end

-- Moves the wake-up of a promoted writer that is gone to the list of the queue. Tries PEXPIRE first,
-- as push() does: without the right to PEXPIRE, no list is written.
local function settle(i)
	local left = slot == '' and try('PTTL', promoted_wake_key(i))
	if type(left) == 'number' and left > 0 and try('EXISTS', wake_key(i)) == 0
			and try('PEXPIRE', wake_key(i), left) == 0 then
		moved[i] = type(try('RPOPLPUSH', promoted_wake_key(i), wake_key(i))) == 'string'
		try('PEXPIRE', wake_key(i), left)
	end
end

-- Wakes the first waiter, or the promoted writer, with an id. An unclaimed wake-up expires after
-- `ms`.
local function push(i, ms, id)
	local list = wake_key(i)
	drop(i)
	if slot == '' and try('DEL', promoted_key(i)) == 1 then
		list = promoted_wake_key(i)
	end
	if slot ~= '' then
		local left = try('PTTL', list)
		ms = max(tonumber(ms), type(left) == 'number' and left or 0)
	end
	if tonumber(try('PEXPIRE', list, ms)) then
		try('RPUSH', list, id .. slot)
		try('PEXPIRE', list, ms)
	end
end

-- Is the node's clock off? Then the node keeps no reservation: once the clock is set right, the
-- reservation would last for as long as the clock was off. Uses `quarantine` and `wall`.
local function is_skewed()
	if tonumber(quarantine) == 0 then
		return false
	end
	local t = try('TIME')
	if t.err then
		return false
	end
	return math.abs(t[1] * 1000000 + t[2] - wall) > SKEW_MAX_MS * 1000
end

-- Reserves key i for `ms`, and, with `wakes`, wakes the first waiter. Uses `quarantine` and `wall`.
local function reserve(i, ms, wakes, id)
	id = id or sub(token, 1, TOKEN_ID_LEN)
	if not is_skewed() then
		try('SET', reserved_key(slot == '' and KEYS[i] or base .. slot), id, 'PX', ms)
	end
	if wakes then
		push(i, ms, id)
	end
end

-- While readers hold the key: wakes the first waiter, which may join them, with the id that woke the
-- latest reader. If the wake-up stays unclaimed, no waiter is left. Uses `woken_by`.
local function wake_next_reader(i)
	local left = try('PTTL', queue_key(i))
	if type(left) == 'number' and left > 0 and try('EXISTS', promoted_key(i)) ~= 1 then
		push(i, left, sub(woken_by ~= '' and woken_by or token, 1, TOKEN_ID_LEN))
	end
end

-- Is the reservation the client's own? Uses `woken_by`: the ids with which the client was woken, one
-- after the other.
local function is_for_us(id)
	return id == woken_by or (#woken_by > TOKEN_ID_LEN and find(woken_by, id, 1, true) ~= nil)
end

-- Keeps a waiter in the queue of key `waiter_key`, whatever the reply is: redlock:queue lasts until
-- the client must have asked again. Uses `flags` (FLAG_WAITS, FLAG_PROMOTED), `ttl` and `waiter_key`.
local function stay()
	if has(FLAG_WAITS) then
		local i = tonumber(waiter_key)
		local left = try('PTTL', queue_key(i))
		local lasts = max((value[i] or readers[i]) and call('PTTL', KEYS[i]) or 0, tonumber(ttl)) + 1000
		if type(left) == 'number' and left < lasts then
			try('SET', queue_key(i), '1', 'PX', lasts)
		end
		if has(FLAG_PROMOTED) then
			try('SET', promoted_key(i), '1', 'PX', lasts)
		end
	end
end

-- Was the client woken for key i? Uses `woken_by` and `waiter_key`.
local function was_woken(i)
	return woken_by ~= '' and i == tonumber(waiter_key)
end

-- May the client join the readers of key i ahead of the waiters? Only if it was woken, or runs within
-- one of the readers.
local function may_join(i)
	return was_woken(i) or held[i]
end

-- Would the client join the readers of key i ahead of waiters, without being allowed to?
local function is_late(i)
	return readers[i] and not value[i] and has_waiters(i) and not may_join(i) and not is_unclaimed(i)
end
