# Locks of Python's libraries, for clients.bash: python.py redis-py|django-redis SOCKET
import sys

from redis.exceptions import LockNotOwnedError


def redis_py(socket):
    import redis

    return redis.Redis(unix_socket_path=socket).lock


def django_redis(socket):
    from django.conf import settings

    backend = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "unix://" + socket}
    settings.setup(CACHES={"default": backend})
    from django.core.cache import cache

    return cache.lock


def answer(lock_of, locks, verb, *words):
    if verb == "take":
        lock = lock_of(words[0], timeout=int(words[1]) / 1000)
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


lock_of, locks = {"redis-py": redis_py, "django-redis": django_redis}[sys.argv[1]](sys.argv[2]), []
for line in sys.stdin:
    try:
        print(answer(lock_of, locks, *line.split()), flush=True)
    except Exception as error:
        print("failed:", error, flush=True)
