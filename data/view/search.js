// SPDX-License-Identifier: MIT
// @ts-check
//
// search: which frames match what is searched, by function name.

import { makePattern, matchSome } from './filter.js';

/** @typedef {import('./profile.js').Profile} Profile */
/** @typedef {{ hits: Uint8Array, functions: number, isPartial: boolean, strings: Uint8Array, next: number, rounds: number }} Found hits: of frames */

const LIMIT_MS = 100, MOST_ROUNDS = 20; // a search that takes longer than all of them is given up

/**
 * null: nothing is searched. What is partial may be continued.
 * @param {Profile} p @param {string} text @param {boolean} isFolded ignores case @param {Found | null} before a partial one
 * @returns {Found | null}
 */
export function search(p, text, isFolded, before) {
	const known = before || { strings: new Uint8Array(p.strings.length), next: 0, rounds: 0 };
	const functions = new Set(), frames = new Uint8Array(p.name.length);

	if (!text)
		return null;
	const next = matchSome(p.strings, makePattern(text, isFolded), known.strings, known.next, LIMIT_MS);
	for (let i = 1; i < frames.length; i++) {
		frames[i] = known.strings[p.name[i]];
		if (frames[i])
			functions.add(p.functionOf[i]);
	}
	return { hits: frames, functions: functions.size, isPartial: next < p.strings.length, strings: known.strings, next, rounds: known.rounds + 1 };
}

/** Is there more to be searched, and time? @param {Found | null} found */
export function isUnfinished(found) {
	return found !== null && found.isPartial && found.rounds < MOST_ROUNDS;
}
