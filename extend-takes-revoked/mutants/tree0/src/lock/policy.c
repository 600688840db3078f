#include "lock/policy.h"

/* Clocks of two machines do not run at one rate: NTP may slew either by 8 to 10 %. The 2 ms are the
 * grain of Redis's expiry. */
#define DRIFT_GRAIN (2 * USEC_MSEC)

usec policy_drift(usec ttl, int factor_permille)
{
	return ttl / 1000 * factor_permille + DRIFT_GRAIN;
}
