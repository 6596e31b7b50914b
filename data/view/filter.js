// SPDX-License-Identifier: MIT
// @ts-check
//
// filter: chips: what of a profile is shown. A chip is a kind and a text:
//
//	focus, ignore     keeps, drops the stacks with a frame that matches
//	hide              leaves out the frames that match; their callees go to their callers
//	library           makes one frame of neighbors of a module whose name matches
//	recursion         makes one frame of a function that calls itself
//	label             keeps samples with this label: "key=value"
//
// Texts are regular expressions, except of label; one that is none is searched as it is. Frames match by
// function, module and source file.

/** @typedef {import('./profile.js').Profile} Profile */
/** @typedef {{ kind: string, text: string }} Chip */

export const CHIP_KINDS = ['focus', 'ignore', 'hide', 'library', 'recursion', 'label'];
const NAME_LIMIT = 4096; // characters that are searched of a name
const SLICE = 500; // names between two looks at the clock

/** @param {string} text @param {boolean} isFolded ignores case */
export function makePattern(text, isFolded) {
	const flags = isFolded ? 'i' : '';

	try {
		return new RegExp(text, flags);
	} catch {
		return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags);
	}
}

/**
 * Marks the strings that match, from one on. Returns the next one: not past the last where that takes longer than the limit.
 * @param {string[]} strings @param {RegExp} pattern @param {Uint8Array} hits @param {number} from @param {number} limitMs
 */
export function matchSome(strings, pattern, hits, from, limitMs) {
	const began = performance.now();
	let i = from;

	for (; i < strings.length; i++) {
		const text = strings[i];

		if (i > from && i % SLICE === 0 && performance.now() - began > limitMs)
			break;
		hits[i] = pattern.test(text.length > NAME_LIMIT ? text.slice(0, NAME_LIMIT) : text) ? 1 : 0;
	}
	return i;
}

/** Which of the strings match. @param {string[]} strings @param {RegExp} pattern */
function matchStrings(strings, pattern) {
	const hits = new Uint8Array(strings.length);

	matchSome(strings, pattern, hits, 0, Infinity);
	return hits;
}

/** Which frames match by function, module or file. @param {Profile} p @param {string} text */
function matchFrames(p, text) {
	const hits = matchStrings(p.strings, makePattern(text, false));

	return Uint8Array.from(p.name, (name, i) => hits[name] | hits[p.module[i]] | hits[p.file[i]]);
}

/** Of each node: is a frame of its stack one of these? @param {Profile} p @param {Uint8Array} hits of frames */
function stacksWith(p, hits) {
	const { count, frame, parent } = p.tree, has = new Uint8Array(count);

	for (let i = 1; i < count; i++)
		has[i] = has[parent[i]] | hits[frame[i]];
	return has;
}

/** The labels of each set as "key=value". @param {any} meta @returns {string[][]} */
export function labelTexts(meta) {
	return meta.sets.map((/** @type {any[]} */ set) => {
		const texts = [];

		for (let i = 0; i < set.length; i += 2)
			texts.push(meta.keys[set[i]] + '=' + set[i + 1]);
		return texts;
	});
}

/** Of each label set: does it have one label of each key that chips name? @param {any} meta @param {Chip[]} chips */
function keptSets(meta, chips) {
	/** @type {Map<string, Set<string>>} */
	const byKey = new Map();

	for (const chip of chips) {
		const key = chip.text.split('=', 1)[0];

		byKey.set(key, (byKey.get(key) || new Set()).add(chip.text));
	}
	return labelTexts(meta).map((texts) =>
		Array.from(byKey.values()).every((wanted) => texts.some((text) => wanted.has(text))));
}

/** Of each entry: is it kept? null: all are. @param {Profile} p @param {Chip[]} chips */
export function keptEntries(p, chips) {
	const labels = chips.filter((chip) => chip.kind === 'label');
	const stacks = chips.filter((chip) => chip.kind === 'focus' || chip.kind === 'ignore');
	const { node, set } = p.entries;

	if (!labels.length && !stacks.length)
		return null;
	const kept = new Uint8Array(node.length).fill(1);
	const sets = keptSets(p.meta, labels);
	for (let i = 0; i < node.length && labels.length; i++)
		kept[i] = sets[set[i]] ? 1 : 0;
	for (const chip of stacks) {
		const has = stacksWith(p, matchFrames(p, chip.text)), wanted = chip.kind === 'focus' ? 1 : 0;

		for (let i = 0; i < node.length; i++)
			kept[i] &= has[node[i]] === wanted ? 1 : 0;
	}
	return kept;
}

/**
 * What frames become (mapTree); null: all stay as they are.
 * @param {Profile} p @param {Chip[]} chips @returns {{ mapped: Int32Array, isMerged: boolean } | null}
 */
export function frameMap(p, chips) {
	const changing = chips.filter((chip) => ['hide', 'library', 'recursion'].includes(chip.kind));
	const mapped = Int32Array.from(p.name, (_, i) => i);

	if (!changing.length)
		return null;
	for (const chip of changing) {
		if (chip.kind === 'hide') {
			matchFrames(p, chip.text).forEach((hit, i) => mapped[i] = hit ? -1 : mapped[i]);
		} else if (chip.kind === 'library') {
			const hits = matchStrings(p.strings, makePattern(chip.text, false));

			for (let i = 1; i < mapped.length; i++)
				if (mapped[i] >= 0 && p.strings[p.module[i]] && hits[p.module[i]])
					mapped[i] = /** @type {number} */ (p.moduleFrame.get(p.module[i]));
		}
	}
	return { mapped, isMerged: changing.some((chip) => chip.kind !== 'hide') };
}
