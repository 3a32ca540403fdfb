-- set aside: moves damaged tuples to the dead letters, and throws away what is not ours.
-- KEYS  1 dead letters  2 stream  3 book  4 expiry
-- ARGV  1 name of the type  2 taker  3… for each tuple: id, reason, deliveries
-- returns how many were moved
local moved = 0
for i = 3, #ARGV, 3 do
  moved = moved + bury(KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[i], ARGV[1], ARGV[i + 1], ARGV[i + 2], ARGV[2])
end
return moved
