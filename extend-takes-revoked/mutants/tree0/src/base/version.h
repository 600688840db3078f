/* version: the version of redlock, in one place. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define REDLOCK_VERSION "0.1.0"

#endif
