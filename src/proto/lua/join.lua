-- join: a waiter enters the queue, or looks again. It has subscribed to its channels before.
-- ticket: the waiter's ticket: it gets the place that it had, also at another node. If it has none yet:
-- 0: the last place, or TICKET_FIRST: the first one. This node's clock makes the ticket.
--
-- If the key is free and not reserved, the first waiter gets it, or the first readers: a wake-up may
-- have been lost. So do readers that are first while readers hold the key. For a semaphore, this holds
-- for each slot. CODE_YES: the client itself is first; the key, or the slot that the reply names, is
-- reserved for it under the id in the text. It stays in the queue until it has the lock: it may ask
-- the nodes only after a while, and later clients must not pass it.
-- While slots are held with another limit, it gets none, and wakes no waiter.

-- include parts/keys.lua
-- arguments

local waiter, ticket = match(rest, '^0 (%S*) (%S*) ')
local is_plain = ticket and ticket ~= '' .. TICKET_FIRST
-- include parts/plain.lua
-- include parts/others.lua
-- include parts/quiet.lua

-- Another client has the key, and the first waiter is alive: there is nothing to pass on.
if is_others() and try('EXISTS', 'redlock:limit:{' .. key .. '}') == 0 then
	local first = try('ZRANGE', queue, 0, 0)[1] or waiter
	if (try('PUBSUB', 'NUMSUB', 'redlock:wake:{' .. key .. '}:' .. first)[2] or 0) > 0 then
		-- Without the right to PEXPIRE, the script ends here: the queue would not expire.
		local existed = call('PEXPIRE', queue, QUEUE_MS) == 1
		if ticket == '0' then
			local t = call('TIME')
			ticket = math.max(t[1] * 1000000 + t[2], (call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0) + 1)
		end
		-- Other clients are subscribed, and the queue is new: the node may have lost theirs.
		if not existed and call('PUBSUB', 'NUMSUB', queue)[2] > 1 then
			call('PUBLISH', queue, '')
		end
		call('ZADD', queue, 'NX', ticket, waiter)
		call('PEXPIRE', queue, QUEUE_MS)
		return (CODE_FOREIGN .. ' %.0f 1 ' .. REPLY_TICKET .. '%.0f ' .. REPLY_RANK .. '%d\n%s'):format(
			call('PTTL', key), call('ZSCORE', queue, waiter), call('ZRANK', queue, waiter), holder())
	end
end

-- rest
local flags, held_ids, woken_by = '', '', ''
-- include parts/view.lua
-- include parts/other_slot.lua

asks = true
local err = read_keys()
if err then
	return err
end
queue = queue_key(1)
-- Without the right to PEXPIRE, the script ends here: the queue would not expire.
local existed = call('PEXPIRE', queue, QUEUE_MS) == 1

-- sign: 1: a ticket after the last waiter's; -1: one before the first waiter's. `rank`: of that waiter.
local function new_ticket(rank, sign)
	local other, t = call('ZRANGE', queue, rank, rank, 'WITHSCORES')[2] or 0, call('TIME')
	return sign * max(t[1] * 1000000 + t[2], sign * other + 1)
end

if to_number(ticket) == 0 then
	ticket = new_ticket(-1, 1)
elseif to_number(ticket) == TICKET_FIRST then
	ticket = new_ticket(0, -1)
end
-- Other clients are subscribed, and the queue is new: the node may have lost theirs.
if not existed and call('PUBSUB', 'NUMSUB', queue)[2] > 1 then
	call('PUBLISH', queue, '')
end

local function enter()
	call('ZADD', queue, 'NX', ticket, waiter)
	call('PEXPIRE', queue, QUEUE_MS)
end

enter()
ticket = to_number(call('ZSCORE', queue, waiter))
note(REPLY_TICKET, ticket)
first(1)
local other = conflict()
for i = 1, other and 0 or max(limit, 1) do
	slot = slot ~= '' and '#' .. i or ''
	local key = lock_key(1)
	if readers[1] or (call('EXISTS', key) == 0 and not reservation(key)) then
		pass_on(1, own_id)
	end
end
if woken_for then
	enter()
end
note(REPLY_RANK, call('ZRANK', queue, waiter) or 0)
report_waiters()
if other then
	return other
end
if woken_for then
	note(REPLY_SLOT, to_number(sub(woken_for, 2)) or 0)
	return answer(CODE_YES, 0, own_id)
end
slot = sub(keys[1], #base + 1)
if value[1] and not (readers[1] and is_reader(waiter)) then
	return refuse(1)
end
return refuse_reserved(1)
