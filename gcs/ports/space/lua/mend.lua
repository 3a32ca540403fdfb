-- mend: moves keys that somebody has put something else into out of the way, and makes sound what is in the others: a
-- value that no script can read (a byte changed on the disk, or somebody else wrote) is made again from the stream.
-- KEYS  the keys; the book and the expiry of a stream come right after it
-- ARGV  the type of each
-- returns the names of those that were moved or changed
local changed = {}
local is_changed

local function is_id(text) return string.match(text, '^%d+%-%d+$') ~= nil and #text < 40 end

local function is_count(text) return string.match(text, '^%d+$') ~= nil and #text < 16 end

-- Puts a value into the book, or takes the field out.
local function set(book, field, value)
  if redis.call('HGET', book, field) == value then return end
  if value then redis.call('HSET', book, field, value) else redis.call('HDEL', book, field) end
  is_changed = true
end

local function mend_book(book)
  local stream = string.sub(book, 1, -6)
  local bytes, keys, sent, start, page = 0, {}, {}, '-', nil
  repeat
    page = redis.call('XRANGE', stream, start, '+', 'COUNT', 1000)
    for _, entry in ipairs(page) do
      local id, fields = entry[1], entry[2]
      if fields[1] == 'p' and fields[3] == 'k' then
        if keys[fields[4]] then redis.call('XDEL', stream, keys[fields[4]].id) end -- of two, the later one holds
        keys[fields[4]] = {id = id, bytes = #fields[2]}
      elseif is_ours(fields) then
        bytes = bytes + #fields[2]
        sent[fields[4]] = math.max(sent[fields[4]] or 0, tonumber(fields[6]))
      end
      start = '(' .. id
    end
  until #page < 1000
  for key, row in pairs(keys) do
    bytes = bytes + row.bytes
    set(book, 'k:' .. key, row.id)
  end
  local values = redis.call('HGETALL', book)
  for i = 1, #values, 2 do
    local kind, name = string.sub(values[i], 1, 2), string.sub(values[i], 3)
    if kind == 'k:' and not keys[name] then set(book, values[i], false) end
    -- without c:SENDER, the sender tells what it knows to be committed
    if (kind == 'c:' or values[i] == 'foreign') and not is_count(values[i + 1]) then set(book, values[i], false) end
    if kind == 's:' and not is_count(values[i + 1]) then
      set(book, values[i], sent[name] and string.format('%d', sent[name]) or false)
    end
  end
  set(book, 'bytes', string.format('%d', bytes))
end

local function mend_expiry(expiry)
  for _, id in ipairs(redis.call('ZRANGE', expiry, 0, -1)) do
    if not is_id(id) then
      redis.call('ZREM', expiry, id)
      is_changed = true
    end
  end
end

local function mend_tickets(tickets)
  local values = redis.call('HGETALL', tickets)
  for i = 1, #values, 2 do
    if not is_count(values[i + 1]) then set(tickets, values[i], false) end
  end
end

for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  is_changed = kind ~= 'none' and kind ~= ARGV[i]
  if is_changed then
    redis.call('RENAME', key, key .. ':foreign')
  elseif kind ~= 'none' and string.sub(key, -5) == ':book' then
    mend_book(key)
  elseif kind == 'zset' then
    mend_expiry(key)
  elseif kind == 'hash' then
    mend_tickets(key)
  end
  if is_changed then changed[#changed + 1] = key end
end
return changed
