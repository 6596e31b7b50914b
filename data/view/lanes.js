// SPDX-License-Identifier: MIT
// @ts-check
//
// lanes: draws the time line: a scale, all threads together, and a lane a thread; only lanes on the screen.

import { HIT_COLOR, OFF_COLOR, ON_COLOR } from './colors.js';
import { isWait, laneColumns } from './times.js';
import { fitName, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./times.js').Lane} Lane */
/** @typedef {{ all: Float64Array, hit: Float64Array } | null} Columns */

/**
 * @typedef {object} LaneView
 * @property {number} width in pixels of CSS
 * @property {number} height
 * @property {number} scroll of the lanes
 * @property {number} from first bucket that is seen
 * @property {number} to one past the last
 * @property {number} current lane of the keyboard; -1: none
 * @property {{ text: string, minor: string, line: string, accent: string }} colors
 * @property {string} key of what columns depend on
 * @property {Map<number, { on: Columns, off: Columns }>} columns of lanes, which a change of the chosen time leaves as they are
 */

export const SCALE_PX = 22;
export const LANE_PX = 26;
export const NAME_PX = 190;
const MOST_KEPT = 256; // lanes
const LANE_INSET_PX = 3, LANE_FONT = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", Arial, sans-serif';

/** Where a bucket is on the canvas. @param {LaneView} v @param {number} bucket */
export function bucketX(v, bucket) {
	return NAME_PX + (bucket - v.from) / (v.to - v.from) * (v.width - NAME_PX);
}

/** The bucket at a place of the canvas. @param {LaneView} v @param {number} x */
export function bucketAt(v, x) {
	const bucket = v.from + (x - NAME_PX) / (v.width - NAME_PX) * (v.to - v.from);

	return Math.max(v.from, Math.min(v.to, bucket));
}

/** A round step of time: about so many nanoseconds. @param {number} ns */
export function roundStep(ns) {
	const power = 10 ** Math.floor(Math.log10(Math.max(1, ns)));

	return power * (ns / power > 5 ? 10 : ns / power > 2 ? 5 : ns / power > 1 ? 2 : 1);
}

/** @param {CanvasRenderingContext2D} context @param {LaneView} v @param {number} bucketNs */
function drawScale(context, v, bucketNs) {
	const step = roundStep((v.to - v.from) * bucketNs / Math.max(1, (v.width - NAME_PX) / 90)), { colors } = v;

	context.textAlign = 'left';
	for (let ns = Math.ceil(v.from * bucketNs / step) * step; ns <= v.to * bucketNs; ns += step) {
		const x = bucketX(v, ns / bucketNs);

		context.fillStyle = colors.line;
		context.fillRect(Math.round(x), 0, 1, v.height);
		context.fillStyle = colors.minor;
		context.fillText(valueText(ns, 'nanoseconds'), x + 4, SCALE_PX / 2);
	}
}

/** Hatched: a wait is not told by its color alone. @param {CanvasRenderingContext2D} context */
function waitPattern(context) {
	const tile = document.createElement('canvas');

	tile.width = tile.height = 6;
	const inside = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
	inside.fillStyle = OFF_COLOR;
	inside.fillRect(0, 0, 6, 6);
	inside.strokeStyle = '#3f6aa8';
	inside.beginPath();
	for (const at of [-3, 3, 9]) {
		inside.moveTo(at - 3, 6);
		inside.lineTo(at + 3, 0);
	}
	inside.stroke();
	return /** @type {CanvasPattern} */ (context.createPattern(tile, 'repeat'));
}

/** Columns as bars from below. @param {CanvasRenderingContext2D} context @param {Float64Array} columns
 * @param {number} most value of a full bar @param {number} y @param {number} height @param {string | CanvasPattern} fill */
function fillColumns(context, columns, most, y, height, fill) {
	const partOf = (/** @type {number} */ value) => value > 0 ? Math.max(1, Math.round(Math.min(1, value / most) * height)) : 0;

	context.fillStyle = fill;
	for (let i = 0, end = 1; i < columns.length; i = end++) { // equal neighbors are one rectangle
		const part = partOf(columns[i]);

		while (end < columns.length && partOf(columns[end]) === part)
			end++;
		if (part)
			context.fillRect(NAME_PX + i, y + height - part, end - i, part);
	}
}

/** What of entries is shown: kept by the filters, and found by the search. @param {Model} model */
function makeTests(model) {
	const { p, kept, found } = model, { tree } = p, hits = new Uint8Array(found ? tree.count : 0);

	for (let i = 1; found && i < tree.count; i++)
		hits[i] = hits[tree.parent[i]] || found.hits[tree.frame[i]];
	return { isKept: (/** @type {number} */ entry) => !kept || kept[entry] > 0,
		isHit: (/** @type {number} */ entry) => found !== null && hits[p.entries.node[entry]] > 0 };
}

/** The type whose values fill the lanes, and that of waits; -1: none. @param {Model} model @param {number[]} timed */
export function laneTypes(model, timed) {
	const { meta } = model.p, { type } = model.state;
	const main = timed.includes(type) && !isWait(meta, type) ? type : timed.find((one) => !isWait(meta, one));

	return { main: main === undefined ? -1 : main, wait: timed.find((one) => isWait(meta, one)) ?? -1 };
}

/**
 * @param {CanvasRenderingContext2D} context @param {Model} model @param {LaneView} v @param {number[]} timed types
 */
export function drawLanes(context, model, v, timed) {
	const times = /** @type {any} */ (model.p.times), { lanes, p } = model, { main, wait } = laneTypes(model, timed);
	const { isKept, isHit } = makeTests(model), count = Math.max(1, Math.floor(v.width - NAME_PX)), pattern = waitPattern(context);
	const isTime = main >= 0 && p.meta.types[main].unit === 'nanoseconds', full = (v.to - v.from) / count * times.bucketNs;
	const first = Math.floor(v.scroll / LANE_PX), last = Math.min(lanes.length, Math.ceil((v.scroll + v.height) / LANE_PX));
	const rows = [], key = JSON.stringify([count, v.from, v.to, main, wait, model.state.chips, model.state.search, model.state.fold,
		model.found && model.found.next]);
	let most = isTime ? full : 0;

	if (v.key !== key || v.columns.size > MOST_KEPT)
		v.columns.clear();
	v.key = key;
	context.clearRect(0, 0, v.width, v.height);
	context.font = LANE_FONT;
	context.textBaseline = 'middle';
	for (let i = first; i < last; i++) {
		const columns = (/** @type {number} */ type) => type < 0 ? null : laneColumns(p, lanes[i], type, isKept, isHit, v.from, v.to, count);
		const known = v.columns.get(i) || { on: columns(main), off: columns(wait) }, { on, off } = known;

		v.columns.set(i, known);
		for (let k = 0; on && !isTime && k < count; k++)
			most = Math.max(most, on.all[k]);
		rows.push({ lane: lanes[i], i, on, off });
	}
	drawScale(context, v, times.bucketNs);
	for (const { lane, i, on, off } of rows) {
		const y = SCALE_PX + i * LANE_PX - v.scroll, height = LANE_PX - 2 * LANE_INSET_PX;

		if (y < SCALE_PX - LANE_PX)
			continue;
		drawLife(context, v, lane, y);
		if (off)
			fillColumns(context, off.all, full, y + LANE_INSET_PX, height, pattern);
		if (on) {
			fillColumns(context, on.all, most, y + LANE_INSET_PX, height, ON_COLOR);
			fillColumns(context, on.hit, most, y + LANE_INSET_PX, height, HIT_COLOR);
		}
		context.fillStyle = i === v.current ? v.colors.accent : v.colors.text;
		context.textAlign = 'right';
		context.fillText(fitName(lane.name, 26) || lane.name.slice(0, 26), NAME_PX - 8, y + LANE_PX / 2);
	}
	context.clearRect(0, 0, NAME_PX, SCALE_PX);
}

/** A line from a lane's first value to its last. @param {CanvasRenderingContext2D} context @param {LaneView} v
 * @param {Lane} lane @param {number} y */
function drawLife(context, v, lane, y) {
	const from = Math.max(NAME_PX, bucketX(v, lane.first)), to = Math.min(v.width, bucketX(v, lane.last));

	context.fillStyle = v.colors.line;
	context.fillRect(NAME_PX, y + LANE_PX - 1, v.width, 1);
	context.fillStyle = v.colors.minor;
	if (to > from)
		context.fillRect(from, y + LANE_PX - LANE_INSET_PX - 1, to - from, 1);
}
