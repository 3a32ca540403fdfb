-- take: gives one taker tuples of one inbox.
-- KEYS  1 dead letters, then for each type: stream, book, expiry
-- ARGV  1 taker  2 how many of each type  3 lease in ms  4 deliveries before a tuple is buried
--       5 what: 'lapsed' (held longer than the lease) and then new ones, or 'own': only what the taker's name holds
--       6 the holder of what programs of the taker's version cannot read: not for this taker
--       7… for each type: its name, and for 'own' where to begin ('-', '(id')
-- returns {buried, foreign, 1 if there may be more to claim, rows}; a row is {type's index from 1, id, payload, sender, number,
-- deliveries}; claimed rows come first
local taker, limit, lease, most, what, left = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]
local types, now, buried, more, rows, got = (#KEYS - 1) / 3, now_ms(), 0, 0, {}, {}
local foreign = 0

local function give(index, id, fields, deliveries)
  if is_ours(fields) then
    rows[#rows + 1] = {index, id, fields[2], fields[4], fields[6], deliveries}
  else
    bury(KEYS[1], KEYS[3 * index - 1], KEYS[3 * index], KEYS[3 * index + 1], id, '', '', 0, taker)
    foreign = foreign + 1
  end
  got[index] = got[index] + 1
end

-- what takers held too long, without what was left for other versions
local function lapsed(stream)
  local held, start, page = {}, '-', nil
  repeat
    page = redis.call('XPENDING', stream, GROUP, 'IDLE', lease, start, '+', math.max(limit, 100))
    for _, row in ipairs(page) do
      if row[2] ~= left and #held < limit then held[#held + 1] = row end
      start = '(' .. row[1]
    end
  until #held == limit or #page < math.max(limit, 100)
  return held
end

for index = 1, types do
  local stream, book, expiry = KEYS[3 * index - 1], KEYS[3 * index], KEYS[3 * index + 1]
  ensure(stream, book, expiry)
  purge(stream, book, expiry, now)
  local held
  if what == 'own' then
    held = redis.call('XPENDING', stream, GROUP, ARGV[6 + 2 * index], '+', limit, taker)
  else
    held = lapsed(stream)
  end
  if #held == limit then more = 1 end
  got[index] = 0
  for _, row in ipairs(held) do
    local id, deliveries = row[1], row[4]
    if deliveries >= most then
      local reason = 'delivered ' .. deliveries .. ' times'
      buried = buried + bury(KEYS[1], stream, book, expiry, id, ARGV[5 + 2 * index], reason, deliveries, row[2])
    else
      local entry = redis.call('XCLAIM', stream, GROUP, taker, 0, id)[1]
      if entry and entry[2] then
        give(index, id, entry[2], deliveries + 1)
      else -- its tuple is gone
        redis.call('XACK', stream, GROUP, id)
      end
    end
  end
end
for index = 1, types do
  local want = limit - got[index]
  if want > 0 and what ~= 'own' then
    local reply = redis.call('XREADGROUP', 'GROUP', GROUP, taker, 'COUNT', want, 'STREAMS', KEYS[3 * index - 1], '>')
    if reply then
      for _, entry in ipairs(reply[1][2]) do give(index, entry[1], entry[2], 1) end
    end
  end
end
return {buried, foreign, more, rows}
