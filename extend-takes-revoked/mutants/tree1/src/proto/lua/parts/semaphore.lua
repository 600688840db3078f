-- semaphore: a lock with several slots, each of which is a key of its own: KEY#1, KEY#2, ...
-- Uses `slots` (their number; less than 2: no semaphore).
--
-- All slots share one queue; each slot has its own reservation. A wake-up is the reservation's id
-- followed by the slot.

-- slot: the slot that the request is about, as "#3"; '': no semaphore. base: KEY.
local limit = tonumber(slots)
local slot = limit > 1 and match(KEYS[1], '#%d+$') or ''
local base = sub(KEYS[1], 1, #KEYS[1] - #slot)
