/* version: the one place that names it. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define REDLOCK_VERSION "0.1.0"

#endif
