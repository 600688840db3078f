-- revoke: ends a lock for `redlock break`, without letting two commands run together. It puts a
-- revoked value in place of the value that the user saw. The key keeps its remaining time. The
-- holder's next extension then fails, so the holder terminates its command; its release deletes the
-- revoked value. Of a holder that no client watches, the key expires.
-- Flags: FLAG_DELETE (proto/request.h): deletes a structure at once.
--
-- token: the value, of which 300 bytes are compared, or the id of a token. For a structure, the type
-- and the members' names: Redisson's lock is a hash, Symfony's a sorted set; the names in both are
-- the holders'. A holder that extends its lock changes no name. A key with more names than one SCAN
-- returns, or without a TTL, is data: its description has no names, and it stays.
-- A key without a TTL stays, too: it would not end. CODE_YES also if the value is revoked already.

-- arguments
local held_ids = ''

-- include parts/view.lua

releases = true

local key = keys[1]

local function describe(kind, left)
	local scan = left >= 0 and ({['hash'] = 'HSCAN', ['zset'] = 'ZSCAN'})[kind]
	local names = {}
	local r = scan and call(scan, key, '0', 'COUNT', '64')
	if r and r[1] == '0' then
		for i = 1, #r[2], 2 do
			names[#names + 1] = r[2][i]
		end
	end
	table.sort(names)
	local v = '(' .. kind .. ')'
	for _, name in ipairs(names) do
		v = v .. ' ' .. name
	end
	return #v > 300 and sub(v, 1, 250) .. '... ' .. redis.sha1hex(v) or v, #names > 0
end

-- The revoked form of a value. The id of another program's value comes from the value itself, so that
-- a second client recognises it.
local function revoked(v)
	if match(v, '^' .. TOKEN_HOLDER_START .. '%x+:') then
		return TOKEN_REVOKED_START .. sub(v, TOKEN_START_LEN + 1)
	end
	local hash = sub(redis.sha1hex(sub(v, 1, 300)), 1, TOKEN_ID_LEN - TOKEN_START_LEN)
	return string.format('%s:%010.0f %s', TOKEN_REVOKED_START .. hash, floor(clock(call) / 1000), sub(v, 1, 200))
end

-- A second client may have seen the readers before the first one revoked some of them.
local function without_count(v)
	return string.gsub(sub(v, 1, 300), ', %d+ revoked', '', 1)
end

local function revoke_reader(reader, ends)
	if unrevoked(reader) == reader then
		call('ZREM', readers_key(1), reader)
		call('ZADD', readers_key(1), ends, revoked(reader))
	end
end

local err = read_keys()
if err then
	return err
end
if not value[1] then
	return answer(CODE_GONE, 0)
end
local v, left, has_names = value[1], call('PTTL', key), true
if not is_string[1] then
	v, has_names = describe(sub(v, 2, -2), left)
end
local is_same = sub(v, 1, 300) == token and has_names
if left < 0 then
	return answer(CODE_FOREIGN, left, v)
elseif mine[1] then
	revoke_reader(mine[1], mine_ends[1])
	regroup(1)
elseif readers[1] and without_count(v) == without_count(token) then
	local members = call('ZRANGE', readers_key(1), 0, -1, 'WITHSCORES')
	for i = 1, #members, 2 do
		revoke_reader(members[i], members[i + 1])
	end
	regroup(1)
elseif is_same and not is_string[1] and has(FLAG_DELETE) then
	call('DEL', key)
elseif is_ours(1) or is_same then
	if unrevoked(v) == v then
		call('SET', key, revoked(v), 'PX', max(left, 1))
	end
elseif sub(v, 1, TOKEN_ID_LEN + 1) ~= sub(revoked(token), 1, TOKEN_ID_LEN + 1) then
	return answer(CODE_FOREIGN, left, v)
end
return answer(CODE_YES, left)
