#include "proc/priority.h"

#include "proc/kernel.h"

void priority_raise(struct priority *before)
{
	struct sched_param ahead;

	before->policy = kernel_sched_get(&before->param);
	ahead = before->param;
	ahead.sched_priority++;
	if (before->policy >= 0 && kernel_sched_set(0, SCHED_RR, &ahead) < 0)
		before->policy = -1;
}

void priority_restore(const struct priority *before)
{
	if (before->policy >= 0)
		(void)kernel_sched_set(0, before->policy, &before->param);
}
