// The cost of a section with the usual library: acquire on all nodes, spawn, wait, release.
// usage: node node-redlock.js KEY SOCKET|ADDRESS:PORT... -- COMMAND [ARG...]
// FOREIGN_TTL_MS is the lock's TTL, 30000 if unset. COMMAND finds REDLOCK_TOKEN, and
// FOREIGN_UNTIL_MS: the end of the lock, in milliseconds since 1970, because the library does not
// end COMMAND then.
"use strict";

const { spawn } = require("node:child_process");
const { Redis } = require("ioredis");
const { default: Redlock } = require("redlock");

const words = process.argv.slice(2);
const dashes = words.indexOf("--");
const [key, ...places] = words.slice(0, dashes);
const [command, ...args] = words.slice(dashes + 1);

function run(lock) {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, {
			stdio: "inherit",
			env: { ...process.env, REDLOCK_TOKEN: lock.value, FOREIGN_UNTIL_MS: lock.expiration },
		});

		child.on("error", reject);
		child.on("exit", (status, signal) => resolve(signal ? 1 : status));
	});
}

// connect PLACE: a client of the server at a unix socket, or at ADDRESS:PORT.
function connect(place) {
	const [host, port] = place.split(":");

	return place.includes("/") ? new Redis({ path: place }) : new Redis({ host, port: Number(port) });
}

async function main() {
	const nodes = places.map(connect);
	const redlock = new Redlock(nodes);

	try {
		const lock = await redlock.acquire([key], Number(process.env.FOREIGN_TTL_MS || 30000));

		process.exitCode = await run(lock);
		await lock.release();
	} finally {
		for (const node of nodes)
			node.disconnect();
	}
}

main().catch((error) => {
	console.error(`node-redlock: ${error.message}`);
	process.exitCode = 1;
});
