-- reply: the reply of a script: a code, a time in milliseconds, a text, and the bits of the keys that have
-- waiters; then the numbers and values of further items, where they differ from their defaults. Items have
-- names in proto/reply.h.

local reply = {CODE_YES, 0, '', 0}

local function note(item, value)
	reply[#reply + 1] = item
	reply[#reply + 1] = value
end

-- The beginning of a long text is enough to name a holder.
local function answer(code, ms, text)
	reply[REPLY_CODE], reply[REPLY_PTTL], reply[REPLY_TEXT] = code, ms, text and sub(text, 1, 300) or ''
	return reply
end
