-- semaphore: a lock with several slots, each of which is a key of its own: KEY#1, KEY#2, ...
-- Uses `base` (KEY) and `slots` (their number; less than 2: no semaphore).
--
-- All slots have one queue and one list of wake-ups, and each has a reservation of its own. A
-- wake-up is the reservation's id with the slot after it: so the list has one wake-up for each slot
-- at most.

-- The slot that the request is about, as "#3"; '': no semaphore.
local limit = tonumber(slots)
local slot = limit > 1 and sub(KEYS[1], #base + 1) or ''
