-- plain: the cases of most requests: one key, no slots, no readers.
-- Uses `token` and `is_plain`: the arguments are those of such a request.
--
-- A script answers these cases before it reads its other arguments, and before it comes to the parts for all other cases.
-- It does so without a function of its own: to make functions, with the variables that they share, takes a server longer
-- than most commands. A function that only returns an expression, and is called once, is none (scripts/embed-lua).
-- include keys.lua

-- The value of the key, which may be empty; true if it is free; false or nil: the request is not plain. If it is an error, the
-- client gets it in the other parts. (A text has no field `err`; to ask for its type would take longer.)
local value = is_plain and not KEYS[2] and (try('GET', key) or true)

-- Does the key belong to the client? The id of the token says so. A whole token is one for the other parts.
local function is_own()
	return value and value ~= true and not value.err and sub(value, 1, TOKEN_ID_LEN) == token
end

-- The beginning of a long value is enough to name a holder.
local function holder()
	return #value > 300 and sub(value, 1, 300) or value
end
