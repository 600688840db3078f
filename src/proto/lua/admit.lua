-- admit: gives a new server its vote at once, as 'redlock doctor --admit' does: it cannot have
-- forgotten a lock. KEYS[1] is the mark of the restart guard.

-- include parts/keys.lua

return call('SET', key, match(call('INFO', 'server'), 'run_id:(%x+)'))
