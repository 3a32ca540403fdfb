-- Stands in front of every script: how tuples leave an inbox or the board. Their keys (see redis_space.py):
--   stream   the tuples: {p, payload, s, sender, n, number [, u, 1]} in an inbox, {p, payload, k, key} on the board
--   book     hash; inbox: bytes, s:SENDER, c:SENDER, x:SENDER:N, foreign; board: bytes, k:KEY
--   expiry   zset: id -> server time in ms
local GROUP = 'gcs'

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- An inbox's stream and its group come into being together. If somebody has deleted the stream alone, its book is wrong:
-- senders send again what they do not know to be committed.
local function ensure(stream, book, expiry)
  if redis.call('EXISTS', stream) == 0 then
    redis.call('DEL', book, expiry)
    redis.call('XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM')
  end
end

-- c:SENDER moves up over all numbers that are committed without a gap; those ahead of it wait as x:SENDER:N.
local function commit(book, sender, number)
  local upto = tonumber(redis.call('HGET', book, 'c:' .. sender) or 0)
  if number <= upto then return end
  if number > upto + 1 then
    redis.call('HSET', book, 'x:' .. sender .. ':' .. number, 1)
    return
  end
  while redis.call('HDEL', book, 'x:' .. sender .. ':' .. (number + 1)) == 1 do number = number + 1 end
  redis.call('HSET', book, 'c:' .. sender, number)
end

-- Whether an entry of an inbox was put there by GCS: anybody may have written there.
local function is_ours(fields)
  return fields[1] == 'p' and fields[3] == 's' and fields[5] == 'n' and tonumber(fields[6]) ~= nil
end

-- Removes a tuple of which only the id is known, and books it. Returns 1 and its fields, or 0 if it was not there.
-- XACK and XDEL come first: they are allowed when memory is short, and what follows them in a script then is too.
-- A sender that numbered it takes it for committed, unless it is `lost`.
local function remove(stream, book, expiry, id, lost)
  local entry = redis.call('XRANGE', stream, id, id)[1]
  redis.call('XACK', stream, GROUP, id)
  if not entry then return 0 end
  redis.call('XDEL', stream, id)
  redis.call('ZREM', expiry, id)
  local fields = entry[2]
  if is_ours(fields) then
    redis.call('HINCRBY', book, 'bytes', 0 - #fields[2])
    if fields[4] ~= '' and not lost then commit(book, fields[4], tonumber(fields[6])) end
  elseif fields[3] == 'k' and redis.call('HGET', book, 'k:' .. fields[4]) == id then -- on the board
    redis.call('HINCRBY', book, 'bytes', 0 - #fields[2])
    redis.call('HDEL', book, 'k:' .. fields[4])
  end
  return 1, fields
end

local function purge(stream, book, expiry, now)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now)) do
    if remove(stream, book, expiry, id) == 0 then redis.call('ZREM', expiry, id) end
  end
end

-- Moves a tuple to the dead letters; its sender keeps it. What is not ours is only counted.
local function bury(dead, stream, book, expiry, id, kind, reason, deliveries, taker)
  local there, fields = remove(stream, book, expiry, id, true)
  if there == 1 and not is_ours(fields) then
    redis.call('HINCRBY', book, 'foreign', 1)
  elseif there == 1 then
    redis.call('XADD', dead, '*', 't', kind, 'p', fields[2], 's', fields[4], 'n', fields[6],
      'r', reason, 'd', deliveries, 'w', taker)
  end
  return there
end
