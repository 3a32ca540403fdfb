-- ack: removes tuples that their taker has finished, and books their bytes and numbers.
-- KEYS  1 stream  2 book  3 expiry
-- ARGV  for each tuple: id, size in bytes, sender, number
-- returns how many of them this call removed
local done = 0
for i = 1, #ARGV, 4 do
  done = done + finish(KEYS[1], KEYS[2], KEYS[3], ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
return done
