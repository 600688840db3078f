/*
 * title: the command line and the name under which ps(1), pgrep(1) and pkill(1) find a process. A
 * forked child has its parent's, so a pkill for the parent would kill the child, too.
 *
 * main calls title_init() at its start; each forked child calls title_set() once.
 */
#ifndef PROC_TITLE_H
#define PROC_TITLE_H

/* Call it first, with main's argv: title_set() overwrites argv. */
void title_init(char *argv[]);

/*
 * Shows the calling process as `title`, of at most 15 bytes, cut to the length of the command line.
 * Call it in a child that no longer needs argv.
 */
void title_set(const char *title);

#endif
