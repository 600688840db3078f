-- plain: the cases of most requests: one key, no slots, no readers.
-- Uses `token` and `own_limit`.
--
-- A script answers these cases before it comes to the parts for all others, and without a function of its own: to make
-- functions, with the variables that they share, takes a server longer than most commands. A function that only returns an
-- expression, and is called once, is none (scripts/embed-lua).
-- include keys.lua

-- The value of the key, '' if it is free; false: the request is not plain. A user without the right to GET gets
-- an error in the other parts.
local key = keys[1]
local queue, reserved = 'redlock:queue:{' .. key .. '}', 'redlock:reserved:{' .. key .. '}'
local plain = #keys == 1 and own_limit == '0' and (try('GET', key) or '')
if type(plain) ~= 'string' or sub(plain, 1, TOKEN_START_LEN) == TOKEN_READERS_START then
	plain = false
end
-- A client that only looks may have no token.
local is_own = plain and plain ~= '' and (plain == token or sub(plain, 1, TOKEN_ID_LEN + 1) == token .. ':')

-- Does the key belong to another client? A token of the client's own may be revoked.
local function is_others()
	return plain and plain ~= ''
		and sub(plain, TOKEN_START_LEN + 1, TOKEN_ID_LEN) ~= sub(token, TOKEN_START_LEN + 1, TOKEN_ID_LEN)
end

-- True: no client waits, and no reservation is left.
local function is_quiet()
	return try('EXISTS', queue, reserved) == 0
end
