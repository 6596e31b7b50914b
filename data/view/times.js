// SPDX-License-Identifier: MIT
// @ts-check
//
// times: when values were taken (src/model/sample_times.h): values within a part of the time, lanes of threads, and
// stacks in order of time. A bucket is the unit of time here.

import { countNumbers, readNumbers, unzigzag } from './decode.js';
import { groupNames } from './sums.js';

/** @typedef {import('./profile.js').Profile} Profile */

/**
 * @typedef {object} Times
 * @property {number} bucketNs
 * @property {number} count of buckets
 * @property {boolean} isThinned stacks are right on average only
 * @property {Int32Array} bucket of each timed value
 * @property {Int32Array} entry of each
 * @property {Float64Array} value of each
 * @property {Int32Array | null} order of all in time; null: not needed yet
 * @property {{ type: number, set: number, from: number, to: number }[]} tracks values of one type and label set, in order of time
 */
/** @typedef {{ name: string, tracks: number[], total: number, first: number, last: number }} Lane */

/**
 * @param {Record<string, Uint8Array>} columns @param {any} meta @param {Profile['entries']} entries
 * @returns {Times | null}
 */
export function readTimes(columns, meta, entries) {
	if (!meta.times || !columns.tbucket)
		return null;
	const numbers = (/** @type {string} */ key) => readNumbers(columns[key], new Int32Array(countNumbers(columns[key])));
	const bucket = numbers('tbucket'), entry = numbers('tentry'), used = numbers('tused'), counts = numbers('tcount');
	const type = readNumbers(columns.ttype, new Int32Array(counts.length));
	const value = unzigzag(readNumbers(columns.tvalue, new Float64Array(bucket.length)), 1);
	const tracks = [];
	let count = 1;

	for (let track = 0, at = 0; track < counts.length; track++) {
		const from = at;

		for (; at < from + counts[track]; at++) {
			entry[at] = used[entry[at]];
			if (at > from) {
				bucket[at] += bucket[at - 1];
				value[at] += value[at - 1];
			}
		}
		count = Math.max(count, bucket[at - 1] + 1);
		tracks.push({ type: type[track], set: entries.set[entry[from]], from, to: at });
	}
	return { bucketNs: meta.times.bucket_ns, count, isThinned: meta.times.thinned, bucket, entry, value, order: null, tracks };
}

/** Is it time off the CPU? @param {any} meta @param {number} type */
export function isWait(meta, type) {
	return meta.types[type].name === 'offcpu';
}

/** The sample types that have times. @param {Times} times @returns {number[]} */
export function timedTypes(times) {
	return Array.from(new Set(times.tracks.map((track) => track.type))).sort((a, b) => a - b);
}

/** The part of a wait that lies in [from, to), 0..1. @param {number} end @param {number} length @param {number} from @param {number} to */
function partWithin(end, length, from, to) {
	const begin = from > 0 ? Math.max(from, end - length) : end - length; // what began before all is of the first bucket

	return Math.max(0, Math.min(1, (Math.min(end, to) - begin) / length));
}

/**
 * The values of entries within [from, to), of each type. A type without times has the share of the first that has.
 * @param {Profile} p @param {number} from @param {number} to buckets @returns {Float64Array[]}
 */
export function valuesWithin(p, from, to) {
	const times = /** @type {Times} */ (p.times), { meta, entries } = p, timed = timedTypes(times);
	const { bucket, entry, value } = times, count = entries.node.length;
	/** @type {Float64Array[]} */
	const sums = meta.types.map(() => new Float64Array(count)), untimed = Array.from(sums.keys()).filter((type) => !timed.includes(type));

	for (const track of times.tracks) {
		const sum = sums[track.type], waits = isWait(meta, track.type);

		for (let i = track.from; i < track.to; i++) {
			const part = waits ? partWithin(bucket[i] + 1, Math.max(1, value[i] / times.bucketNs), from, to) :
				Number(bucket[i] >= from && bucket[i] < to);

			sum[entry[i]] += part * value[i];
		}
	}
	for (let i = 0; i < count; i++) {
		const known = untimed.length ? timed.find((type) => entries.values[type][i]) : undefined;

		for (let k = 0; known !== undefined && k < untimed.length; k++)
			sums[untimed[k]][i] = Math.round(entries.values[untimed[k]][i] * sums[known][i] / entries.values[known][i]);
	}
	return sums;
}

/** Threads, or what labels tell apart, the largest first. @param {Profile} p @returns {Lane[]} */
export function findLanes(p) {
	const times = /** @type {Times} */ (p.times), { keys } = p.meta;
	const names = groupNames(p.meta, keys.includes('tid') ? 'thread' : keys.includes('pid') ? 'pid' : 'comm');
	/** @type {Map<string, Lane>} */
	const lanes = new Map();

	times.tracks.forEach(({ type, set, from, to }, i) => {
		const name = names[set] === '(none)' ? 'all' : names[set];
		const lane = lanes.get(name) || { name, tracks: /** @type {number[]} */ ([]), total: 0, first: Infinity, last: 0 };

		lanes.set(name, lane);
		lane.tracks.push(i);
		lane.first = Math.min(lane.first, times.bucket[from]);
		lane.last = Math.max(lane.last, times.bucket[to - 1] + 1);
		for (let k = from; k < to && !isWait(p.meta, type); k++)
			lane.total += times.value[k];
	});
	return Array.from(lanes.values()).sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
}

/** Adds a value to the columns that [begin, end) covers. @param {Float64Array} columns @param {number} begin
 * @param {number} end columns @param {number} value */
function spread(columns, begin, end, value) {
	const first = Math.max(0, Math.floor(begin)), last = Math.min(columns.length - 1, Math.ceil(end) - 1);

	for (let i = first; i <= last; i++)
		columns[i] += value * (Math.min(end, i + 1) - Math.max(begin, i)) / (end - begin);
}

/**
 * What a lane did in columns of equal time: values of a type, and of those the ones that are hit. Time that a value
 * stands for ends in its bucket.
 * @param {Profile} p @param {Lane} lane @param {number} type @param {(entry: number) => boolean} isKept
 * @param {(entry: number) => boolean} isHit @param {number} from @param {number} to buckets @param {number} count of columns
 */
export function laneColumns(p, lane, type, isKept, isHit, from, to, count) {
	const times = /** @type {Times} */ (p.times), all = new Float64Array(count), hit = new Float64Array(count);
	const scale = count / (to - from), isTime = p.meta.types[type].unit === 'nanoseconds';

	for (const index of lane.tracks) {
		const track = times.tracks[index];

		if (track.type !== type)
			continue;
		for (let i = track.from; i < track.to; i++) {
			const end = times.bucket[i] + 1, length = isTime ? Math.max(1, times.value[i] / times.bucketNs) : 1;

			if (end <= from || end - length >= to || !isKept(times.entry[i]))
				continue;
			spread(all, (end - length - from) * scale, (end - from) * scale, times.value[i]);
			if (isHit(times.entry[i]))
				spread(hit, (end - length - from) * scale, (end - from) * scale, times.value[i]);
		}
	}
	return { all, hit };
}

/** The lane of each track. @param {Profile} p @param {Lane[]} lanes */
export function lanesOfTracks(p, lanes) {
	const of = new Int32Array(/** @type {Times} */ (p.times).tracks.length);

	lanes.forEach((lane, number) => lane.tracks.forEach((track) => of[track] = number));
	return of;
}

/** The indices of numbers in their order; equal ones stay in theirs. @param {Int32Array} numbers */
function sortedBy(numbers) {
	const keys = Float64Array.from(numbers, (number, i) => number * numbers.length + i);

	return Int32Array.from(keys.sort(), (key) => key % numbers.length);
}

/** The first place in order whose value is of this bucket or later. @param {Times} times @param {Int32Array} order @param {number} at */
function placeOf(times, order, at) {
	let low = 0, high = order.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (times.bucket[order[middle]] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/**
 * Timed values within [from, to) in order of time.
 * @param {Profile} p @param {Uint8Array | null} kept of entries @param {number} from @param {number} to buckets
 */
export function valuesInOrder(p, kept, from, to) {
	const times = /** @type {Times} */ (p.times), order = times.order || (times.order = sortedBy(times.bucket));
	const inside = order.subarray(placeOf(times, order, from), placeOf(times, order, to));

	return kept ? inside.filter((i) => kept[times.entry[i]] > 0) : inside;
}

/** The track of a timed value. @param {Times} times @param {number} i */
export function trackOf({ tracks }, i) {
	let low = 0, high = tracks.length - 1;

	while (low < high) {
		const middle = (low + high + 1) >> 1;

		if (tracks[middle].from <= i)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/**
 * Timed values of some types within [from, to), lane by lane in order of time.
 * @param {Profile} p @param {Lane[]} lanes @param {number[]} types @param {Uint8Array | null} kept of entries
 * @param {number} from @param {number} to buckets
 * @returns {{ index: Int32Array, lane: Int32Array }} of each, which it is, and its lane
 */
export function valuesByLane(p, lanes, types, kept, from, to) {
	const times = /** @type {Times} */ (p.times), laneOf = lanesOfTracks(p, lanes);
	const lane = new Int32Array(times.bucket.length).fill(-1);

	times.tracks.forEach((track, number) => types.includes(track.type) && lane.fill(laneOf[number], track.from, track.to));
	const inTime = valuesInOrder(p, kept, from, to).filter((i) => lane[i] >= 0);
	const index = sortedBy(inTime.map((i) => lane[i])).map((place) => inTime[place]);
	return { index, lane: index.map((i) => lane[i]) };
}
