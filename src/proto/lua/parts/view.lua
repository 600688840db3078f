-- view: the keys as the client of the request sees them, and replies about them.
-- Uses `token` and the arguments of shared.lua.
-- include names.lua
-- include reply.lua

-- nest
-- value[i]: the value of key i, as the client sees it (see translate() in shared.lua); nil or false:
-- the key is free. is_string[i]: false if the key has another type: it is another program's, and
-- never the client's.
local value, is_string = {}, {}
-- foreign, gone: the index of the first key that has another holder, and of the first that is gone.
-- releases: true in scripts that release keys: for them, a revoked token is the client's, too.
-- asks: true in scripts of clients that ask for keys, and may have none of them.
local foreign, gone, releases, asks

-- A value as it was before `break` revoked it. A revoked token differs in one letter of its id.
local function unrevoked(v)
	return (string.gsub(v, '^' .. TOKEN_REVOKED_START, TOKEN_HOLDER_START))
end

-- Does the value, or the reader, belong to the client? Some requests have only the id of the token.
local function is_named(v)
	v = releases and unrevoked(v) or v
	return v == token or (#token == TOKEN_ID_LEN and sub(v, 1, TOKEN_ID_LEN + 1) == token .. ':')
end

-- include shared.lua

local function is_ours(i)
	return value[i] and is_string[i] and is_named(value[i])
end

-- Reads all keys. Returns the server's error if the user may not read one of them.
local function read_keys()
	local partial
	for i, key in ipairs(keys) do
		local v = try('GET', key)
		is_string[i] = true
		if v and v.err then
			if not find(v.err, 'WRONGTYPE') then
				return v
			end
			is_string[i] = false
			v = '(' .. call('TYPE', key).ok .. ')'
		end
		value[i] = v
		translate(i)
		if not value[i] then
			gone = gone or i
		elseif not is_ours(i) then
			foreign = foreign or i
		end
		-- A revoked key is the client's to release.
		partial = partial or value[i] and is_string[i] and is_named(unrevoked(value[i]))
	end
	if partial and not releases then
		note(REPLY_PARTIAL, 1)
	end
end

local function answer_about(i, code, ms, text)
	if i > 1 then
		note(REPLY_KEY, i)
	end
	if readers[i] then
		note(REPLY_SHARED, 1)
	end
	return answer(code, ms, text)
end

-- The reply "key i has another holder".
local function refusal(i)
	return answer_about(i, CODE_FOREIGN, call('PTTL', keys[i]), value[i])
end

-- The reply if the client does not hold all keys; nil: it does.
local function loss()
	return foreign and refusal(foreign) or gone and answer_about(gone, CODE_GONE, 0)
end
