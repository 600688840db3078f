-- reply: the reply of a script, a text: a code, a time in milliseconds and the bits of the keys that have waiters, with a
-- space between them; then a space, the letter and the value of each further item that differs from its default; a
-- line feed and a text. The items have names in proto/reply.h. A table would cost the server more than most commands do.

local notes, waiters = '', 0

-- A number in full: Lua would shorten one with more than 14 digits.
local function note(item, number)
	notes = ('%s %s%.0f'):format(notes, item, number)
end

-- The beginning of a long text is enough to name a holder.
local function answer(code, ms, text)
	return ('%s %.0f %d%s\n%s'):format(code, ms, waiters, notes, sub(text or '', 1, 300))
end
