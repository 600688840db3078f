/*
 * inherited: drops the resources that redlock inherited only for the command: descriptors, standard
 * streams, the working directory.
 *
 * The processes around the command call inherited_drop() or inherited_keep_only() after the command
 * has started. Then the reader of a pipe, or the administrator's umount(8), waits for the command
 * alone. No function reports errors: a failure costs convenience only.
 */
#ifndef PROC_INHERITED_H
#define PROC_INHERITED_H

/* Closes inherited descriptors: they lack FD_CLOEXEC, which each descriptor opened by redlock has.
 * Moves to / and replaces stdin and stdout by /dev/null. Keeps stderr for messages. */
void inherited_drop(void);

/* Replaces stderr by the stdin of inherited_drop() or inherited_keep_only(), in a process that has
 * no messages left: a reader of a pipe waits until all writers have closed it. Needs no descriptor.
 */
void inherited_drop_stderr(void);

/* As inherited_drop(), in a child of redlock; also closes all descriptors of redlock but stderr and
 * those `count` ones; 0 stands for none. */
#define INHERITED_KEPT_MAX 5
void inherited_keep_only(const int *kept, int count);

#endif
