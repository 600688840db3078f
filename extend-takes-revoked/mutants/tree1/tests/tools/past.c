/*
 * past VALUE...: a client of the old style (SETNX) reads the value as the time at which a lock
 * ends, and takes the lock if that is in the past. Prints the conversions of C that would read it
 * so, one line for each, "CONVERSION VALUE".
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void compare(const char *conversion, const char *value, long double time, long double now)
{
	if (!(time > now))
		printf("%s %s\n", conversion, value);
}

int main(int argc, char **argv)
{
	const long double msec = (long double)time(NULL) * 1000;

	for (int i = 1; i < argc; i++) {
		compare("atoll", argv[i], (long double)atoll(argv[i]), msec);
		compare("strtol", argv[i], (long double)strtol(argv[i], NULL, 10), msec);
		compare("strtoull", argv[i], (long double)strtoull(argv[i], NULL, 10), msec);
		compare("atof", argv[i], (long double)atof(argv[i]), msec);
		compare("strtod", argv[i], (long double)strtod(argv[i], NULL), msec);
		compare("strtold", argv[i], strtold(argv[i], NULL), msec);
	}
	return 0;
}
