-- acquire: takes all keys, or none. A key that is the client's own is extended. A client that takes
-- the keys leaves their queues. A client that must leave a key to a waiter wakes it, unless the key is
-- reserved already.
-- A repair passes the reservation of another client.
-- Flags: FLAG_SHARED, FLAG_FAIR, FLAG_OVERRIDE, FLAG_NUMBER, FLAG_RECORD (proto/request.h).

-- early: the request is sent before AUTH or SELECT is answered (EARLY_PATTERN).

-- include parts/keys.lua
-- arguments

local may_run = redis.acl_check_cmd
if early then
	local unsure, db = match(early, EARLY_PATTERN)
	-- If AUTH failed, this is another user, who must be able to delete the keys.
	if unsure ~= '' and not (may_run and may_run('del', unpack(KEYS))) then
		return CODE_UNSURE .. ' 0 0\n'
	end
	if db ~= '' then
		call('SELECT', db)
	end
end

local is_plain = find(rest, '^ 0 ')
-- include parts/life.lua
is_plain = run_id
-- include parts/plain.lua
-- include parts/others.lua

if is_others() then
	return (CODE_FOREIGN .. ' %d 0 ' .. REPLY_RUN_ID):format(call('PTTL', key)) .. run_id .. '\n' .. holder()
end

-- A release needs EVAL where the node does not know its script. A user that may use EVALSHA only could
-- take the keys of a node that knows this script, and not release them. Servers before Redis 7 do not tell.
if may_run and not may_run('eval', '', '0') then
	return CODE_NO_EVAL .. ' 0 0\n'
end

-- include parts/vote.lua
-- include parts/quiet.lua

local wall, ttl
if value == true then
	wall, ttl = match(rest, '^ 0 (%d*) (%d+) ')
end
if wall and has_vote() then
	-- The queue is at one node only. The parts before a writer's name are numbers.
	local left, code, ms = try('EXISTS', queue, reserved), CODE_YES, ttl
	if left ~= 0 then
		local id, waiter, woken_by = try('GET', reserved) or '', match(rest, ' (w%x+) (%S*) ')
		if #id == 0 or not waiter or left == 2 and try('ZRANK', queue, waiter) then
			code = nil
		elseif not find(woken_by, id, 1, true) then
			ms = call('PTTL', reserved)
			code = ms > 0 and ms < RESERVED_MAX_MS and CODE_RESERVED
		end
	end
	if code then
		if code == CODE_YES then
			call('SET', key, token, 'PX', ttl)
			if left ~= 0 then
				try('DEL', reserved)
			end
		end
		return code .. ' ' .. ms .. (left == 2 and ' 1 ' or ' 0 ') .. REPLY_RUN_ID .. run_id .. '\n'
	end
end

-- rest
-- include parts/restart_guard.lua
-- include parts/view.lua
-- include parts/other_slot.lua
-- include parts/fence.lua
-- include parts/record.lua

asks = true
local err = read_keys()
if err then
	return err
end
report_waiters()
local other = slot ~= '' and (foreign or gone) and conflict()
if other then
	return other
end
if foreign then
	return refuse(foreign)
end
if no_vote then
	return no_vote.err and no_vote or answer(unpack(no_vote))
end
for i, key in ipairs(keys) do
	if is_for_another(i) then
		woken_for = nil
		if readers[i] or not reservation(key) then
			pass_on(i, own_id)
		end
		-- Readers that wait next to each other are woken together.
		if not woken_for then
			return refuse_reserved(i)
		end
	end
end
local record, record_age = '', 0
if has(FLAG_RECORD) then
	record, record_age = read_record()
	if record.err then
		return record
	end
end
local number = has(FLAG_NUMBER) and (gone and raise() or last_number()) or 0
if broken then
	return answer(CODE_COUNTER, 0, broken)
end
if number > 0 then
	note(REPLY_FENCE, number)
end
for i, key in ipairs(keys) do
	if value[i] then
		extend(i, ttl, true)
	else
		put(i, ttl)
		try('DEL', reserved_key(key))
	end
	leave_queue(i)
	if shared then
		wake(i, own_id, true)
	end
end
record_limit(ttl, gone)
report_waiters()
if record ~= '' then
	note(REPLY_SOONEST, record_age)
end
return answer(CODE_YES, ttl, record)
