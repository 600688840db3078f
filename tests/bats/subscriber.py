# A waiter's connection: RESP3, subscribed to the channels of a key, and scripts over the same connection.
# usage: subscriber.py SOCKET KEY QUEUE WAITER[,WAITER...] [SCRIPT ARG...]
# QUEUE is the end of the channels' names: {k}, or {k}:3 for slots with limit 3.
# Sends HELLO 3, SUBSCRIBE and EVAL SCRIPT 1 KEY ARG... in one packet. Prints "reply LINE..." for the script's reply, "ready"
# when all of it is answered, "WAITER TEXT" or "queue" for each message, and ends when the connection does.
import socket
import sys


def command(*words):
    words = [word.encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def read(stream):
    line = stream.readline()
    if not line:
        sys.exit()
    kind, rest = line[:1], line[1:-2].decode()
    if kind == b"$":
        return stream.read(int(rest) + 2)[:-2].decode()
    if kind in b"*>%":
        return [read(stream) for _ in range(int(rest) * (2 if kind == b"%" else 1))]
    return rest


path, key, name, waiters, *script = sys.argv[1:]
queue = "redlock:queue:" + name
channels = [queue] + ["redlock:wake:%s:%s" % (name, waiter) for waiter in waiters.split(",")]
connection = socket.socket(socket.AF_UNIX)
connection.connect(path)
packet = command("HELLO", "3") + command("SUBSCRIBE", *channels)
if script:
    packet += command("EVAL", script[0], "1", key, *script[1:])
connection.sendall(packet)
stream = connection.makefile("rb")
awaited = 1 + len(channels) + bool(script)
while True:
    reply = read(stream)
    if reply[:1] == ["message"]:
        print("queue" if reply[1] == queue else reply[1].split(":")[-1] + " " + reply[2], flush=True)
        continue
    awaited -= 1
    if script and awaited == 0:
        print("reply", *reply.split("\n"), flush=True)
    if awaited == 0:
        print("ready", flush=True)
