-- reply: the reply of a script. Its items have names in proto/reply.h.

local reply = {CODE_YES, 0, '', '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

-- Completes the reply with a code, a time in milliseconds and a text. The other items are set where
-- they become known.
local function answer(code, ms, text)
	reply[REPLY_CODE], reply[REPLY_PTTL], reply[REPLY_TEXT] = code, ms, text or ''
	reply[REPLY_SOONEST] = ms
	return reply
end
