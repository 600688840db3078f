/*
 * inherited: what redlock got from its own parent for the command: descriptors, standard streams,
 * the working directory. Once the command has them, whoever watches over it lets them go: a reader
 * at the other end of a pipe, or an administrator who wants to unmount, waits for the command
 * alone.
 */
#ifndef IO_INHERITED_H
#define IO_INHERITED_H

/* Closes what is not ours: all that redlock opens closes itself on exec, what it got does not.
 * Moves to / and replaces stdin and stdout by /dev/null. stderr stays, for words. */
void inherited_drop(void);

/* stderr as well, for who has nobody left to talk to: whoever waits for the end of a pipe waits for
 * that of all its writers. */
void inherited_drop_stderr(void);

/* The same for a child of ours, which also lets go of all of ours but those four. */
void inherited_keep_only(int one, int two, int three, int four);

#endif
