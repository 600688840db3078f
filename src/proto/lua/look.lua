-- look: reports the holder of the keys, or that the client could take them. Changes nothing, except
-- that dead waiters leave the queue.
-- Reports also with which limit slots of the key are held, if that is not the client's.
-- Flags: FLAG_SHARED, FLAG_FAIR and FLAG_OVERRIDE (proto/request.h).

-- include parts/keys.lua
-- arguments

local is_plain = find(rest, '^0 ')
-- include parts/life.lua
is_plain = run_id
local wall = match(rest, '^0 (%d*) ')
-- include parts/plain.lua
-- include parts/others.lua
-- include parts/vote.lua
-- include parts/quiet.lua

-- Without waiters, a reservation, a fencing number and slots, there is no more to tell.
if value and has_vote()
	and try('EXISTS', queue, reserved, 'redlock:fence:{' .. key .. '}', 'redlock:limit:{' .. key .. '}') == 0
	and try('PUBSUB', 'NUMSUB', queue)[2] == 0 then
	local notes = ' 0 ' .. REPLY_RUN_ID .. run_id
	if value == true then
		return CODE_GONE .. ' 0' .. notes .. '\n'
	end
	local own = is_own()
	if own or is_others() then
		return (CODE_FOREIGN .. ' %d'):format(call('PTTL', key)) .. notes .. (own and ' ' .. REPLY_PARTIAL .. '1\n' or '\n')
			.. holder()
	end
end

-- rest
-- include parts/fence.lua
-- include parts/count.lua

-- include parts/restart_guard.lua

-- A held key is reported also by a node without a vote, but not by a replica, which may lag behind its master.
if no_vote and no_vote.err then
	return no_vote
end

-- include parts/view.lua
-- include parts/other_slot.lua

asks = true
local err = read_keys()
if err then
	return err
end
note(REPLY_FENCE, last_number())
report_waiters()
note(REPLY_RANK, count_waiters(queue_key(1)))
local other = (gone or foreign and slot ~= '') and conflict()
if other then
	return other
end
if foreign then
	return refuse(foreign)
end
if not gone then
	local left = -1
	for i = 1, #keys do
		local lasts = time_left(i)
		if lasts >= 0 and (left < 0 or lasts < left) then
			left = lasts
		end
	end
	return answer_about(1, CODE_FOREIGN, left, value[1])
end
if no_vote then
	return answer(unpack(no_vote))
end
for i = 1, #keys do
	if is_for_another(i) then
		return refuse_reserved(i)
	end
end
return answer(CODE_GONE, 0)
