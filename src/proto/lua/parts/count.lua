-- count: the waiters of a queue that are connected.
-- include names.lua

-- queue: the name of the queue, which is also that of its channel. Each waiter is subscribed, and so is a
-- client that was in the queue before on the same connection: it may hold the lock now, or wait at another
-- node. A waiter that was killed is still in the queue.
local function count_waiters(queue)
	local subscribers = try('PUBSUB', 'NUMSUB', queue)[2] or 0
	local last = subscribers > 0 and try('ZRANGE', queue, -1, -1)
	if not last or last.err then
		return subscribers
	end
	local rank = last[1] and try('ZRANK', queue, last[1])
	return type(rank) == 'number' and min(subscribers, rank + 1) or 0
end
