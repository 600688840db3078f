-- delete: deletes each of the client's keys, also a revoked one; wakes no waiter. It goes in one packet with a release
-- by digest, and is sent whole: the key does not stay on a node that has forgotten the script of the release. Knows no
-- readers.

local token = unpack(ARGV)

-- include parts/keys.lua
-- include parts/reply.lua

local revoked = TOKEN_REVOKED_START .. sub(token, TOKEN_START_LEN + 1)
for _, key in ipairs(KEYS) do
	local v = try('GET', key)
	if v == token or v == revoked then
		call('DEL', key)
	else
		reply[REPLY_CODE] = CODE_GONE
	end
end
return reply
