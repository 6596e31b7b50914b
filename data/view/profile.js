// SPDX-License-Identifier: MIT
// @ts-check
//
// profile: what the data of a page says: frames, functions, the tree of all stacks, and their values by label.

import { countNumbers, readNumbers, readStrings, unzigzag } from './decode.js';
import { readTimes } from './times.js';
import { makeTree } from './tree.js';

export const KINDS = ['name', 'program', 'library', 'kernel', 'jit'];
const INLINED = 8; // PAGE_FLAG_INLINED

/** @typedef {import('./tree.js').Tree} Tree */

/** @typedef {{ fn: string, module: string, file: string, self: number, total: number, lines: any[], insns: any[] }} Source see
 *	src/view/page/page_source.h */

/**
 * @typedef {object} Profile
 * @property {any} meta see src/view/page/page_meta.h
 * @property {string[]} strings sorted
 * @property {Int32Array} name of each frame: a string; the last frames are whole modules, which no stack has
 * @property {Int32Array} module of each frame: a string
 * @property {Map<number, number>} moduleFrame of a module's string: the frame that is all of it
 * @property {Int32Array} file of each frame: a string
 * @property {Int32Array} line of each frame: where its function begins, 0: unknown
 * @property {Uint8Array} kind of each frame: index of KINDS
 * @property {Uint8Array} inlined of each frame: 1 when inlined
 * @property {Int32Array} functionOf of each frame: its function; frames of equal name and module are one
 * @property {Int32Array} frameOf of each function: its first frame; function 0 is the root's
 * @property {string[]} inlinedOf of each function: 'no', 'yes', 'partly'
 * @property {Tree} tree of all stacks
 * @property {{ node: Int32Array, set: Int32Array, values: Float64Array[] }} entries by node
 * @property {import('./times.js').Times | null} times of values; null: not known
 * @property {Source[]} sources of functions
 */

/** @param {Record<string, Uint8Array>} columns @returns {Tree} */
function readTree(columns) {
	const count = 1 + (columns.up ? countNumbers(columns.up) : 0);
	const up = readNumbers(columns.up, new Int32Array(count - 1));
	const edge = readNumbers(columns.edge, new Int32Array(count - 1));
	const newedge = readNumbers(columns.newedge, new Int32Array(columns.newedge ? countNumbers(columns.newedge) : 0));
	const frame = new Int32Array(count), parent = new Int32Array(count);
	/** @type {number[][]} */
	const callees = [];

	for (let i = 1, made = 0, unseen = 1; i < count; i++) {
		let above = i - 1;

		for (let levels = up[i - 1]; levels > 0; levels--)
			above = parent[above];
		parent[i] = above;
		const list = callees[frame[above]] || (callees[frame[above]] = []);
		if (edge[i - 1]) {
			frame[i] = list[edge[i - 1] - 1];
			continue;
		}
		const given = newedge[made++];
		frame[i] = given ? given - 1 : unseen++;
		list.push(frame[i]);
	}
	return makeTree(frame, parent);
}

/** @param {Record<string, Uint8Array>} columns @param {any} meta @param {number} nodes */
function readEntries(columns, meta, nodes) {
	const counts = readNumbers(columns.entries, new Int32Array(nodes));
	let count = 0;

	for (let i = 0; i < nodes; i++)
		count += counts[i];
	const node = new Int32Array(count);
	for (let i = 0, at = 0; i < nodes; i++)
		for (let k = 0; k < counts[i]; k++)
			node[at++] = i;
	return {
		node,
		set: readNumbers(columns.set, new Int32Array(count)),
		values: meta.types.map((/** @type {any} */ type, /** @type {number} */ i) =>
			unzigzag(readNumbers(columns['v' + i], new Float64Array(count)), type.scale)),
	};
}

/** The modules that frames have, each once. @param {Int32Array} module @param {string[]} strings */
function findModules(module, strings) {
	return Array.from(new Set(module)).filter((string) => strings[string]);
}

/** Arrays behind each other. @param {Int32Array} a @param {number[]} b */
function append(a, b) {
	const all = new Int32Array(a.length + b.length);

	all.set(a);
	all.set(b, a.length);
	return all;
}

/** @param {Record<string, Uint8Array>} columns @returns {Profile} */
export function readProfile(columns) {
	const meta = JSON.parse(new TextDecoder().decode(columns.meta)), strings = readStrings(columns);
	const own = countNumbers(columns.name);
	const column = (/** @type {string} */ key) => readNumbers(columns[key], new Int32Array(own));
	const modules = findModules(column('module'), strings), none = modules.map(() => 0);
	const name = append(column('name'), modules), module = append(column('module'), modules);
	const flags = append(column('flags'), none), count = name.length;
	const functionOf = new Int32Array(count), ids = new Map(), moduleFrame = new Map();
	/** @type {number[]} */
	const frames = [], seen = [];

	for (let i = 0; i < count; i++) {
		const key = i ? name[i] * strings.length + module[i] : -1;
		const known = ids.get(key);

		functionOf[i] = known === undefined ? frames.length : known;
		if (known === undefined) {
			ids.set(key, frames.length);
			frames.push(i);
			seen.push(0);
		}
		seen[functionOf[i]] |= flags[i] & INLINED ? 2 : 1;
	}
	modules.forEach((string, i) => moduleFrame.set(string, own + i));
	for (let i = own; i < count; i++)
		flags[i] = flags[frames[functionOf[Array.prototype.indexOf.call(module, module[i])]]] & (INLINED - 1);
	const tree = readTree(columns), entries = readEntries(columns, meta, tree.count);
	return {
		meta, strings, name, module, moduleFrame, file: append(column('file'), none), line: append(column('line'), none),
		kind: Uint8Array.from(flags, (flag) => flag & (INLINED - 1)),
		inlined: Uint8Array.from(flags, (flag) => flag & INLINED ? 1 : 0),
		functionOf, frameOf: Int32Array.from(frames),
		inlinedOf: seen.map((bits) => ['no', 'no', 'yes', 'partly'][bits]),
		tree, entries, times: readTimes(columns, meta, entries),
		sources: columns.source ? JSON.parse(new TextDecoder().decode(columns.source)) : [],
	};
}

/** @param {Profile} p @param {number} fn */
export function functionName(p, fn) {
	return p.strings[p.name[p.frameOf[fn]]];
}

/** @param {Profile} p @param {number} fn */
export function functionModule(p, fn) {
	return p.strings[p.module[p.frameOf[fn]]];
}

/** "module file.c:12": what is known of a frame besides its name. @param {Profile} p @param {number} frame */
export function frameOrigin(p, frame) {
	const file = p.strings[p.file[frame]], module = p.strings[p.module[frame]];
	const kind = KINDS[p.kind[frame]];
	const parts = [kind === 'name' ? '' : kind === 'jit' ? 'JIT' : kind];

	if (module && module !== '[' + kind + ']')
		parts.push(module);
	if (file && file !== module)
		parts.push(file.slice(file.lastIndexOf('/') + 1) + (p.line[frame] ? ':' + p.line[frame] : ''));
	if (p.inlined[frame])
		parts.push('inlined');
	return parts.filter((part) => part).join(' \u00b7 ');
}
