/* request: what is asked of a node and what its answer means, as data. */
#ifndef CORE_REQUEST_H
#define CORE_REQUEST_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op {
	OP_ACQUIRE, /* take the key if it is free */
	OP_EXTEND, /* a new TTL if the key is still ours; touches nothing otherwise */
	OP_HEAL, /* OP_ACQUIRE for a node that lost our key; its answer is never a vote */
	OP_RELEASE, /* delete the key if it is ours, without a word to anybody, unless a word of
		       another one waits for that: a failed attempt's */
	OP_HAND_OVER, /* the same, and wake the first in line: it is its turn now */
	OP_LEAVE, /* OP_EXTEND as the last word: nobody will release it, it ends by itself */
	OP_FENCE, /* a fencing number for the key that is ours, if none larger was given there */
	OP_LOOK, /* who has it? Changes nothing. GONE: it is free; FOREIGN: whoever has it, maybe we
		  */
	OP_JOIN, /* be known to wait; WAIT follows at once. YES: the key is free, and no one's turn
		  */
	OP_WAIT, /* be woken, one after the other; blocks the connection until then */
	OP_SCAN, /* the next page of the node's locks (struct page) */
	OP_BREAK, /* delete the hash or sorted set that expires and whose name and members are the
		     token. FOREIGN: the text has those that are there */
	OP_ASK, /* any command, whose reply is wanted as it is, whole, in a page */
	OPS,
};

enum vote {
	VOTE_NONE, /* not asked, or not answered yet */
	VOTE_YES, /* done; JOIN: nobody is in the way; WAIT: woken */
	VOTE_GONE, /* no such key */
	VOTE_FOREIGN, /* the key is somebody else's */
	VOTE_ABSENT, /* no clean answer: never a vote, and never "busy" */
};

/* Why a node is absent. The words are in reason_words(). */
enum reason {
	REASON_NONE,
	REASON_UNRESOLVED, /* detail: the resolver's words */
	REASON_CONNECT, /* detail: the system's words */
	REASON_CLOSED, /* the connection broke; detail may say how */
	REASON_CONNECT_TIMEOUT,
	REASON_TLS_TIMEOUT, /* it accepted the connection, but there was no TLS in time */
	REASON_NOT_TLS,
	REASON_SPEAKS_TLS, /* and we did not */
	REASON_TLS, /* no agreement; detail: OpenSSL's words */
	REASON_UNTRUSTED, /* detail: what is wrong with its certificate */
	REASON_CLIENT_CERTIFICATE, /* it wants one, or does not take ours; then detail may say why
				    */
	REASON_TIMEOUT,
	REASON_NOT_READY, /* an attempt did not wait until it was connected, or had released a key
			   */
	REASON_LOADING,
	REASON_READONLY,
	REASON_MISCONF,
	REASON_OOM,
	REASON_NOAUTH,
	REASON_NO_PASSWORD, /* it was given one, and has none */
	REASON_NOPERM,
	REASON_MOVED,
	REASON_CLUSTERDOWN,
	REASON_MASTERDOWN,
	REASON_NOREPLICAS,
	REASON_BUSY,
	REASON_MAXCLIENTS,
	REASON_SERVER, /* another error; detail: the server's words */
	REASON_QUARANTINE, /* it is new, or forgot its keys; for another pttl */
	REASON_SKEWED, /* its clock is off by pttl; detail: "ahead" or "behind" */
	REASON_COUNTER, /* the fencing number cannot be raised; detail: the counter's key */
	REASON_GARBAGE, /* not the protocol, or not our script's answer */
	REASON_TOO_LONG,
};

#define REQUEST_KEY_MAX 4096

/* Where a node has the mark of the restart guard. No key format that a library is known to have
 * makes this name: "redlock:node" would be the lock "node" of one that writes "redlock:%s". */
#define GUARD_KEY "{redlock}:node"

#define KEYS_MAX 16

/* The keys of one lock: all of them or none. */
struct key_list {
	int count;
	const char *key[KEYS_MAX];
};

/* The holders of a semaphore, each in a slot of its own. */
#define SLOTS_MAX 1000

/* For those who have one. */
#define ONE_KEY(name) ((struct key_list){.count = 1, .key = {(name)}})

#define ANSWER_TEXT_MAX 320
#define RUN_ID_MAX 41

struct answer {
	enum vote vote;
	enum reason reason; /* VOTE_ABSENT only */
	usec pttl; /* time left of the key as the node sees it; NEVER: no expiry */
	size_t text_len;
	char text[ANSWER_TEXT_MAX]; /* FOREIGN: the holder's value, raw; ABSENT: detail, raw; YES:
				       the turn that is ours now, if any; ASK: the reply, or
				       an array's last item; SCAN: the cursor of the next page,
				       shorter than RUN_ID_MAX, "0": there is none */
	char run_id[RUN_ID_MAX]; /* which life of which server answered; "" if it does not say */
	bool is_reserved; /* FOREIGN: the key is free, but it is another one's turn; or readers',
			     and others are before us in line */
	bool is_shared; /* the key is readers' */
	int key; /* FOREIGN: the index of the key that this is about; YES: of the turn's */
	unsigned awaited; /* 1 << i: others wait for key i at this node. SCAN: the page was too long
			   */
	bool is_unguarded; /* YES: but the node may have forgotten its keys, and cannot tell */
	bool is_partial; /* NO: but a key that was asked for is ours */
	int64_t fence; /* the node's fencing number: ACQUIRE that asked for one: raised for us;
			  LOOK: the last; 0: none */
	int slot; /* of a semaphore: FOREIGN: another one that is free there; WAIT: that we were
		     woken for; JOIN: that is free; 0: none */
	usec soonest; /* FOREIGN: when the first of its slots ends; else as pttl */
};

/* An answer that is no answer; detail may be NULL. */
struct answer answer_absent(enum reason reason, const char *detail);

/* Of a refusal, what repeats a secret goes: a server that does not know AUTH shows what was said
 * with it, or the beginning of that. */
void answer_hide(struct answer *a, const char *secret);

/* Do both tell of one value? */
bool answer_same_text(const struct answer *a, const struct answer *b);

/* A few words, such as "refused the connection", without detail. */
const char *reason_words(enum reason reason);

/* What is to be said to a node. All of it must outlive what is made of it. */
struct wish {
	enum op op;
	const struct key_list *keys; /* JOIN, WAIT: one */
	int slots; /* of a semaphore, which has one key; less than 2: it is none */
	int slot; /* which of them this is about; HAND_OVER from the seat: 0: not known */
	const char *token; /* EXTEND, HAND_OVER: its first TOKEN_ID_LEN characters will do. SCAN:
			      the cursor */
	size_t token_len; /* 0: up to its NUL */
	int count; /* SCAN: how many keys to look at, about */
	usec time; /* the key's TTL; HAND_OVER: how long the turn is kept for whoever is woken */
	usec turn_time; /* ACQUIRE with is_fair, RELEASE: the same */
	const char *turn; /* ACQUIRE: what we were woken with, for several keys one behind the
			     other; "": nothing */
	unsigned awaited; /* HAND_OVER: others wait for these keys, maybe at another node: keep
			     their turn here too */
	bool is_leaving; /* HAND_OVER: of a turn that was not used; from the seat, mostly */
	bool gives_up; /* HAND_OVER: by who never held it */
	bool is_waiting; /* ACQUIRE: we have a place in the line here, and keep it when refused, */
	int seat_key; /* for this one of the keys, or it is our turn for it */
	bool is_fair; /* ACQUIRE: not before others who wait, woken or not */
	bool is_shared; /* ACQUIRE, EXTEND, HEAL, LOOK, JOIN: together with other readers */
	bool among_readers; /* the key may be ours among readers', or one's that this is within */
	bool leads; /* JOIN, WAIT, ACQUIRE: a writer that finds readers only, and comes next;
		       HAND_OVER: it does not any more */
	const char *held; /* among_readers: ids of locks that this is within; NULL: of none */
	bool wants_fence; /* ACQUIRE: raise the fencing number */
	int64_t fence; /* FENCE: the number */
	usec quarantine; /* ACQUIRE, LOOK: for so long a node that forgot its keys has no vote; 0:
			    it has */
	usec wall; /* with a quarantine or wants_fence: our time of day, since 1970; with
		      wants_fence the same for all nodes of an attempt */
	bool is_breaking; /* HAND_OVER: whosever it is, if the value begins with the token */
	bool is_alone; /* JOIN: no WAIT follows */
	const char *const *words; /* ASK: the command, NULL-terminated, 8 words at most */
};

/* The parts of a command. They point into what request_build() was given and into *r. */
struct request {
	int argc;
	const char *argv[KEYS_MAX + 14];
	size_t len[KEYS_MAX + 14];
	char count[12], time[24], turn_time[24], fence[24], flags[12], which[12], quarantine[24],
		wall[24], slots[12];
	char wake[REQUEST_KEY_MAX + 24], door[REQUEST_KEY_MAX + 24], slot_key[REQUEST_KEY_MAX + 12];
};

/* Fills *r. Every script is idempotent under one token. A key has REQUEST_KEY_MAX bytes at most. */
void request_build(struct request *r, const struct wish *wish);

/* A reply as the protocol gives it, one level deep. */
enum reply_type {
	REPLY_NIL,
	REPLY_INTEGER,
	REPLY_STRING,
	REPLY_STATUS,
	REPLY_ERROR,
};

#define REPLY_ITEMS_MAX 8

struct reply_item {
	enum reply_type type;
	int64_t integer;
	size_t len; /* as kept: at most sizeof(text) - 1 */
	char text[ANSWER_TEXT_MAX];
};

struct reply {
	int is_array;
	int count; /* items; 1 unless it is an array */
	struct reply_item item[REPLY_ITEMS_MAX];
	/* Where the third of an array's items goes at full length, for those who expect a page; or,
	 * is_whole, all the text that there is, with a line feed behind each item of an array. */
	char *page;
	size_t page_len;
	bool is_whole;
};

/* What OP_SCAN finds: a page is a sequence of entries, each with a line of numbers before it. */
#define PAGE_MAX ((size_t)60 * 1024)

struct page_entry {
	size_t key_len, value_len;
	usec pttl; /* NEVER: no expiry */
	const char *key, *value; /* not terminated */
};

/* Takes the entry at *at, which then points behind it. False at the end, or where it is no page. */
bool page_next(const char **at, const char *end, struct page_entry *entry);

/* What is added up in the fifth item of a reply: see request.c. */
#define MARK_INDEX 65536
#define MARK_PARTIAL 1048576
#define MARK_UNGUARDED 2097152
#define MARK_SHARED 4194304

/* The largest fencing number. Scripts count in doubles, and 2^53 + 1 is none. */
#define FENCE_MAX (((int64_t)1 << 53) - 1)

/* A longer quarantine than that, in a mark that others wrote, is cut to it; but not to less than
 * the client's own. */
#define QUARANTINE_BELIEVED_MS (25 * 3600 * 1000)

/* A node whose clock is off by more than that has no vote where there is a quarantine. */
#define SKEW_MAX_MS 30000

/* What the reply to a request means. Whatever is not exactly an answer to it is ABSENT. */
struct answer answer_read(enum op op, const struct reply *reply);

#endif
