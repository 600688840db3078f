-- databases: the numbers of the server's databases in which the restart guard of this process has its mark, for
-- doctor, separated by spaces. Looks at 64 databases at most; without the right to SELECT or INFO, at none. The
-- database of the caller stays selected: that of a script is its own.

local function text(...)
	local r = redis.pcall(...)
	return type(r) == 'string' and r or ''
end

local run_id, numbers, found = string.match(text('INFO', 'server'), 'run_id:(%x+)'), {}, {}
for number in string.gmatch(text('INFO', 'keyspace'), 'db(%d+):keys') do
	numbers[#numbers + 1] = number
end
-- A single one is the caller's, which has doctor's probe key: a refusal of SELECT would be logged in vain.
for i = 1, #numbers > 1 and run_id and math.min(#numbers, 64) or 0 do
	local r = redis.pcall('SELECT', numbers[i])
	if type(r) == 'table' and r.ok and string.find(text('GET', GUARD_KEY), run_id, 1, true) == 1 then
		found[#found + 1] = numbers[i]
	end
end
return table.concat(found, ' ')
