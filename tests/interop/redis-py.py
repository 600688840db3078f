# redis-py's Lock, for clients.bash: redis-py.py SOCKET
import sys

import redis
from redis.exceptions import LockNotOwnedError


def answer(client, locks, verb, *words):
    if verb == "take":
        lock = client.lock(words[0], timeout=int(words[1]) / 1000)
        if not lock.acquire(blocking=False):
            return "refused"
        locks.append(lock)
        return "held"
    try:
        if verb == "extend":
            locks[-1].extend(int(words[0]) / 1000, replace_ttl=True)
            return "extended"
        locks.pop().release()
        return "released"
    except LockNotOwnedError:
        return "lost"


client, locks = redis.Redis(unix_socket_path=sys.argv[1]), []
for line in sys.stdin:
    try:
        print(answer(client, locks, *line.split()), flush=True)
    except Exception as error:
        print("failed:", error, flush=True)
