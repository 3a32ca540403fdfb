-- refuse: moves tuples that do not have the team's seal to the dead letters. They are taken for forged: nothing that they
-- say is booked (neither a sender's number nor the key of a posted tuple), and their fields may be any.
-- Such a letter has no deliveries: it was never a tuple of the team.
-- KEYS  1 dead letters  2 stream  3 book  4 expiry
-- ARGV  1 name of the type  2 taker  3 reason  4… ids
-- returns how many were moved
local moved = 0
for i = 4, #ARGV do
  local entry = redis.call('XRANGE', KEYS[2], ARGV[i], ARGV[i])[1]
  redis.call('XACK', KEYS[2], GROUP, ARGV[i])
  if entry then
    local payload = ''
    for at = 1, #entry[2], 2 do
      if entry[2][at] == 'p' then payload = entry[2][at + 1] end
    end
    redis.call('XDEL', KEYS[2], ARGV[i])
    redis.call('ZREM', KEYS[4], ARGV[i])
    local bytes = tonumber(redis.call('HGET', KEYS[3], 'bytes') or 0) or 0
    redis.call('HSET', KEYS[3], 'bytes', math.max(0, bytes - #payload))
    redis.call('XADD', KEYS[1], '*', 't', ARGV[1], 'p', payload, 's', '', 'n', 0, 'r', ARGV[3], 'd', 0, 'w', ARGV[2])
    moved = moved + 1
  end
end
return moved
