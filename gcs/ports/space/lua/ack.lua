-- ack: removes tuples that their taker has finished, and books their bytes and numbers. Of several acks one removes it.
-- KEYS  1 stream  2 book  3 expiry
-- ARGV  1 MessagePack of one flat list: id, size in bytes, sender, number of each tuple (1,000 at most; ids distinct)
-- returns how many of them this call removed
local stream, book, expiry = KEYS[1], KEYS[2], KEYS[3]
local rows = cmsgpack.unpack(ARGV[1])
local ids = {}
for i = 1, #rows, 4 do ids[#ids + 1] = rows[i] end
-- What is held is in the stream. So if all were held, one XDEL removes them all; else each one is asked for.
local all = redis.call('XACK', stream, GROUP, unpack(ids)) == #ids
if all then redis.call('XDEL', stream, unpack(ids)) end

local done, bytes, upto = 0, 0, {}
for i = 1, #rows, 4 do
  if all or redis.call('XDEL', stream, rows[i]) == 1 then
    local sender, number = rows[i + 2], rows[i + 3]
    done, bytes = done + 1, bytes + rows[i + 1]
    if sender ~= '' then -- as `commit` does, but c:SENDER is read and written once
      local last = upto[sender] or tonumber(redis.call('HGET', book, 'c:' .. sender) or 0)
      if number == last + 1 then
        last = number
      elseif number > last then
        redis.call('HSET', book, 'x:' .. sender .. ':' .. number, 1)
      end
      upto[sender] = last
    end
  end
end
if done == 0 then return 0 end
redis.call('ZREM', expiry, unpack(ids))
redis.call('HINCRBY', book, 'bytes', 0 - bytes)
for sender, last in pairs(upto) do
  while redis.call('HDEL', book, 'x:' .. sender .. ':' .. (last + 1)) == 1 do last = last + 1 end
  redis.call('HSET', book, 'c:' .. sender, last)
end
return done
