-- read, scan, count, watch: what an inbox or the board holds, without what has expired.
-- KEYS  1 stream  2 book  3 expiry
-- ARGV  1 start of the range ('-', or '(id' for what comes after it)  2 how many at most; 0 to count only
-- returns the entries, or their number
purge(KEYS[1], KEYS[2], KEYS[3], now_ms())
if ARGV[2] == '0' then return redis.call('XLEN', KEYS[1]) end
return redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])
