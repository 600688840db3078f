/*
 * suggest: the known word nearest to a mistyped one, for "did you mean".
 *
 * Begin with struct suggestion s = {.typed = word}, call suggest_consider() for each known word,
 * then read s.word.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

/* Both words are the caller's. */
struct suggestion {
	const char *typed;
	const char *word; /* NULL: no known word is near */
	int distance;
};

/* Takes the word if it is near, and nearer than those before it. Near: at most a third of the typed
 * letters are wrong, and not all of them; or the word begins with all that was typed. */
void suggest_consider(struct suggestion *s, const char *word);

/* Returns how many letters must be typed, dropped, changed or swapped with a neighbour to make b of
 * a; INT_MAX if a word has more than 31 letters. */
int suggest_distance(const char *a, const char *b);

/* A name for the same thing elsewhere. */
struct guess {
	const char *typed, *meant;
};

/* NULL: no guess has that name. */
const char *suggest_meant(const struct guess guesses[], int count, const char *typed);

#endif
