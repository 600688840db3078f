-- others: does the key of a plain case (plain.lua) belong to another client, and to no readers?
-- Uses `token`. Another client's own token has another id, also if it is revoked.
-- include keys.lua

local random = value and value ~= true and not value.err and sub(value, TOKEN_START_LEN + 1, TOKEN_ID_LEN)

local function is_others()
	return random and random ~= TOKEN_READERS_RANDOM and random ~= sub(token, TOKEN_START_LEN + 1, TOKEN_ID_LEN)
end
