/*
 * title: the command line and the name under which ps(1), pgrep(1) and pkill(1) find a process. A
 * child that is forked without exec has its parent's, and would be killed together with it.
 */
#ifndef IO_TITLE_H
#define IO_TITLE_H

/* Call it first, with main's argv: title_set() writes there. */
void title_init(char *argv[]);

/*
 * Shows the calling process as `title`, of at most 15 bytes; a command line that is shorter cuts
 * it. Call it in a child that needs no word of argv any more.
 */
void title_set(const char *title);

#endif
