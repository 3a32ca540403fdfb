-- out to the board: posts a tuple in place of the one with its key, if the condition holds.
-- KEYS  1 stream  2 book  3 expiry  4 5 6 the same for the type of the fence
-- ARGV  1 key  2 payload  3 ttl in ms, 0 for none  4 condition: '', 'absent', 'holds'  5 the fence's key  6 its payload
-- returns 1, or 0 if the condition does not hold
local stream, book, expiry = KEYS[1], KEYS[2], KEYS[3]
local field, ttl, now = 'k:' .. ARGV[1], tonumber(ARGV[3]), now_ms()
purge(stream, book, expiry, now)
local old = redis.call('HGET', book, field)
if ARGV[4] == 'absent' and old then return 0 end
if ARGV[4] == 'holds' then
  purge(KEYS[4], KEYS[5], KEYS[6], now)
  local id = redis.call('HGET', KEYS[5], 'k:' .. ARGV[5])
  local fence = id and redis.call('XRANGE', KEYS[4], id, id)[1]
  if not fence or fence[2][2] ~= ARGV[6] then return 0 end
  old = redis.call('HGET', book, field)
end
if old then remove(stream, book, expiry, old) end
local id = redis.call('XADD', stream, '*', 'p', ARGV[2], 'k', ARGV[1])
redis.call('HSET', book, field, id)
redis.call('HINCRBY', book, 'bytes', #ARGV[2])
if ttl > 0 then redis.call('ZADD', expiry, now + ttl, id) end
return 1
