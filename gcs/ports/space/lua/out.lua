-- out: puts tuples of one type into an inbox, in order, as far as there is room, each number once.
-- KEYS  1 stream  2 book  3 expiry
-- ARGV  1 limit in bytes  2 ttl in ms, 0 for none  3 sender, '' if not numbered  4 base  5 first number  6… payloads
-- returns {accepted, full, sent, committed}
local stream, book, expiry = KEYS[1], KEYS[2], KEYS[3]
local limit, ttl, sender = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local base, first = tonumber(ARGV[4]), tonumber(ARGV[5])
local now = now_ms()
ensure(stream, book, expiry)
purge(stream, book, expiry, now)

local bytes = tonumber(redis.call('HGET', book, 'bytes') or 0)
local sent, committed = 0, 0
if sender ~= '' then
  local known = redis.call('HGET', book, 's:' .. sender)
  sent, committed = tonumber(known or 0), tonumber(redis.call('HGET', book, 'c:' .. sender) or 0)
  if committed < base - 1 then -- the server forgot commits that the sender knows of
    if known then
      for number = committed + 1, base - 1 do redis.call('HDEL', book, 'x:' .. sender .. ':' .. number) end
    end
    committed = base - 1
    while redis.call('HDEL', book, 'x:' .. sender .. ':' .. (committed + 1)) == 1 do committed = committed + 1 end
    redis.call('HSET', book, 'c:' .. sender, committed)
  end
  sent = math.max(sent, committed)
end

local accepted, full = 0, 0
for i = 6, #ARGV do
  local number = sender == '' and 0 or first + i - 6
  if sender == '' or number == sent + 1 then
    if bytes > 0 and bytes + #ARGV[i] > limit then
      full = 1
      break
    end
    if ttl > 0 then
      local id = redis.call('XADD', stream, '*', 'p', ARGV[i], 's', sender, 'n', number, 'u', 1)
      redis.call('ZADD', expiry, now + ttl, id)
    else
      redis.call('XADD', stream, '*', 'p', ARGV[i], 's', sender, 'n', number)
    end
    if sender ~= '' then sent = number end
    bytes = bytes + #ARGV[i]
  elseif number > sent + 1 then
    break -- a gap: the server forgot what lay between, and the sender will send it again
  end
  accepted = accepted + 1
end
redis.call('HSET', book, 'bytes', bytes)
if sender ~= '' then redis.call('HSET', book, 's:' .. sender, sent) end
return {accepted, full, sent, committed}
