-- read: a value that may be of another type, and the time.
-- include names.lua

-- The value of a key, '?' if it is no string, false if it is gone; the server's error if the user may not read it.
local function get(key)
	local v = try('GET', key)
	return v and v.err and find(v.err, 'WRONGTYPE') and '?' or v
end

-- The server's time in milliseconds, once it is known; false if `run` must not ask for it.
local now

local function clock(run)
	if not now then
		local t = run('TIME')
		now = t[1] and t[1] * 1000 + floor(t[2] / 1000)
	end
	return now
end
