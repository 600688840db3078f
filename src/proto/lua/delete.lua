-- delete: deletes each of the client's keys, also a revoked one; wakes no waiter. It is the last request of a client that
-- does not wait for the reply to a release by digest: the key does not stay on a node that has forgotten the script of the
-- release. It is sent whole, so it is short, and includes no parts. Knows no readers.
-- The argument is the part of the token's id after its first TOKEN_START_LEN characters. The pattern is that start: of a
-- holder, or revoked.
-- No client reads the reply.

for _, key in ipairs(KEYS) do
	if tostring(redis.call('GET', key)):find('^9+[ac]' .. ARGV[1]) then
		redis.call('DEL', key)
	end
end
