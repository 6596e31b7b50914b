// SPDX-License-Identifier: MIT
// @ts-check
//
// colors: what frames are filled with. The kinds are told apart also with protan, deutan and tritan sight (least
// CIE76 distance 29.9), and #111 on them has a contrast of 5 and more, also in dark mode.

/** @typedef {import('./model.js').Model} Model */

const KIND_COLORS = ['#f4dd67', '#f4dd67', '#6f8fc8', '#d9757a', '#c0f4be'];
const KIND_LABELS = ['function', 'program', 'library', 'kernel', 'JIT, Python'];
const INLINED_COLOR = '#46d6d6';
export const HIT_COLOR = '#c66bff';
const ROOT_COLOR = '#c9ccd3', SAME_COLOR = '#d5d7dc';
const MORE = ['#f9d5ca', '#f3ab97', '#e87f67', '#dc5a45'];
const LESS = ['#d3e2f6', '#a9c8ee', '#7fabe2', '#5b8fd6'];
/** From all on the CPU to all off it. */
const WALL_COLORS = ['#f2a65a', '#e3ab80', '#c9aca4', '#a8abc6', '#85aae0'];
export const ON_COLOR = WALL_COLORS[0];
export const OFF_COLOR = WALL_COLORS[4];

/** Of classes of activity, by their names before the first dot; the last is of all others. @type {[string, string][]} */
const CLASS_COLORS = [['compute', '#f4dd67'], ['mpi', '#7f9fd8'], ['openmp', '#a9c8ee'], ['lock', '#d9757a'], ['io', '#c0f4be'], ['memory', '#46d6d6'],
	['pagefault', '#e0a6d8'], ['interpreter', '#f2a65a'], ['startup', '#b9b48e'], ['gpu', '#8fd08f'], ['idle', '#c9ccd3'], ['', '#e6cbb0']];

/** A color a little lighter or darker: neighbors of a kind are told apart. @param {string} color @param {number} shade 0..3 */
function shaded(color, shade) {
	const factor = [1, 0.94, 1.04, 0.97][shade];

	return '#' + [1, 3, 5].map((at) => Math.min(255, Math.round(parseInt(color.slice(at, at + 2), 16) * factor))
		.toString(16).padStart(2, '0')).join('');
}

/** The four shades of each color. @type {Map<string, string[]>} */
const shades = new Map();

/** @param {string} color @param {number} number what chooses the shade */
function shadeOf(color, number) {
	let list = shades.get(color);

	if (!list) {
		list = [0, 1, 2, 3].map((shade) => shaded(color, shade));
		shades.set(color, list);
	}
	return list[number & 3];
}

/** @param {Model} model @param {number} node */
function changeColor(model, node) {
	const { ratio, isSure } = model.nodeChange(node);
	const grade = Math.min(3, Math.floor(Math.abs(ratio) * 4));

	return !isSure ? SAME_COLOR : (ratio > 0 ? MORE : LESS)[grade];
}

/** Classes of one family are shades of its color. @param {Model} model @param {string} name */
function classColor({ classes: { names } }, name) {
	const family = (/** @type {string} */ one) => one.split('.')[0], own = family(name);
	const [, color] = CLASS_COLORS.find(([one]) => one === own) || CLASS_COLORS[CLASS_COLORS.length - 1];

	return shadeOf(color, names.filter((one) => family(one) === own).indexOf(name));
}

/** The fill of a node that is shown. @param {Model} model @param {number} node */
export function nodeColor(model, node) {
	const { p, shown } = model, frame = shown.tree.frame[node];

	if (model.isDiff)
		return changeColor(model, node);
	if (!node)
		return ROOT_COLOR;
	if (model.isClassed())
		return classColor(model, model.nodeClass(node));
	if (shown.other) {
		const share = shown.total[node] ? shown.other.total[node] / shown.total[node] : 0;

		return WALL_COLORS[Math.min(4, Math.floor(5 * share))];
	}
	return shadeOf(p.inlined[frame] ? INLINED_COLOR : KIND_COLORS[p.kind[frame]], p.functionOf[frame] * 7 >> 1);
}

/** Color and words of what the picture may have. @param {Model} model @returns {[string, string][]} */
export function legend(model) {
	if (model.isDiff)
		return [[MORE[3], '+ more'], [MORE[1], '+ a little more'], [SAME_COLOR, model.hasSamples ? '= no sure change' : '= same'],
			[LESS[1], '\u2212 a little less'], [LESS[3], '\u2212 less'], [HIT_COLOR, 'found']];
	if (model.isClassed())
		return [...model.classes.names.map((name) => /** @type {[string, string]} */ ([classColor(model, name), name])), [HIT_COLOR, 'found']];
	if (model.shown.other)
		return [[WALL_COLORS[0], 'on the CPU'], [WALL_COLORS[2], 'half and half'], [WALL_COLORS[4], 'off the CPU'], [HIT_COLOR, 'found']];
	const { p } = model, used = new Set(), list = /** @type {[string, string][]} */ ([]);
	for (let i = 1; i < p.tree.count; i++)
		used.add(p.inlined[p.tree.frame[i]] ? 'inlined' : p.kind[p.tree.frame[i]]);
	KIND_COLORS.forEach((color, kind) => used.has(kind) && list.push([color, KIND_LABELS[kind]]));
	if (used.has('inlined'))
		list.push([INLINED_COLOR, 'inlined']);
	list.push([HIT_COLOR, 'found']);
	return list;
}

/** A cell of a heat map: lightness by share. @param {number} share 0..1 */
export function heatColor(share) {
	return `rgba(220, 90, 69, ${Math.max(0, Math.min(1, share)) ** 0.7})`;
}
