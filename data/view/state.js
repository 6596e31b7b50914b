// SPDX-License-Identifier: MIT
// @ts-check
//
// state: what is shown, as the fragment of the page's address: a link shows the same, and the browser's back undoes.

import { CHIP_KINDS } from './filter.js';

/** @typedef {import('./filter.js').Chip} Chip */

/**
 * @typedef {object} State
 * @property {string} tab
 * @property {number} type index of sample types; WALL: time on and off the CPU
 * @property {string} search
 * @property {boolean} fold search ignores case
 * @property {Chip[]} chips
 * @property {boolean} inverted stacks from their leaves
 * @property {boolean} flame root below
 * @property {boolean} ordered stacks in order of time
 * @property {number} from bucket of time @property {number} to one past the last; 0: all of the time
 * @property {number} zoom node of the tree that is shown
 * @property {number} fn selected function; 0: none
 * @property {string} sort column of functions
 * @property {string} by label of the heat map
 * @property {boolean} shares a difference of shares
 * @property {boolean} classes colors by class of activity
 */

export const WALL = -1;
export const TABS = ['flame', 'timeline', 'functions', 'tree', 'source', 'graph', 'diff', 'labels', 'summary'];
const SORTS = ['self', 'total', 'name', 'module'];
const TEXT_LIMIT = 4096, CHIP_LIMIT = 32;

/** @param {number} type @param {boolean} isDiff @param {boolean} shares @returns {State} */
export function firstState(type, isDiff, shares) {
	return { tab: isDiff ? 'diff' : 'flame', type, search: '', fold: false, chips: [], inverted: false,
		flame: false, ordered: false, from: 0, to: 0, zoom: 0, fn: 0, sort: 'self', by: '', shares, classes: false };
}

/** @param {string} text @param {number} least @param {number} limit one past the largest */
function readNumber(text, least, limit) {
	const value = Number(text);

	return Number.isInteger(value) && value >= least && value < limit ? value : least < 0 ? undefined : 0;
}

/** Only what differs from first. @param {State} state @param {State} first */
export function toFragment(state, first) {
	const parts = new URLSearchParams();

	for (const key of /** @type {(keyof State)[]} */ (Object.keys(first))) {
		if (key === 'chips')
			state.chips.forEach((chip) => parts.append('c', chip.kind + ':' + chip.text));
		else if (state[key] !== first[key])
			parts.set(key, String(typeof state[key] === 'boolean' ? Number(state[key]) : state[key]));
	}
	return parts.toString();
}

/**
 * What a fragment says; what is no value of a member is left out.
 * @param {string} text without '#' @param {State} first @param {number} types @param {number} functions
 * @returns {State}
 */
export function fromFragment(text, first, types, functions) {
	const parts = new URLSearchParams(text.slice(0, 1 << 16)), state = { ...first, chips: /** @type {Chip[]} */ ([]) };
	const given = (/** @type {string} */ key) => parts.get(key) || '';

	for (const key of /** @type {const} */ (['fold', 'inverted', 'flame', 'ordered', 'shares', 'classes']))
		if (parts.has(key))
			state[key] = given(key) === '1';
	if (TABS.includes(given('tab')))
		state.tab = given('tab');
	if (SORTS.includes(given('sort')))
		state.sort = given('sort');
	if (parts.has('type'))
		state.type = readNumber(given('type'), WALL, types) ?? first.type;
	state.search = given('search').slice(0, TEXT_LIMIT);
	state.by = given('by').slice(0, TEXT_LIMIT);
	state.zoom = readNumber(given('zoom'), 0, 2 ** 31) || 0;
	state.to = readNumber(given('to'), 0, 2 ** 32) || 0;
	state.from = readNumber(given('from'), 0, state.to) || 0;
	state.fn = readNumber(given('fn'), 0, functions) || 0;
	for (const chip of parts.getAll('c').slice(0, CHIP_LIMIT)) {
		const colon = chip.indexOf(':');

		if (CHIP_KINDS.includes(chip.slice(0, colon)))
			state.chips.push({ kind: chip.slice(0, colon), text: chip.slice(colon + 1, colon + 1 + TEXT_LIMIT) });
	}
	return state;
}
