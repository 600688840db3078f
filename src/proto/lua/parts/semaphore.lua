-- semaphore: a lock with several slots, each of which is a key of its own: KEY#1, KEY#2, ...
-- Uses `own_limit`: the client's limit; 0: no semaphore; LIMIT_UNKNOWN: the key is a slot, and the client does
-- not know the limit.
--
-- redlock:limit:{KEY} has the limit with which slots were taken here. It lasts as long as the slots. While
-- one of them is held, a client with another limit gets none. Each limit has a queue of its own; each slot
-- has its own reservation. A wake-up is the reservation's id followed by the slot.

-- slot: the slot that the request is about, as "#3"; '': no semaphore. base: KEY.
local slot = own_limit ~= '0' and match(keys[1], '#%d+$') or ''
local base = sub(keys[1], 1, #keys[1] - #slot)
local limit_key = beside('limit', base)

-- The limit in the record; 0: none.
local function recorded_limit()
	local n = to_number(try('GET', limit_key))
	return n and n > 1 and n <= LIMIT_MAX and n or 0
end

local limit = to_number(own_limit) or recorded_limit()

-- Lengthens the record to at least `ms`. Writes it if it is missing or `is_new`: the client has taken a slot.
local function record_limit(ms, is_new)
	local left = slot ~= '' and call('PTTL', limit_key)
	if not left then
		return
	end
	if (is_new or left == -2) and own_limit ~= LIMIT_UNKNOWN then
		try('SET', limit_key, own_limit, 'PX', max(left, ms))
	else
		try('PEXPIRE', limit_key, max(left, ms))
	end
end
