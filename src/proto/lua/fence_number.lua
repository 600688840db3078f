-- fence_number: stores a fencing number if the client holds all keys and this node has given no
-- larger number. The first condition keeps a stale client from overtaking the holder; the second
-- keeps the number from going back.

local token, number = unpack(ARGV)
local flags, held_ids = '', ''

-- include parts/view.lua
-- include parts/fence.lua

local err = read_keys()
if err then
	return err
end
sort_keys()
if foreign then
	return refusal(foreign)
end
if gone then
	return {CODE_GONE, 0, '', '', partial}
end
if last_number() > tonumber(number) then
	return {CODE_RESERVED, 0, '', '', partial}
end
write_number(tonumber(number))
return {CODE_YES, call('PTTL', KEYS[1]), '', '', 0, tonumber(number)}
