-- fence_number: stores a fencing number if the client holds all keys and this node has given no
-- larger number. The first condition keeps a stale client from overtaking the holder; the second
-- keeps the number from going back.

-- arguments
local flags, held_ids = '', ''

-- include parts/view.lua
-- include parts/fence.lua

local no = read_keys() or loss()
if no then
	return no
end
if last_number() > to_number(number) then
	return answer(CODE_RESERVED, 0)
end
note(REPLY_FENCE, write_number(to_number(number)))
return answer(CODE_YES, call('PTTL', keys[1]))
