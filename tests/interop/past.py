# past.py VALUE...: as tests/tools/past.c, in Python, which takes no other text for a number: then nothing is taken.
import sys
import time

for value in sys.argv[1:]:
    for conversion in (int, float):
        try:
            if conversion(value) < time.time() * 1000:
                print(conversion.__name__, value)
        except ValueError:
            pass
    if value < str(int(time.time() * 1000)) or value < str(time.time()):
        print("text", value)
