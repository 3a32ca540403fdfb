-- renew, release, leave: changes the leases of tuples that this taker holds.
-- KEYS  1 stream  2 book  3 expiry
-- ARGV  1 taker  2 idle time to set in ms: 0 renews, more than the lease releases  3 who holds them from now on
--       4… for each tuple: id, deliveries to set
-- returns for each tuple 1 if this taker held it and it has not expired, else 0
purge(KEYS[1], KEYS[2], KEYS[3], now_ms())
local held = {}
for i = 4, #ARGV, 2 do
  local mine = redis.call('XPENDING', KEYS[1], GROUP, ARGV[i], ARGV[i], 1, ARGV[1])
  if #mine > 0 then
    redis.call('XCLAIM', KEYS[1], GROUP, ARGV[3], 0, ARGV[i], 'IDLE', ARGV[2], 'RETRYCOUNT', ARGV[i + 1], 'JUSTID')
  end
  held[#held + 1] = #mine
end
return held
