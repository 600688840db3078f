#include "proc/priority.h"

#include "proc/kernel.h"

void priority_raise(struct priority *before)
{
	struct sched_param ahead;

	if (before->is_raised)
		return;
	before->policy = kernel_sched_get(&before->param);
	ahead = before->param;
	ahead.sched_priority++;
	before->is_raised = before->policy >= 0 && kernel_sched_set(0, SCHED_RR, &ahead) == 0;
}

void priority_restore(const struct priority *before)
{
	if (before->is_raised)
		(void)kernel_sched_set(0, before->policy, &before->param);
}
