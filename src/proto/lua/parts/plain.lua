-- plain: the cases of most requests: one key, no slots, no readers.
-- Uses `token` and `own_limit`.
--
-- A script answers these cases before it comes to the parts for all others: making their functions takes most
-- of its time.
-- include keys.lua
-- include reply.lua

-- The value of the key, '' if it is free; false: the request is not plain. A user without the right to GET gets
-- an error in the other parts.
local plain = #keys == 1 and own_limit == '0' and (try('GET', keys[1]) or '')
if type(plain) ~= 'string' or sub(plain, 1, TOKEN_START_LEN) == TOKEN_READERS_START then
	plain = false
end

local plain_queue, plain_reserved = beside('queue', keys[1]), beside('reserved', keys[1])

-- True: no client waits, and no reservation is left.
local function is_quiet()
	return try('EXISTS', plain_queue, plain_reserved) == 0
end

-- Does a plain value belong to the client? A client that only looks may have no token.
local function is_own(v)
	return v and v ~= '' and (v == token or sub(v, 1, TOKEN_ID_LEN + 1) == token .. ':')
end

-- Does it belong to another client? A token of the client's own may be revoked.
local function is_others(v)
	return v and v ~= '' and sub(v, TOKEN_START_LEN + 1, TOKEN_ID_LEN) ~= sub(token, TOKEN_START_LEN + 1, TOKEN_ID_LEN)
end

local function refuse_plain(v)
	return answer(CODE_FOREIGN, call('PTTL', keys[1]), v)
end
