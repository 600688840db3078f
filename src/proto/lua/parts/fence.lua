-- fence: fencing numbers.
-- raise() uses `quarantine` and `began` (the client's time of day in microseconds when its attempt began).
--
-- The counter is raised before the key is set, so that a user without the right to the counter does
-- not take the key. The counter does not expire. Several keys share one number, above the counter of each.
--
-- raise() returns the larger of the counter + 1 and the client's time of day in microseconds; all
-- nodes of an attempt see the same time, so nodes with different counters give equal answers. A
-- node that lost its counter, or has an older one, therefore needs no state to give a number above
-- those that it forgot: time has passed. It believes the client's time only as far as that differs
-- from its own by less than a quarter of the quarantine, `span`. A forgotten number is at most span
-- ahead of the clock of a node that gave it, a new one at most span behind the clock of a node that
-- waited for the whole quarantine: the new one is larger if those clocks differ by less than half
-- the quarantine. Scripts count in doubles, which are exact below 2^53.
-- include read.lua

-- The key of a counter that is no number, or has reached its limit.
local broken

local function fence_key(i)
	return beside('fence', keys[i])
end

local function last_number()
	local last = 0
	for i = 1, #keys do
		local v = get(fence_key(i))
		local n = v and not v.err and (to_number(match(v, '^%d+$')) or 1 / 0) or 0
		if n >= FENCE_MAX then
			broken = broken or fence_key(i)
		end
		if n < 1 / 0 then
			last = max(last, min(n, FENCE_MAX))
		end
	end
	return last
end

local function write_number(n)
	for i = 1, #keys do
		call('SET', fence_key(i), string.format('%.0f', n))
	end
	return n
end

local function raise()
	local last, t = last_number(), call('TIME')
	if broken then
		return
	end
	local node_us, span = t[1] * 1000000 + t[2], quarantine * 250
	if span == 0 or span > SKEW_MAX_MS * 1000 then
		span = SKEW_MAX_MS * 1000
	end
	return write_number(max(last + 1, min(max(began, node_us - span), node_us + span)))
end
