// Locks from npm by a majority of nodes, for clients.bash: node.js LIBRARY SOCKET...
"use strict";

const { createInterface } = require("node:readline");
const { Redis } = require("ioredis");

// For each library: take(key, ms) returns the lock, or throws Refused; extend(lock, ms) and
// release(lock) throw Lost.
class Refused extends Error {}
class Lost extends Error {}

// Node-redlock 5 and its successors, which have one interface.
function redlockFrom(name) {
	return (nodes) => {
		const { default: Redlock, Redlock: Named, ExecutionError } = require(name);
		const redlock = new (Named ?? Redlock)(nodes, { retryCount: 0 });
		const attempt = (work, Problem) => work.catch((error) => {
			throw error instanceof ExecutionError ? new Problem() : error;
		});

		redlock.on("error", () => {});
		return {
			take: (key, ms) => attempt(redlock.acquire([key], ms), Refused),
			extend: (lock, ms) => attempt(lock.extend(ms), Lost),
			release: (lock) => attempt(lock.release(), Lost),
		};
	};
}

const libraries = {
	"redlock-5": redlockFrom("redlock"),
	"sesamecare": redlockFrom("@sesamecare-oss/redlock"),
	"redlock-universal"(nodes) {
		const { IoredisAdapter, createRedlock } = require("redlock-universal");
		const adapters = nodes.map((node) => new IoredisAdapter(node));

		return {
			async take(key, ttl) {
				const lock = createRedlock({ adapters, key, ttl, retryAttempts: 0 });

				try {
					return { lock, handle: await lock.acquire() };
				} catch (error) {
					throw error.name === "LockAcquisitionError" ? new Refused() : error;
				}
			},
			async extend(held, ms) {
				if (!await held.lock.extend(held.handle, ms))
					throw new Lost();
				return held;
			},
			async release(held) {
				if (!await held.lock.release(held.handle))
					throw new Lost();
			},
		};
	},
	"ioredis-lock"([node]) {
		const { createLock, LockAcquisitionError, LockExtendError, LockReleaseError } = require("ioredis-lock");
		const attempt = (work, Problem) => work.catch((error) => {
			const known = [LockAcquisitionError, LockExtendError, LockReleaseError];
			throw known.some((one) => error instanceof one) ? new Problem() : error;
		});

		return {
			async take(key, timeout) {
				const lock = createLock(node, { timeout, retries: 0 });

				await attempt(lock.acquire(key), Refused);
				return lock;
			},
			async extend(lock, ms) {
				await attempt(lock.extend(ms), Lost);
				return lock;
			},
			release: (lock) => attempt(lock.release(), Lost),
		};
	},
	"warlock"([node]) {
		const { promisify } = require("node:util");
		const warlock = require("node-redis-warlock")(node);

		return {
			take: (key, ms) => new Promise((resolve, reject) =>
				warlock.lock(key, ms, (error, unlock, id) =>
					unlock ? resolve({ key, id }) : reject(error ?? new Refused()))),
			async extend(lock, ms) {
				if (!await promisify(warlock.touch)(lock.key, lock.id, ms))
					throw new Lost();
				return lock;
			},
			async release(lock) {
				if (!await promisify(warlock.unlock)(lock.key, lock.id))
					throw new Lost();
			},
		};
	},
	"redis-lock"([node]) { // it never reports a taken lock: it tries again and again
		return {
			take: (key, ms) => new Promise((resolve, reject) => {
				const client = {
					v4: {},
					del: (name) => node.del(name),
					async set(name, value, { PX }) {
						if (await node.set(name, value, "PX", PX, "NX"))
							return "OK";
						reject(new Refused());
						return new Promise(() => {}); // no second attempt
					},
				};

				require("redis-lock")(client)(key, ms).then(resolve, reject);
			}),
			async release(unlock) {
				if (!await unlock())
					throw new Lost();
			},
		};
	},
	"redlock-4"(nodes) {
		const Redlock = require("redlock-4");
		const redlock = new Redlock(nodes, { retryCount: 0 });
		const attempt = (work, Problem) => work.catch((error) => {
			throw error instanceof Redlock.LockError ? new Problem() : error;
		});

		return {
			take: (key, ms) => attempt(redlock.lock(key, ms), Refused),
			extend: (lock, ms) => attempt(lock.extend(ms), Lost),
			release: (lock) => attempt(lock.unlock(), Lost),
		};
	},
	"redis-semaphore"(nodes) {
		const { RedlockMutex } = require("redis-semaphore");

		return {
			async take(key, ms) {
				const mutex = new RedlockMutex(nodes, key,
					{ lockTimeout: ms, refreshInterval: 0, acquireAttemptsLimit: 1 });

				if (!await mutex.tryAcquire())
					throw new Refused();
				return mutex;
			},
			async extend(mutex) { // as its timer does
				if (!await mutex._refresh())
					throw new Lost();
				return mutex;
			},
			release: (mutex) => mutex.release(),
		};
	},
};

async function answer(library, held, [verb, ...words]) {
	try {
		switch (verb) {
		case "take":
			held.lock = await library.take(words[0], Number(words[1]));
			return "held";
		case "extend":
			held.lock = await library.extend(held.lock, Number(words[0]));
			return "extended";
		default:
			await library.release(held.lock);
			return "released";
		}
	} catch (error) {
		return error instanceof Refused ? "refused" : error instanceof Lost ? "lost" : `failed: ${error.stack}`;
	}
}

async function main([name, ...sockets]) {
	const library = libraries[name](sockets.map((path) => new Redis({ path })));
	const held = {};

	for await (const line of createInterface({ input: process.stdin }))
		console.log(await answer(library, held, line.split(" ")));
	process.exit();
}

main(process.argv.slice(2));
