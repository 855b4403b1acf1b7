"""The event log's scripts in Redis: each is one atomic step on one request's keys. Knows nothing of connections."""

from __future__ import annotations

# Reads the log's state. ARGV: attempt, claim or nothing. A later attempt, or another claim of this one, is an error.
_STATE = """
local claimed = 'claim:' .. ARGV[1]
local writer = 'writer:' .. (ARGV[5] or '')
local meta = redis.call('HMGET', KEYS[1], 'attempt', 'seq', 'digest', claimed, writer)
local attempt, owner = tonumber(ARGV[1]), tonumber(meta[1] or '0')
if attempt < owner then return redis.error_reply('FENCED by attempt ' .. owner) end
if ARGV[2] ~= '' and meta[4] and meta[4] ~= ARGV[2] then return redis.error_reply('FENCED by another claim') end
local last, digest = tonumber(meta[2] or '0'), meta[3] or ''
"""

# KEYS: meta, log. ARGV: attempt, claim, expiry in s, 1 if the frame is to follow what the writer knows, writer, the
# writer's count of appends, the seq and digest that the writer knows, number of events, events, characters of a digest.
# Returns "last seq:digest before:digest", also when the first try's reply was lost, or an error.
APPEND = (
    _STATE
    + """
local number, appended = string.match(meta[5] or '', '^(%d+):(.*)$')
if number == ARGV[6] then return appended end
local known, before = tonumber(ARGV[7]), digest
if last < known then return redis.error_reply('LOST: it ends at ' .. last .. ', before ' .. known) end
if ARGV[8] ~= '' and last > known then
  local row = redis.call('XRANGE', KEYS[2], known .. '-0', known .. '-0')[1]
  local fields = row and row[2] or {}
  before = ''
  for at = 1, #fields, 2 do if fields[at] == 'digest' then before = fields[at + 1] end end
end
if ARGV[8] ~= '' and before ~= ARGV[8] then return redis.error_reply('LOST: it has other events up to ' .. known) end
if ARGV[4] == '1' and last > known then return redis.error_reply('FENCED: it goes on after ' .. last) end
local first = last + 1
last = last + tonumber(ARGV[9])
local after = string.sub(redis.sha1hex(digest .. ARGV[10]), 1, tonumber(ARGV[11]))
local entry = last .. ':' .. digest .. ':' .. after
redis.call('XADD', KEYS[2], last .. '-0', 'seq', first, 'events', ARGV[10], 'follows', digest, 'digest', after)
redis.call('HSET', KEYS[1], 'attempt', attempt, 'seq', last, 'digest', after, writer, ARGV[6] .. ':' .. entry)
if ARGV[2] ~= '' and not meta[4] then redis.call('HSET', KEYS[1], claimed, ARGV[2]) end
redis.call('EXPIRE', KEYS[2], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return entry
"""
)

# KEYS: meta, log. ARGV: attempt, claim, expiry in s, -, -, base's seq and digest, then of each entry its last seq, seq,
# events, digest before and digest. Returns nothing, or an error; a second try of the same finds it done.
PUT_BACK = (
    _STATE
    + """
if digest == ARGV[#ARGV] then return end
if last ~= tonumber(ARGV[6]) or digest ~= ARGV[7] then return redis.error_reply('LOST: it ends at ' .. last) end
for at = 8, #ARGV, 5 do
  redis.call('XADD', KEYS[2], ARGV[at] .. '-0', 'seq', ARGV[at + 1], 'events', ARGV[at + 2],
    'follows', ARGV[at + 3], 'digest', ARGV[at + 4])
end
redis.call('HSET', KEYS[1], 'attempt', attempt, 'seq', ARGV[#ARGV - 4], 'digest', ARGV[#ARGV])
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], claimed, ARGV[2]) end
redis.call('EXPIRE', KEYS[2], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[3])
"""
)

# KEYS: meta. ARGV: attempt, -, expiry in s.
FENCE = (
    _STATE
    + """
redis.call('HSET', KEYS[1], 'attempt', attempt)
redis.call('EXPIRE', KEYS[1], ARGV[3])
"""
)

# KEYS: meta. ARGV: attempt, claim. Returns the claim that owns the attempt, also when the first try's reply was lost.
CLAIM = """
local owner = tonumber(redis.call('HGET', KEYS[1], 'attempt') or '0')
if tonumber(ARGV[1]) < owner then return redis.error_reply('FENCED by attempt ' .. owner) end
if not redis.call('HGET', KEYS[1], 'seq') then return redis.error_reply('LOST: there is no log') end
redis.call('HSETNX', KEYS[1], 'claim:' .. ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], 'claim:' .. ARGV[1])
"""
