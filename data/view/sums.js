// SPDX-License-Identifier: MIT
// @ts-check
//
// sums: values by function, of calls, of what matches, by label. A stack counts once for a function that is in
// it several times: nodes are visited in pre-order, and until[function] is the end of its outermost subtree.

import { sumTotals } from './tree.js';

/** @typedef {import('./profile.js').Profile} Profile */
/** @typedef {import('./tree.js').Tree} Tree */

const NONE = '(none)';

/** @type {WeakMap<Tree, Int32Array>} */
const functionsOfTrees = new WeakMap();

/** The function of each node. @param {Profile} p @param {Tree} tree */
export function nodeFunctions(p, tree) {
	const known = functionsOfTrees.get(tree), functions = known || new Int32Array(tree.count);

	for (let i = 0; i < tree.count && !known; i++)
		functions[i] = p.functionOf[tree.frame[i]];
	functionsOfTrees.set(tree, functions);
	return functions;
}

/**
 * Self and total of each function.
 * @param {Profile} p @param {Tree} tree @param {Float64Array} self @param {Float64Array} total of nodes
 */
export function functionSums(p, tree, self, total) {
	const count = p.frameOf.length, until = new Int32Array(count);
	const sums = { self: new Float64Array(count), total: new Float64Array(count) };
	const functions = nodeFunctions(p, tree), { end } = tree;

	for (let i = 1; i < functions.length; i++) {
		const fn = functions[i];

		sums.self[fn] += self[i];
		if (i < until[fn])
			continue;
		sums.total[fn] += total[i];
		until[fn] = end[i];
	}
	sums.total[0] = total[0];
	return sums;
}

/**
 * Who calls a function and what it calls, largest first. Caller 0: it is the outermost function of a stack.
 * @param {Profile} p @param {Tree} tree @param {Float64Array} total of nodes @param {number} fn
 */
export function callsOf(p, tree, total, fn) {
	const callers = new Map(), callees = new Map();
	const callerUntil = new Map(), calleeUntil = new Map();
	const add = (/** @type {Map<number, number>} */ sums, /** @type {Map<number, number>} */ until,
		/** @type {number} */ other, /** @type {number} */ node) => {
		if (node < (until.get(other) || 0))
			return;
		until.set(other, tree.end[node]);
		sums.set(other, (sums.get(other) || 0) + total[node]);
	};
	const functions = nodeFunctions(p, tree), { parent } = tree;
	const sorted = (/** @type {Map<number, number>} */ sums) => Array.from(sums, ([other, value]) =>
		({ fn: other, value })).filter((call) => call.value).sort((a, b) => b.value - a.value || a.fn - b.fn);

	for (let i = 1; i < functions.length; i++) {
		const callee = functions[i], caller = functions[parent[i]];

		if (callee === fn)
			add(callers, callerUntil, caller, i);
		if (caller === fn && parent[i])
			add(callees, calleeUntil, callee, i);
	}
	return { callers: sorted(callers), callees: sorted(callees) };
}

/** The total of the stacks below zoom with a frame that matches. @param {Tree} tree @param {Float64Array} total
 * @param {Uint8Array} hits of frames @param {number} zoom */
export function matchedTotal(tree, total, hits, zoom) {
	let sum = 0;

	for (let at = zoom; at > 0; at = tree.parent[at])
		if (hits[tree.frame[at]])
			return total[zoom];
	for (let i = zoom; i < tree.end[zoom];) {
		const isHit = i > 0 && hits[tree.frame[i]];

		sum += isHit ? total[i] : 0;
		i = isHit ? tree.end[i] : i + 1;
	}
	return sum;
}

/** How far samples before and after are from a chance of equal cost; |z| of 3 and more hardly is one.
 * @param {number} before @param {number} after samples @param {number} ratio expected after for one before */
export function changeZ(before, after, ratio) {
	return 2 * (Math.sqrt(after + 0.375) - Math.sqrt(ratio * (before + 0.375))) / Math.sqrt(1 + ratio);
}

export const SURE_Z = 3;

/** The name of each label set in a grouping by key; "thread" is comm and tid. @param {any} meta @param {string} key */
export function groupNames(meta, key) {
	const wanted = key === 'thread' ? ['comm', 'tid'] : [key];

	return meta.sets.map((/** @type {any[]} */ set) => {
		const parts = [];

		for (const one of wanted)
			for (let i = 0; i < set.length; i += 2)
				if (meta.keys[set[i]] === one)
					parts.push(String(set[i + 1]));
		return parts.length ? parts.join(' ') : NONE;
	});
}

/**
 * Values by group and function: rows of groups, largest first.
 * @param {Profile} p @param {Float64Array} values of entries @param {Uint8Array | null} kept
 * @param {string[]} groups of label sets
 */
export function groupSums(p, values, kept, groups) {
	/** @type {Map<string, { name: string, set: number, total: number, byFunction: Map<number, number> }>} */
	const rows = new Map();
	const { node, set } = p.entries;

	for (let i = 0; i < node.length; i++) {
		if (!values[i] || (kept && !kept[i]))
			continue;
		const name = groups[set[i]], fn = p.functionOf[p.tree.frame[node[i]]];
		let row = rows.get(name);

		if (!row) {
			row = { name, set: set[i], total: 0, byFunction: new Map() };
			rows.set(name, row);
		}
		row.total += values[i];
		row.byFunction.set(fn, (row.byFunction.get(fn) || 0) + values[i]);
	}
	return Array.from(rows.values()).sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
}

const CLASS_LABEL = 'class'; // ACTIVITY_LABEL
const CLASSES_MAX = 32; // that are told apart; the rest is one

/**
 * The classes of activity: their names, and which one each label set has. Without names nothing is told apart.
 * @param {any} meta @returns {{ names: string[], ofSet: Uint8Array }}
 */
export function readClasses(meta) {
	const ofSets = groupNames(meta, CLASS_LABEL), has = meta.keys.includes(CLASS_LABEL);
	const all = /** @type {string[]} */ (has ? Array.from(new Set(ofSets)) : []).filter((name) => name !== NONE).sort();
	const names = all.length > CLASSES_MAX ? [...all.slice(0, CLASSES_MAX - 1), 'others'] : all.length > 1 ? all : [];

	return { names, ofSet: Uint8Array.from(ofSets, (/** @type {string} */ name) => Math.min(Math.max(0, all.indexOf(name)), Math.max(0, names.length - 1))) };
}

/**
 * Of each node the class that most of its total is of: an index of names.
 * @param {Tree} tree @param {{ names: string[], ofSet: Uint8Array }} classes @param {Int32Array} set of entries
 * @param {Float64Array} values of entries @param {(entry: number) => number} nodeOf where an entry counts; below 0: nowhere
 */
export function mainClasses(tree, { names, ofSet }, set, values, nodeOf) {
	const main = new Uint8Array(tree.count), most = new Float64Array(tree.count);
	const self = new Float64Array(tree.count), total = new Float64Array(tree.count);

	for (let one = 0; one < names.length; one++) {
		self.fill(0);
		for (let i = 0; i < values.length; i++) {
			const node = ofSet[set[i]] === one && values[i] ? nodeOf(i) : -1;

			if (node >= 0)
				self[node] += values[i];
		}
		sumTotals(tree, self, total);
		for (let i = 0; i < total.length; i++)
			if (total[i] > most[i]) {
				most[i] = total[i];
				main[i] = one;
			}
	}
	return main;
}
