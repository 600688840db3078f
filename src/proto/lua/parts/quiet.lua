-- quiet: waiters and reservations in plain cases (plain.lua).
-- include keys.lua

local queue = 'redlock:queue:{' .. key .. '}'
local reserved = 'redlock:reserved:{' .. key .. '}'

-- True: no client waits, and no reservation is left.
local function is_quiet()
	return try('EXISTS', queue, reserved) == 0
end
