-- delete: deletes each of the client's keys, also a revoked one; wakes no waiter. It goes in one packet with a release
-- by digest, and is sent whole: the key does not stay on a node that has forgotten the script of the release. So it is
-- short, and includes no parts. Knows no readers.
-- The argument is the part of the token's id after its first TOKEN_START_LEN characters. The pattern is that start: of a
-- holder, or revoked.
-- Replies CODE_YES or CODE_GONE, alone; or the server's error if it cannot read a key.

local code = CODE_YES
for _, key in ipairs(KEYS) do
	code = tostring(redis.call('GET', key)):find('^9+[ac]' .. ARGV[1]) and redis.call('DEL', key) and code or CODE_GONE
end
return code
