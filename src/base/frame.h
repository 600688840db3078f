/*
 * frame: which function gets a stack frame of its own.
 *
 * gcc's -fstack-clash-protection touches every page of a large frame when the function is entered,
 * and each page costs a page fault, and another one after a fork. So a function with a large buffer
 * must not be a part of a caller that seldom needs the buffer.
 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

/* A usual run does not call the function. The compiler puts it, and the code that leads to a call
 * of it, apart from what a run needs, which so takes fewer pages. */
#define SELDOM __attribute__((noinline, cold))

/* A usual run may call the function, where the stack is less deep than elsewhere. */
#define OWN_FRAME __attribute__((noinline))

#endif
