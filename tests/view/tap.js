// SPDX-License-Identifier: MIT
// tap: runs cases one after the other; a failed check does not end its case. Prints TAP.

let failed = false;

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export function check(got, want, what = '') {
	if (same(got, want))
		return;
	failed = true;
	console.error(`failed: ${what} got ${JSON.stringify(got)}, want ${JSON.stringify(want)}\n${new Error().stack.split('\n')[2]}`);
}

export function near(got, want, within, what = '') {
	if (!(Math.abs(got - want) <= within))
		check(got, want, what);
}

export async function run(cases) {
	let number = 0, failures = 0;

	for (const [name, act] of Object.entries(cases)) {
		failed = false;
		try {
			await act();
		} catch (reason) {
			failed = true;
			console.error(reason);
		}
		failures += failed ? 1 : 0;
		console.log(`${failed ? 'not ok' : 'ok'} ${++number} - ${name}`);
	}
	console.log(`1..${number}`);
	process.exitCode = failures ? 1 : 0;
}
