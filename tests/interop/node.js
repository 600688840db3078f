// Locks from npm by a majority of nodes, for clients.bash: node.js LIBRARY SOCKET...
"use strict";

const { createInterface } = require("node:readline");
const { Redis } = require("ioredis");

// Of each library: take(key, ms) gives the lock, or throws Refused; extend(lock, ms) and release(lock) throw Lost.
class Refused extends Error {}
class Lost extends Error {}

const libraries = {
	"redlock-5"(nodes) {
		const { default: Redlock, ExecutionError } = require("redlock");
		const redlock = new Redlock(nodes, { retryCount: 0 });
		const attempt = (work, Problem) => work.catch((error) => {
			throw error instanceof ExecutionError ? new Problem() : error;
		});

		redlock.on("error", () => {});
		return {
			take: (key, ms) => attempt(redlock.acquire([key], ms), Refused),
			extend: (lock, ms) => attempt(lock.extend(ms), Lost),
			release: (lock) => attempt(lock.release(), Lost),
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
			async extend(mutex) { // what its timer does
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
