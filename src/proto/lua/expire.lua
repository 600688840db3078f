-- expire: the last request of a holder that leaves its keys until their TTL ends (--min-hold).
-- Treats each of the client's keys independently of the others.
--
-- The owner's name stays, so that messages of waiters can name the last holder. A letter of the id
-- changes, so that a nested run that outlives the holder does not take the lock for held. No waiter
-- is woken: the first waiters ask when the key expires. A revoked key is deleted at once.

-- include parts/keys.lua
-- arguments
-- rest
local flags, held_ids = '', ''

-- include parts/view.lua
-- include parts/semaphore.lua

releases = true

local err = read_keys()
if err then
	return err
end
for i, key in ipairs(keys) do
	local v = value[i]
	if is_ours(i) and unrevoked(v) ~= v then
		remove(i)
	elseif is_ours(i) then
		local left = sub(v, 1, #TOKEN_NINES) .. TOKEN_LEFT .. sub(v, #TOKEN_NINES + 2)
		if mine[i] then
			enlist(i, left, ttl)
			remove(i)
		else
			call('SET', key, left, 'PX', ttl)
		end
		record_limit(ttl)
	end
end
return loss() or answer(CODE_YES, ttl)
