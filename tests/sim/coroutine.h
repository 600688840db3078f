/*
 * coroutine: a function with a stack of its own, which runs until it waits.
 *
 *	coroutine_begin()   sets it up; nothing runs yet. A second call begins it anew
 *	coroutine_go_on()   from outside: runs it until it waits
 *	coroutine_wait()    from within: returns when it goes on
 *
 * The function must not return. One coroutine runs at a time.
 */
#ifndef SIM_COROUTINE_H
#define SIM_COROUTINE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

struct coroutine {
	ucontext_t context;
	jmp_buf place;
	bool has_begun;
};

void coroutine_begin(struct coroutine *c, char *stack, size_t size, void (*run)(void));
void coroutine_go_on(struct coroutine *c);
void coroutine_wait(struct coroutine *c);

#endif
