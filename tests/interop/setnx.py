# A client of the old style, for clients.bash: SETNX with the time at which the lock ends; a client that reads a time in
# the past takes the lock with GETSET. It reads a number as PHP, Ruby and C do, as far as it goes: setnx.py SOCKET
import re
import sys
import time

import redis


def time_of(value):
    return float(re.match(rb"[0-9]*[.]?[0-9]*", value).group() or 0)


def answer(node, verb, *words):
    key = words[0] if words else "job"
    if verb == "release":
        return "released" if node.delete(key) else "lost"
    ends = repr(time.time() + int(words[1]) / 1000)
    if node.setnx(key, ends):
        return "held"
    if time_of(node.get(key) or b"") > time.time():
        return "refused"
    return "held" if time_of(node.getset(key, ends) or b"") < time.time() else "refused"


node = redis.Redis(unix_socket_path=sys.argv[1])
for line in sys.stdin:
    try:
        print(answer(node, *line.split()), flush=True)
    except Exception as error:
        print("failed:", error, flush=True)
