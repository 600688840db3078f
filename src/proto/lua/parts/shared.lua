-- shared: locks that several readers hold together.
-- Uses `token`, `flags` (FLAG_SHARED) and `held_ids` (ids of locks that the client runs within; only
-- scripts that may take a key have any).
--
-- The key is a string, so that a client that does not share sees an ordinary lock. Its value has an
-- id of its own and the readers' names. The sorted set redlock:readers:{KEY} has the readers' tokens,
-- by the time at which each expires.

-- include read.lua

local function has(flag)
	return find(flags, flag)
end

local shared = has(FLAG_SHARED)
-- For key i: readers[i]: its value, if readers hold it. mine[i]: the client's own token among the
-- readers. mine_ends[i]: the time when that token expires; other readers, and so the key, may expire
-- earlier or later. held[i]: the reader within which the client runs.
local readers, mine, mine_ends, held = {}, {}, {}, {}
local group = TOKEN_READERS .. ':'
local function readers_key(i)
	return beside('readers', keys[i])
end

-- If readers hold key i, sets value[i] to the client's view: its own token, if it is a reader, also
-- if it is revoked; nothing, if it would join them; else a holder. A client that runs within a reader (held) cannot
-- become a writer. A client that asks for the key, not to join, sees a holder if it has no rights to
-- sorted sets. A client that may be a reader needs the rights, and gets the server's error.
local function translate(i)
	local v = value[i]
	if not v or not is_string[i] or sub(v, 1, #group) ~= group then
		return
	end
	local run = asks and not shared and try or call
	local members = clock(run) and run('ZRANGEBYSCORE', readers_key(i), now, '+inf', 'WITHSCORES') or {}
	if members[1] or not shared then
		readers[i] = v
	end
	local revoked
	for j = 1, #members, 2 do
		local reader = members[j]
		if is_named(reader) then
			mine[i], mine_ends[i] = reader, members[j + 1]
		elseif is_named(unrevoked(reader)) then
			revoked = reader
		elseif find(held_ids, sub(reader, 1, TOKEN_ID_LEN), 1, true) then
			held[i] = reader
		end
	end
	value[i] = mine[i] or revoked or not shared and (held[i] or v) or nil
end

-- Writes the key anew from the set, with the fingerprints of all readers before their names. The key lasts as
-- long as the last reader. Returns true if no reader is left, and the key is gone.
local function regroup(i)
	local set, names, lists, since, last, revoked = readers_key(i), {}, '', nil, 0, 0
	call('ZREMRANGEBYSCORE', set, '-inf', '(' .. clock(call))
	local members = call('ZRANGE', set, 0, -1, 'WITHSCORES')
	if #members == 0 then
		call('DEL', keys[i], set)
		return true
	end
	for j = 1, #members, 2 do
		last = max(last, to_number(members[j + 1]))
		local began, name = match(members[j], '^%x+:(%d+) (.*)$')
		name = name or '?'
		local list = match(name, '^@%x+ ') or ''
		names[#names + 1] = sub(name, #list + 1)
		if not find(lists, list, 1, true) then
			lists = lists .. list
		end
		revoked = revoked + (unrevoked(members[j]) == members[j] and 0 or 1)
		if began and (not since or began < since) then
			since = began
		end
	end
	local count = #names
	table.sort(names)
	local v = group .. (since or '0000000000') .. ' ' .. lists
		.. (count == 1 and 'reader' or count .. ' readers')
		.. (revoked > 0 and ', ' .. revoked .. ' revoked' or '')
		.. (count > 16 and '' or (count > 1 and ': ' or ' ') .. sub(table.concat(names, ', '), 1, 200))
	last = max(last - clock(call), 1)
	call('SET', keys[i], v, 'PX', last)
	call('PEXPIRE', set, last)
end

-- How long key i lasts, or the client's part of it, in ms.
local function time_left(i)
	return mine_ends[i] and mine_ends[i] - clock(call) or call('PTTL', keys[i])
end

-- Adds a reader, or extends it. The set gets its TTL before and after ZADD: without the right to
-- PEXPIRE, the script ends before the set exists; without a right that regroup() needs, the set
-- expires, but not before a reader in it.
local function enlist(i, reader, ms)
	local set = readers_key(i)
	local lasts = max(ms, call('PTTL', set))
	call('PEXPIRE', set, lasts)
	call('ZADD', set, clock(call) + ms, reader)
	call('PEXPIRE', set, lasts)
	regroup(i)
end

-- Takes a key that is free, or joins the readers.
local function put(i, ms)
	if not shared then
		call('SET', keys[i], token, 'PX', ms)
		return
	end
	if not readers[i] then
		call('DEL', readers_key(i))
	end
	enlist(i, token, ms)
end

-- Extends the client's own key; never shortens it if `keeps`. Returns how long it lasts now.
local function extend(i, ms, keeps)
	ms = keeps and max(ms, time_left(i)) or to_number(ms)
	if mine[i] then
		enlist(i, mine[i], ms)
	else
		call('PEXPIRE', keys[i], ms)
	end
	return ms
end

-- Deletes the key, or removes the client from its readers. Returns whether the key is gone.
local function remove(i)
	if not mine[i] then
		call('DEL', keys[i])
		if readers[i] then
			call('DEL', readers_key(i))
		end
		return true
	end
	call('ZREM', readers_key(i), mine[i])
	return regroup(i)
end
