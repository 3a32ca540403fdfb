-- ticket: a number above the floor and above every one given before.
-- KEYS  1 tickets
-- ARGV  1 name  2 floor
-- returns the number
local number = math.max(tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0), tonumber(ARGV[2])) + 1
redis.call('HSET', KEYS[1], ARGV[1], number)
return number
