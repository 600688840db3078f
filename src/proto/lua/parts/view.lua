-- view: the keys as the client of the request sees them, and the head of a reply.
-- Uses `token`, and what shared.lua uses.
-- include keys.lua

-- value[i]: what key i holds, as the client sees it (see translate() in shared.lua); nil or false:
-- the key is free. is_string[i]: false if another program keeps another type there, which is never
-- ours.
local value, is_string = {}, {}
-- MARK_PARTIAL if at least one of the keys is ours.
local partial = 0

-- Does the value, or the reader, belong to the client? A command between two others has the token's
-- id only.
local function is_named(v)
	return v == token or (#token == TOKEN_ID_LEN and sub(v, 1, TOKEN_ID_LEN + 1) == token .. ':')
end

-- include shared.lua

-- Reads all keys. Answers the server's error if one of them must not be read.
local function read_keys()
	for i, key in ipairs(KEYS) do
		local v = try('GET', key)
		is_string[i] = true
		if type(v) == 'table' then
			if not find(v.err, 'WRONGTYPE', 1, true) then
				return v
			end
			is_string[i] = false
			v = '(' .. call('TYPE', key).ok .. ')'
		end
		value[i] = v
		translate(i)
	end
end

local function is_ours(i)
	return value[i] and is_string[i] and is_named(value[i])
end

-- The index of the first key that has another holder, and of the first that is gone.
local foreign, gone

local function sort_keys()
	for i = 1, #KEYS do
		if not value[i] then
			gone = gone or i
		elseif not is_ours(i) then
			foreign = foreign or i
		else
			partial = MARK_PARTIAL
		end
	end
end

-- What a reply says of key i: see read_marks() in proto/reply.c.
local function marks(i)
	return (i - 1) * MARK_INDEX + partial + (readers[i] and MARK_SHARED or 0)
end

-- The reply "key i has another holder". Of a long value, the beginning is enough to name the
-- holder.
local function refusal(i)
	return {CODE_FOREIGN, call('PTTL', KEYS[i]), sub(value[i], 1, 300), '', marks(i)}
end
