-- semaphore: a lock with several slots, each of which is a key of its own: KEY#1, KEY#2, ...
-- Uses `base` (KEY) and `slots` (their number; less than 2: no semaphore).
--
-- All slots share one queue and one list of wake-ups; each slot has its own reservation. A wake-up is
-- the reservation's id followed by the slot, so the list has at most one wake-up for each slot.

-- The slot that the request is about, as "#3"; '': no semaphore.
local limit = tonumber(slots)
local slot = limit > 1 and sub(KEYS[1], #base + 1) or ''
