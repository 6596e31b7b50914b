// SPDX-License-Identifier: MIT
// @ts-check
//
// text: values and names as text. Values are shown as auger's tables show them (model/units.c).

/** @type {Record<string, [string, number]>} family, and factor to nanoseconds or bytes */
const UNITS = {
	nanoseconds: ['time', 1], nanosecond: ['time', 1], ns: ['time', 1],
	microseconds: ['time', 1e3], us: ['time', 1e3],
	milliseconds: ['time', 1e6], ms: ['time', 1e6],
	seconds: ['time', 1e9], s: ['time', 1e9], minutes: ['time', 60e9], hours: ['time', 3600e9],
	bytes: ['size', 1], byte: ['size', 1], b: ['size', 1],
	kilobytes: ['size', 1024], kb: ['size', 1024], megabytes: ['size', 1048576], mb: ['size', 1048576],
	'': ['count', 1], count: ['count', 1], counts: ['count', 1], samples: ['count', 1],
};
/** @type {[number, string][]} */
const TIMES = [[1, 'ns'], [1e3, 'us'], [1e6, 'ms'], [1e9, 's'], [3600e9, 'h']];
const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'ZiB'];

const DIGITS = new Intl.NumberFormat('en-US');

/** "4,660". @param {number} value */
export function grouped(value) {
	return DIGITS.format(Math.round(value));
}

/** @param {number} ns */
function timeText(ns) {
	let i = 0;

	while (i + 1 < TIMES.length && ns >= 0.9995 * TIMES[i + 1][0])
		i++;
	if (i === 0)
		return ns.toFixed(0) + ' ns';
	const amount = ns / TIMES[i][0];
	return amount.toFixed(amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0) + ' ' + TIMES[i][1];
}

/** @param {number} bytes */
function sizeText(bytes) {
	let i = 0;

	while (i + 1 < SIZES.length && bytes >= (i ? 1023.95 : 1023.5)) {
		bytes /= 1024;
		i++;
	}
	return bytes.toFixed(i ? 1 : 0) + ' ' + SIZES[i];
}

/** "1.23 s", "4.0 MiB", "4,660". @param {number} value @param {string} unit */
export function valueText(value, unit) {
	const known = UNITS[unit.toLowerCase()];

	if (!value)
		return '0';
	if (!known || known[0] === 'count')
		return grouped(value) + (known ? '' : ' ' + unit);
	const amount = Math.abs(value) * known[1];
	return (value < 0 ? '-' : '') + (known[0] === 'time' ? timeText(amount) : sizeText(amount));
}

/** With a sign, as a difference. @param {number} value @param {string} unit */
export function changeText(value, unit) {
	return (value > 0 ? '+' : '') + valueText(value, unit);
}

/** "12.34%". @param {number} part @param {number} whole */
export function percentText(part, whole) {
	return whole ? (100 * part / whole).toFixed(2) + '%' : '-';
}

/** The value with all its digits. @param {number} value @param {string} unit */
export function exactText(value, unit) {
	return grouped(value) + (unit === 'count' || !unit ? '' : ' ' + unit);
}

/** Behind the bracket that closes the one at at; 0: there is none. @param {string} text @param {number} at */
function groupEnd(text, at) {
	for (let depth = 0; at < text.length; at++) {
		if ('<([{'.includes(text[at]))
			depth++;
		else if ('>)]}'.includes(text[at]) && text[at - 1] !== '-' && --depth === 0)
			return at + 1;
	}
	return 0;
}

/** A C++ or Rust name without arguments and parameters. @param {string} name */
export function bareName(name) {
	let bare = '';

	if (name.length > 4096 || name.includes('operator') || !/[<(]/.test(name))
		return name;
	for (let at = 0; at < name.length;) {
		const end = '<('.includes(name[at]) && at > 0 && !' :.'.includes(name[at - 1]) ? groupEnd(name, at) : 0;

		if (end && name[at] === '(' && name[end] !== ':')
			break;
		if (!end)
			bare += name[at];
		at = end || at + 1;
	}
	const space = bare.lastIndexOf(' ');
	return bare.slice(space + 1) || name;
}

/** As much of a name as says most in this many columns; '': too few. @param {string} name @param {number} columns */
export function fitName(name, columns) {
	if (name.length <= columns)
		return name;
	if (columns < 3)
		return '';
	let bare = bareName(name);

	while (bare.length > columns && bare.includes('::'))
		bare = bare.slice(bare.indexOf('::') + 2);
	return bare.length <= columns ? bare : bare.slice(0, columns - 2) + '..';
}
