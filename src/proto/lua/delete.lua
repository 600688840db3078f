-- delete: deletes each of the client's keys, also a revoked one; wakes no waiter. It goes in one packet with a release
-- by digest, and is sent whole: the key does not stay on a node that has forgotten the script of the release. So it is
-- short, and includes no parts. Knows no readers.
-- secret: the part of the token's id after its first TOKEN_START_LEN characters. The pattern is that start: of a holder,
-- or revoked.
-- Replies CODE_YES or CODE_GONE, as an integer; or the server's error if it could not read a key.

-- arguments

local code, err = CODE_YES
for _, key in ipairs(KEYS) do
	local v = redis.pcall('GET', key)
	if tostring(v):find('^9+[ac]' .. secret) then
		redis.call('DEL', key)
	else
		code, err = CODE_GONE, type(v) == 'table' and v or err
	end
end
return err or code
