-- take from the board, and remove: takes tuples away, held or not.
-- KEYS  1 stream  2 book  3 expiry
-- ARGV  ids
-- returns how many of them were there
purge(KEYS[1], KEYS[2], KEYS[3], now_ms())
local gone = 0
for _, id in ipairs(ARGV) do
  local there = remove(KEYS[1], KEYS[2], KEYS[3], id)
  gone = gone + there
end
return gone
