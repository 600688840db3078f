#include "base/suggest.h"

#include <limits.h>
#include <string.h>

int suggest_distance(const char *a, const char *b)
{
	enum { MAX = 32 };
	int cost[MAX + 1][MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la >= MAX || lb >= MAX)
		return INT_MAX;
	for (size_t i = 0; i <= la; i++)
		for (size_t j = 0; j <= lb; j++) {
			int best;

			if (i == 0 || j == 0) {
				cost[i][j] = (int)(i + j);
				continue;
			}
			best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (cost[i - 1][j] + 1 < best)
				best = cost[i - 1][j] + 1;
			if (cost[i][j - 1] + 1 < best)
				best = cost[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				cost[i - 2][j - 2] + 1 < best)
				best = cost[i - 2][j - 2] + 1;
			cost[i][j] = best;
		}
	return cost[la][lb];
}

void suggest_consider(struct suggestion *s, const char *word)
{
	size_t len = strlen(s->typed);
	int distance = suggest_distance(s->typed, word);

	if (len > 1 && distance > 1 && strncmp(s->typed, word, len) == 0)
		distance = 1;
	if (distance > (int)(len + 2) / 3 || distance >= (int)len ||
		(s->word && distance >= s->distance))
		return;
	s->word = word;
	s->distance = distance;
}

const char *suggest_meant(const struct guess guesses[], int count, const char *typed)
{
	for (int i = 0; i < count; i++)
		if (strcmp(guesses[i].typed, typed) == 0)
			return guesses[i].meant;
	return NULL;
}
