// SPDX-License-Identifier: MIT
// @ts-check
//
// model: the profile as the state shows it: filtered, its tree mapped and turned, its values summed. Each step is
// done again only when what it depends on has changed, and values of nodes only when a tab asks for them.

import { frameMap, keptEntries } from './filter.js';
import { callsOf, changeZ, functionSums, mainClasses, matchedTotal, readClasses, SURE_Z } from './sums.js';
import { search } from './search.js';
import { firstState, WALL } from './state.js';
import { findLanes, timedTypes, valuesByLane, valuesWithin } from './times.js';
import { invertTree, mapTree, placeNodes, sequenceTree, sumTotals } from './tree.js';

/** @typedef {import('./profile.js').Profile} Profile */
/** @typedef {import('./state.js').State} State */
/** @typedef {import('./tree.js').Tree} Tree */

/** @typedef {{ tree: Tree, self: Float64Array, total: Float64Array }} Valued a tree and values of its nodes */
/** @typedef {{ self: Float64Array, total: Float64Array }} Sums by function */

const SEQUENCE_NODES = 4e6;
const BEFORE = 0, AFTER = 1, BEFORE_SAMPLES = 2, AFTER_SAMPLES = 3; // enum diff_type

/** The sample types of time on and off the CPU. @param {any} meta */
function wallTypes(meta) {
	const find = (/** @type {string} */ name) => meta.types.findIndex((/** @type {any} */ type) =>
		type.name === name && type.unit === 'nanoseconds');
	const on = find('cpu'), off = find('offcpu');

	return on >= 0 && off >= 0 ? { on, off } : null;
}

/** @param {Tree} tree @param {Float64Array} self */
function valued(tree, self) {
	return { tree, self, total: sumTotals(tree, self, new Float64Array(tree.count)) };
}

/** What the picture has. Where nodes are is not needed before it is drawn. */
class Shown {
	/** @param {Valued} main @param {Valued | null} other @param {Valued[]} sides @param {{ start: Float64Array, width: Float64Array } | null} places */
	constructor({ tree, self, total }, other, sides, places) {
		this.tree = tree;
		this.self = self;
		this.total = total;
		this.other = other;
		this.sides = sides;
		this.places = places;
	}

	get start() {
		return this.place().start;
	}

	get width() {
		return this.place().width;
	}

	place() {
		return this.places || (this.places = placeNodes(this.tree, this.self, this.total));
	}
}

export class Model {
	/** @param {Profile} p */
	constructor(p) {
		this.p = p;
		this.isDiff = Boolean(p.meta.diff);
		this.hasSamples = this.isDiff && p.meta.types.length > AFTER_SAMPLES;
		this.wall = this.isDiff ? null : wallTypes(p.meta);
		this.first = firstState(p.meta.type, this.isDiff, this.isDiff && p.meta.diff.normalized);
		const none = /** @type {any} */ (null); // until update()
		/** @type {State} */
		this.state = this.first;
		/** @type {{ tree: Tree, place: Int32Array | null }} place: of the nodes of all stacks */
		this.mapped = none;
		/** @type {Uint8Array | null} of entries; null: all */
		this.kept = null;
		/** @type {{ main: Valued, other: Valued | null, sides: Valued[] | null }} see main, other, sides */
		this.valued = { main: none, other: null, sides: null };
		this.isSummed = false; // valued is up to date
		/** @type {Shown | null} null: to be turned */
		this.turned = null;
		/** @type {ReturnType<typeof search>} */
		this.found = null;
		/** @type {{ main: Sums, other: Sums | null, sides: Sums[] }} */
		this.functions = none;
		/** @type {ReturnType<typeof callsOf>} of a function */
		this.called = none;
		/** @type {Map<string, number[]>} functions in their orders, of the same values */
		this.sorted = new Map();
		/** @type {Float64Array | undefined} */
		this.wallValues = undefined;
		/** @type {Float64Array[] | null} of entries within the chosen time, of each type; null: all of it */
		this.within = null;
		this.lanes = p.times && !this.isDiff ? findLanes(p) : [];
		this.isCut = false; // the order of time does not fit; known with shown
		this.classes = readClasses(p.meta);
		/** @type {Uint8Array | null} of the nodes that are shown: index of the classes' names */
		this.mainClass = null;
		/** @type {Int32Array | null} of nodes of the mapped tree: those of the inverted one */
		this.inverse = null;
		/** @type {Int32Array | null} in order of time, of nodes that are shown: those of the mapped tree */
		this.origin = null;
		this.keys = { time: '-', tree: '-', values: '-', shown: '-', classes: '-', search: '-', sums: '-', calls: '-' };
		this.set(this.first);
	}

	/** @param {State} state */
	set(state) {
		this.state = state;
		this.update();
	}

	/** Is a step to be done (again)? @param {'time' | 'tree' | 'values' | 'shown' | 'classes' | 'search' | 'sums' | 'calls'} step @param {string} key */
	isNew(step, key) {
		const isNew = this.keys[step] !== key;

		this.keys[step] = key;
		return isNew;
	}

	update() {
		const { p, state } = this;
		const chips = JSON.stringify(state.chips);
		const time = p.times && state.to ? `${state.from}-${state.to}` : '', values = state.type + chips + time;

		if (this.isNew('time', time)) {
			this.within = time ? valuesWithin(p, state.from, state.to) : null;
			this.wallValues = undefined;
		}
		if (this.isNew('tree', JSON.stringify(state.chips.filter((chip) => ['hide', 'library', 'recursion'].includes(chip.kind))))) {
			const map = frameMap(p, state.chips);

			this.mapped = map ? mapTree(p.tree, map.mapped, map.isMerged) : { tree: p.tree, place: null };
		}
		if (this.isNew('values', values)) {
			this.kept = keptEntries(p, state.chips);
			this.isSummed = false;
		}
		if (this.isNew('shown', values + state.inverted + state.ordered))
			this.turned = null;
		if (this.isNew('search', state.fold + state.search))
			this.found = search(p, state.search, state.fold, null);
		if (state.zoom && state.zoom >= this.shown.tree.count)
			this.state = { ...state, zoom: 0 };
	}

	/** Searches on where the time did not suffice. */
	continueSearch() {
		this.found = search(this.p, this.state.search, this.state.fold, this.found);
	}

	/** Values of entries: of a type, or of the wall clock. @param {number} type */
	entryValues(type) {
		const values = this.within || this.p.entries.values;

		if (type !== WALL)
			return values[type];
		if (!this.wallValues && this.wall) {
			const off = values[this.wall.off];

			this.wallValues = values[this.wall.on].map((value, i) => value + off[i]);
		}
		return this.wallValues || values[0];
	}

	/**
	 * Of each node of the tree, the values of what is kept; in the arrays of those before where the tree is the same.
	 * @param {Float64Array} values of entries @param {Valued | null} [before]
	 * @returns {Valued}
	 */
	nodeValues(values, before) {
		const { tree, place } = this.mapped, isSame = before && before.tree === tree;
		const self = isSame ? before.self.fill(0) : new Float64Array(tree.count), { node } = this.p.entries, { kept } = this;

		for (let i = 0; i < node.length; i++)
			if (!kept || kept[i])
				self[place ? place[node[i]] : node[i]] += values[i];
		return { tree, self, total: sumTotals(tree, self, isSame ? before.total : new Float64Array(tree.count)) };
	}

	/** The other value that colors show: before, or off the CPU; null: there is none. */
	otherValues() {
		if (this.isDiff)
			return this.entryValues(BEFORE);
		return this.state.type === WALL && this.wall ? this.entryValues(this.wall.off) : null;
	}

	mainValues() {
		return this.entryValues(this.isDiff ? AFTER : this.state.type);
	}

	/** The values of nodes, up to date. */
	sumValues() {
		if (this.isSummed)
			return this.valued;
		const other = this.otherValues(), before = this.valued, { sides } = before;

		this.valued = { main: this.nodeValues(this.mainValues(), before.main), other: other && this.nodeValues(other, before.other),
			sides: this.hasSamples ? [BEFORE_SAMPLES, AFTER_SAMPLES].map((type, i) =>
				this.nodeValues(this.entryValues(type), sides && sides[i])) : null };
		this.isSummed = true;
		return this.valued;
	}

	get main() {
		return this.sumValues().main;
	}

	/** Before, or off the CPU. */
	get other() {
		return this.sumValues().other;
	}

	/** Samples before and after. */
	get sides() {
		return this.sumValues().sides;
	}

	get shown() {
		return this.turned || (this.turned = this.turn());
	}

	/** The tree that is drawn: as it is, or inverted. */
	turn() {
		const { tree } = this.mapped, all = [this.main, this.other, ...(this.sides || [])];
		let turned = all;

		this.isCut = false;
		this.inverse = this.origin = null;
		if (this.isOrdered())
			return this.sequence();
		if (this.state.inverted) {
			const hasSelf = new Uint8Array(tree.count);

			for (const one of all)
				one && one.self.forEach((value, i) => hasSelf[i] |= value ? 1 : 0);
			const inverted = invertTree(tree, this.p.name.length, hasSelf);
			this.inverse = inverted.place;
			turned = all.map((one) => {
				const self = new Float64Array(inverted.tree.count);

				one && one.self.forEach((value, i) => self[inverted.place[i]] += value);
				return one && valued(inverted.tree, self);
			});
		}
		const [main, other, ...sides] = turned;
		return new Shown(/** @type {Valued} */ (main), other, /** @type {Valued[]} */ (sides), null);
	}

	/** Are frames colored by class of activity? */
	isClassed() {
		return this.state.classes && this.hasClasses();
	}

	hasClasses() {
		return this.classes.names.length > 0 && !this.isDiff;
	}

	/** The class of most of a node that is shown. In order of time: of all of the time. @param {number} node */
	nodeClass(node) {
		const { shown } = this; // also sets origin

		if (this.isNew('classes', this.keys.shown) || !this.mainClass)
			this.mainClass = this.findClasses(shown);
		return this.classes.names[this.mainClass[this.origin ? this.origin[node] : node]];
	}

	/** @param {Shown} shown */
	findClasses(shown) {
		const { node, set } = this.p.entries, { place } = this.mapped, { kept, inverse } = this;
		const tree = this.origin ? this.mapped.tree : shown.tree;

		return mainClasses(tree, this.classes, set, this.entryValues(this.state.type), (i) => {
			const at = place ? place[node[i]] : node[i];

			return kept && !kept[i] ? -1 : inverse ? inverse[at] : at;
		});
	}

	/** Is the picture in order of time? */
	isOrdered() {
		return this.state.ordered && this.lanes.length > 0 && !this.state.inverted;
	}

	/** The types of the values in order of time, and what they are multiplied by, for each entry. */
	orderedTypes() {
		const times = /** @type {any} */ (this.p.times), { values } = this.p.entries, { type } = this.state, timed = timedTypes(times);

		if (type === WALL || timed.includes(type))
			return { types: type === WALL ? timed.filter((one) => this.wall && [this.wall.on, this.wall.off].includes(one)) : [type],
				factor: () => 1 };
		return { types: [timed[0]], factor: (/** @type {number} */ entry) => values[type][entry] / (values[timed[0]][entry] || Infinity) };
	}

	/** What is drawn in order of time: lane by lane. */
	sequence() {
		const times = /** @type {any} */ (this.p.times), { state, p } = this, { tree, place } = this.mapped;
		const { types, factor } = this.orderedTypes(), { node } = p.entries;
		const { index, lane } = valuesByLane(p, this.lanes, types, this.kept, state.from, state.to || times.count);
		const nodes = index.map((i) => place ? place[node[times.entry[i]]] : node[times.entry[i]]);
		const values = Float64Array.from(index, (i) => times.value[i] * factor(times.entry[i]));
		const made = sequenceTree(tree, nodes, values, lane, SEQUENCE_NODES), all = valued(made.tree, made.self);

		this.isCut = made.isCut;
		this.origin = made.origin;
		return new Shown(all, null, [], { start: made.start, width: all.total });
	}

	/** Self and total by function; of a difference also before, and samples. */
	sums() {
		const { tree } = this.mapped;
		const sum = (/** @type {any} */ one) => one && functionSums(this.p, tree, one.self, one.total);

		if (this.isNew('sums', this.keys.values)) {
			this.functions = { main: sum(this.main), other: sum(this.other), sides: (this.sides || []).map(sum) };
			this.sorted.clear();
		}
		return this.functions;
	}

	/** @param {number} fn */
	calls(fn) {
		if (this.isNew('calls', fn + ' ' + this.keys.values))
			this.called = callsOf(this.p, this.mapped.tree, this.main.total, fn);
		return this.called;
	}

	unit() {
		const { type } = this.state;

		return type === WALL ? 'nanoseconds' : this.p.meta.types[type].unit;
	}

	typeName() {
		return this.isDiff ? this.p.meta.diff.type : this.state.type === WALL ? 'wall' :
			this.p.meta.types[this.state.type].name;
	}

	/** The total, also while values of nodes are not needed. */
	whole() {
		if (this.isSummed)
			return this.main.total[0];
		const values = this.mainValues(), { kept } = this;
		let sum = 0;

		for (let i = 0; i < values.length; i++)
			sum += !kept || kept[i] ? values[i] : 0;
		return sum;
	}

	/** What values before are multiplied by. */
	factor() {
		const before = this.other ? this.other.total[0] : 0;

		return this.state.shares && before > 0 && this.whole() > 0 ? this.whole() / before : 1;
	}

	/** Samples after that stand for one before; 0: unknown. */
	sampleRatio() {
		if (!this.sides || !this.other)
			return 0;
		const ratio = this.factor() * (this.other.total[0] / this.whole()) *
			(this.sides[1].total[0] / this.sides[0].total[0]);
		return Number.isFinite(ratio) && ratio > 0 ? ratio : 0;
	}

	/**
	 * What a difference is worth. z null: nobody counted samples.
	 * @param {number} before value @param {number} after value @param {number} [samplesBefore] @param {number} [samplesAfter]
	 */
	change(before, after, samplesBefore, samplesAfter) {
		const ratio = this.sampleRatio(), scaled = before * this.factor();
		const z = ratio ? changeZ(samplesBefore || 0, samplesAfter || 0, ratio) : null;
		const largest = Math.max(Math.abs(scaled), Math.abs(after));

		return { before: scaled, after, change: after - scaled, z,
			ratio: largest ? (after - scaled) / largest : 0,
			isSure: z === null ? Math.abs(after - scaled) > 0.01 * largest : Math.abs(z) >= SURE_Z };
	}

	/** The change of a node that is shown. @param {number} node */
	nodeChange(node) {
		const { other, total, sides } = this.shown;

		return this.change(other ? other.total[node] : 0, total[node],
			sides[0] ? sides[0].total[node] : 0, sides[1] ? sides[1].total[node] : 0);
	}

	/** How much of what is shown matches the search, in the zoomed node. */
	matched() {
		const { tree, total } = this.shown, { zoom } = this.state;

		if (!this.found)
			return null;
		return { part: matchedTotal(tree, total, this.found.hits, zoom), whole: total[zoom],
			functions: this.found.functions, isPartial: this.found.isPartial };
	}

	/** The frames of a node that is shown, root first. @param {number} node */
	stack(node) {
		const names = [];

		for (let at = node; at > 0; at = this.shown.tree.parent[at])
			names.push(this.p.strings[this.p.name[this.shown.tree.frame[at]]]);
		return this.state.inverted ? names : names.reverse();
	}
}
