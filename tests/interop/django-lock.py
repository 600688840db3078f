# django-redis' cache.lock(), for clients.bash: django-lock.py SOCKET
import sys

from django.conf import settings

settings.configure(
    CACHES={"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "unix://" + sys.argv[1]}}
)

from django.core.cache import cache
from redis.exceptions import LockNotOwnedError

locks = []


def answer(verb, *words):
    if verb == "take":
        lock = cache.lock(words[0], timeout=int(words[1]) / 1000, blocking_timeout=0)
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


for line in sys.stdin:
    try:
        print(answer(*line.split()), flush=True)
    except Exception as error:
        print("failed:", error, flush=True)
