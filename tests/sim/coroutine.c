/* longjmp() to another stack is no error here. */
#undef _FORTIFY_SOURCE

#include "sim/coroutine.h"

void coroutine_begin(struct coroutine *c, char *stack, size_t size, void (*run)(void))
{
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = stack;
	c->context.uc_stack.ss_size = size;
	makecontext(&c->context, run, 0);
	c->has_begun = false;
}

#ifdef __SANITIZE_ADDRESS__

/* It follows swapcontext() to another stack, but not longjmp(). */
static ucontext_t outside;

void coroutine_go_on(struct coroutine *c)
{
	swapcontext(&outside, &c->context);
}

void coroutine_wait(struct coroutine *c)
{
	swapcontext(&c->context, &outside);
}

#else

/* Both functions of ucontext would set the signal mask, which is a system call, each time. */
static jmp_buf outside;

void coroutine_go_on(struct coroutine *c)
{
	if (_setjmp(outside) != 0)
		return;
	if (c->has_begun)
		_longjmp(c->place, 1);
	c->has_begun = true;
	setcontext(&c->context);
}

void coroutine_wait(struct coroutine *c)
{
	if (_setjmp(c->place) == 0)
		_longjmp(outside, 1);
}

#endif
