/*
 * offers: answers a shell that completes a command line of redlock.
 *
 * offers_print() takes the words after `redlock`, up to the cursor; the last one may be incomplete,
 * or empty. It prints lines, of which the first three are always there:
 *
 *     ACTION           how the shell completes the last word:
 *         words          with the values that follow
 *         beginnings     the same, and no space follows
 *         files          with names of files, and with the values
 *         programs       with names of programs
 *         processes      with numbers of processes
 *         hosts          with names of hosts; no space follows
 *         command N      as the line of another command, which begins at the word of index N
 *     LEAD             the beginning of the last word that stays as it is, such as "--key="
 *     NOTE             the kind of value, for a message; or empty
 *     VALUE[TAB TEXT]  a value, without LEAD, and its purpose; any number of such lines
 *
 * The shell selects among the values and quotes them. A value that is no line of printable text is
 * left out. No node is asked. There are no errors: if redlock has nothing to say, because of a
 * control character in the last word or an invalid configuration, no value follows, or no line.
 *
 * A change of this form needs new names of actions: a shell ignores an answer to which it has no
 * action, and its script may be older or newer than the program.
 */
#ifndef CMD_OFFERS_H
#define CMD_OFFERS_H

/* words: they end with NULL; passwords in them are overwritten. Returns the exit status. */
int offers_print(char *const words[]);

#endif
