#include "base/clock.h"

#include "unit/unit.h"

TEST(clock_never_goes_back)
{
	usec last = clock_now();

	for (int i = 0; i < 1000000; i++) {
		usec now = clock_now();

		if (now < last) {
			CHECK_INT(now, last);
			return;
		}
		last = now;
	}
}

TEST(never_stays_never)
{
	CHECK_INT(usec_add(NEVER, 1), NEVER);
	CHECK_INT(usec_add(NEVER - 1, 1), NEVER);
	CHECK_INT(usec_add(5, NEVER), NEVER);
	CHECK_INT(usec_add(5, 6), 11);
}
