"""The scripts of the rates' buckets in Redis: each is one atomic step. Knows nothing of users and requests.

A bucket is a hash: `debt`, `at`, `limit`. The debt is what is missing to a full bucket, in 60,000ths of a unit, so that
`limit` of them come back each ms: all figures are whole numbers below 2^53. A bucket that is full has no key.
"""

from __future__ import annotations

PER_UNIT = 60_000
"""Parts of a unit: the ms of a minute."""

_BUCKET = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function debt_of(key)
  local row = redis.call('HMGET', key, 'debt', 'at', 'limit')
  if not row[1] then return 0 end
  local passed = now - tonumber(row[2])
  if passed < 0 then
    -- A clock that jumped back fills nothing, and goes on from its new time, also where this call takes nothing.
    redis.call('HSET', key, 'at', string.format('%.0f', now))
    passed = 0
  end
  return math.max(0, tonumber(row[1]) - tonumber(row[3]) * passed)
end
local function write(key, debt, limit)
  if debt <= 0 then redis.call('DEL', key) return end
  redis.call('HSET', key, 'debt', string.format('%.0f', debt), 'at', string.format('%.0f', now), 'limit', limit)
  redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(debt / tonumber(limit)) + 60000))
end
"""

# KEYS: the buckets, then the record of each request. ARGV: number of buckets, expiry of a record in ms, each bucket's
# limit, then per request its amount from each bucket. Returns 1 (taken) or 0, the time in ms, and each bucket's debt
# before. All is taken or nothing. Requests that have a record took before: the first try's reply was lost.
TAKE = (
    _BUCKET
    + """
local num = tonumber(ARGV[1])
local num_requests = #KEYS - num
local function amount(request, bucket) return tonumber(ARGV[2 + request * num + bucket]) end
local reply = {1, string.format('%.0f', now)}
if num_requests > 0 and redis.call('EXISTS', KEYS[num + 1]) == 1 then
  for at = 1, num do
    local before = redis.call('HGET', KEYS[num + 1], KEYS[at])
    reply[2 + at] = string.match(before or ':0', ':(%d+)$')
  end
  return reply
end
local totals = {}
for at = 1, num do
  local limit, debt, total = tonumber(ARGV[2 + at]), debt_of(KEYS[at]), 0
  for request = 1, num_requests do total = total + amount(request, at) end
  reply[2 + at], totals[at] = string.format('%.0f', debt), total
  if debt + total * 60000 > limit * 60000 then reply[1] = 0 end
end
if reply[1] == 0 or num_requests == 0 then return reply end
for at = 1, num do
  local debt, limit = tonumber(reply[2 + at]), ARGV[2 + at]
  write(KEYS[at], debt + totals[at] * 60000, limit)
  for request = 1, num_requests do
    local taken = amount(request, at)
    local row = string.format('%s:%.0f:%.0f:%.0f', limit, taken, now, debt)
    redis.call('HSET', KEYS[num + request], KEYS[at], row)
    debt = debt + taken * 60000
  end
end
for request = 1, num_requests do redis.call('PEXPIRE', KEYS[num + request], ARGV[2]) end
return reply
"""
)

# KEYS: a request's record, then the buckets that it names. ARGV: the amount that was used of each. Returns 1, or 0
# where another call corrected it before. The time since it took has filled a part of what it gives back: that part is
# not given a second time.
CORRECT = (
    _BUCKET
    + """
local rows = {}
for at = 2, #KEYS do rows[at] = redis.call('HGET', KEYS[1], KEYS[at]) end
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
for at = 2, #KEYS do
  local limit, taken, since = string.match(rows[at] or '', '^(%d+):(%d+):(%d+):')
  if limit then
    local more = (tonumber(ARGV[at - 1]) - tonumber(taken)) * 60000
    if more < 0 then more = math.min(0, more + tonumber(limit) * math.max(0, now - tonumber(since))) end
    local debt = debt_of(KEYS[at])
    if more ~= 0 then write(KEYS[at], debt + more, limit) end
  end
end
return 1
"""
)
