// SPDX-License-Identifier: MIT
// @ts-check
//
// graph_layout: which functions and calls a call graph has, and where they are drawn: callers above callees.

/** @typedef {import('./profile.js').Profile} Profile */
/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {{ from: number, to: number, value: number, isDirect: boolean, isBack: boolean }} Call from, to: functions */
/** @typedef {{ fn: number, layer: number, x: number, y: number }} Place of a function; x, y: its center */

const SWEEPS = 6;
export const BOX_WIDTH = 168;
export const BOX_HEIGHT = 46;
const GAP_X = 26, GAP_Y = 58;

/**
 * Calls between the chosen functions; through others they are not direct. Each stack counts once.
 * @param {Profile} p @param {Tree} tree @param {Float64Array} total of nodes @param {number[]} chosen functions
 * @returns {Call[]} without calls of itself, largest first
 */
export function callsAmong(p, tree, total, chosen) {
	const isChosen = new Uint8Array(p.frameOf.length), above = new Int32Array(tree.count); // nearest chosen function
	const count = p.frameOf.length, calls = new Map(), until = new Map();

	for (const fn of chosen)
		isChosen[fn] = 1;
	for (let i = 1; i < tree.count; i++) {
		const fn = p.functionOf[tree.frame[i]], parent = tree.parent[i], from = above[parent];

		above[i] = isChosen[fn] ? fn : from;
		if (!isChosen[fn] || !from || from === fn || !total[i])
			continue;
		const key = from * count + fn;
		if (i < (until.get(key) || 0))
			continue;
		until.set(key, tree.end[i]);
		const call = calls.get(key) || { from, to: fn, value: 0, isDirect: false, isBack: false };
		call.value += total[i];
		call.isDirect = call.isDirect || p.functionOf[tree.frame[parent]] === from;
		calls.set(key, call);
	}
	return Array.from(calls.values()).sort((a, b) => b.value - a.value || a.from - b.from || a.to - b.to);
}

/** Marks the calls that close a cycle, from the first functions on. @param {number[]} functions @param {Call[]} calls */
function markBack(functions, calls) {
	const state = new Map(), out = new Map(functions.map((fn) => [fn, calls.filter((call) => call.from === fn)]));

	for (const root of functions) {
		const path = state.has(root) ? [] : [{ fn: root, next: 0 }];

		while (path.length) {
			const top = path[path.length - 1], call = /** @type {Call[]} */ (out.get(top.fn))[top.next++];

			state.set(top.fn, call ? 'open' : 'done');
			if (!call)
				path.pop();
			else if (state.get(call.to) === 'open')
				call.isBack = true;
			else if (!state.has(call.to))
				path.push({ fn: call.to, next: 0 });
		}
	}
}

/** The longest way from a function that nobody calls. @param {number[]} functions @param {Call[]} calls */
function findLayers(functions, calls) {
	const layer = new Map(functions.map((fn) => [fn, 0]));

	for (let round = 0, isChanged = true; isChanged && round < functions.length; round++) {
		isChanged = false;
		for (const call of calls) {
			const least = /** @type {number} */ (layer.get(call.from)) + 1;

			if (!call.isBack && /** @type {number} */ (layer.get(call.to)) < least) {
				layer.set(call.to, least);
				isChanged = true;
			}
		}
	}
	return layer;
}

/** Orders each layer by the mean place of its neighbors. @param {number[][]} layers @param {Call[]} calls */
function orderLayers(layers, calls) {
	const place = new Map();
	const number = () => layers.forEach((layer) => layer.forEach((fn, i) => place.set(fn, (i + 0.5) / layer.length)));
	const mean = (/** @type {number} */ fn) => {
		let sum = 0, weight = 0;

		for (const { from, to, value } of calls) {
			if (from !== fn && to !== fn)
				continue;
			sum += value * place.get(from === fn ? to : from);
			weight += value;
		}
		return weight ? sum / weight : place.get(fn);
	};

	number();
	for (let sweep = 0; sweep < SWEEPS; sweep++) {
		for (const layer of sweep % 2 ? layers.slice().reverse() : layers) {
			const wanted = new Map(layer.map((fn) => [fn, mean(fn)]));

			layer.sort((a, b) => wanted.get(a) - wanted.get(b) || a - b);
			layer.forEach((fn, i) => place.set(fn, (i + 0.5) / layer.length));
		}
	}
}

/**
 * @param {number[]} functions the most important first @param {Call[]} calls; isBack is set here
 * @returns {{ places: Map<number, Place>, width: number, height: number }}
 */
export function layoutGraph(functions, calls) {
	markBack(functions, calls);
	const layerOf = findLayers(functions, calls);
	/** @type {number[][]} */
	const layers = [];
	/** @type {Map<number, Place>} */
	const places = new Map();

	for (const fn of functions) {
		const layer = /** @type {number} */ (layerOf.get(fn));

		while (layers.length <= layer)
			layers.push([]);
		layers[layer].push(fn);
	}
	orderLayers(layers, calls);
	const widest = layers.reduce((most, layer) => Math.max(most, layer.length), 1), width = widest * (BOX_WIDTH + GAP_X) + GAP_X;
	layers.forEach((list, layer) => list.forEach((fn, i) => {
		const used = list.length * (BOX_WIDTH + GAP_X), left = (width - used) / 2;

		places.set(fn, { fn, layer, x: left + (i + 0.5) * (BOX_WIDTH + GAP_X), y: GAP_X + BOX_HEIGHT / 2 + layer * (BOX_HEIGHT + GAP_Y) });
	}));
	return { places, width, height: GAP_X + layers.length * (BOX_HEIGHT + GAP_Y) };
}
