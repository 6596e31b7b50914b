// SPDX-License-Identifier: MIT
//
// frames: what a flame graph of auger consists of, for its script.
//
// The script gives a flame graph zoom, search, keys and the width of the window. The picture is
// complete without. The files of this folder are one function, in the order that
// src/view/flame/meson.build names them. Where it runs, #frames (a group with <title>, <rect> and
// <text> for each frame) gives way to #live: one <path> for all frames of a row and shade, so
// that hundreds of thousands of frames are zoomed at once, and labels.
//
// #data is a table of all frames, parents before children, a ';' between them, a ',' between the
// numbers of one; no digits are 0: how many levels to go up from the frame before to reach the parent
// (0: the frame before is the parent), the distance from the end of the sibling before (or
// the start of the parent), and the width; the last two in the unit of the value, halved
// data-halvings times. A frame with a fourth number is too narrow for a name in #frames: the number is
// that of its entry in #names; a fifth is what the other profile has of it (data-other). The
// frames with three numbers are the groups of #frames, in its order. An entry of #names is the class of
// its shade, two characters, then lines as in a <title>: name, origin; an empty line ends it.
// The data- attributes of #data: row, height of a row; top and bottom, heights above and below
// the frames; pad, left and right of them; inset, of a label; cell, width of a character; least,
// width of the narrowest frame (all in pixels); levels; unit and other, words; roof, the greatest height of all rows;
// icicle, 1 when the root is on top; left, the frames with callees that are left out: the step from the one before
// (first: from before the root) and the width of these callees.

const SVG = 'http://www.w3.org/2000/svg';
const XHTML = 'http://www.w3.org/1999/xhtml';
const FULL_ROW = 17, LABEL_ROW = 12, LABEL_CELLS = 3; // as in the picture without script
const KEPT_ABOVE = 8; // ancestors that stay when a deep picture is zoomed
const HINT = 'click, Enter: zoom \u00b7 Escape: reset \u00b7 Backspace: back \u00b7 arrows: move \u00b7 ' +
	'/, Ctrl-F: search \u00b7 n: next match \u00b7 f: flip \u00b7 c: copy stack';

const svg = document.currentScript ? document.currentScript.closest('svg') : document.documentElement;
const isAlone = svg === document.documentElement; // not a part of somebody's page
const part = (id) => svg.querySelector('#' + id);
const frames = part('frames'), head = part('head'), foot = part('foot');
const detail = part('detail'), data = part('data');
const given = (key) => Number(data.dataset[key]);
const top = given('top'), bottom = given('bottom'), pad = given('pad');
const inset = given('inset'), least = given('least'), roof = given('roof');

// The frames, by their number.
const numbers = data.textContent.split(';'), count = numbers.length;
const groups = Array.from(frames.querySelectorAll('g')); // of those with a name
const entries = part('names').textContent.split('\n\n');
const group = new Int32Array(count); // index of groups; -1: none
const entry = new Int32Array(count), other = new Float64Array(count); // where there is no group
const start = new Float64Array(count), width = new Float64Array(count);
const inside = new Float64Array(count); // the width of its callees
const parent = new Int32Array(count), depth = new Int32Array(count);
const end = new Int32Array(count); // one past the last frame of the subtree
const left = new Float64Array(count); // the width of callees that are left out
const hits = new Uint8Array(count);
const names = new Map(); // of those that were asked for
const rows = []; // of each depth: its frames from left to right

const firstIcicle = data.dataset.icicle === '1';
const state = { zoom: 0, search: '', fold: false, icicle: firstIcicle };
let cell = given('cell'), pageWidth = svg.viewBox.baseVal.width;
let row = given('row'), levels = given('levels'), base = 0; // base: depth of the first row
let current = 0; // the frame that the keyboard is on
let hovered = -1;

function make(space, tag, attributes, ...inside) {
	const element = document.createElementNS(space, tag);

	for (const key of Object.keys(attributes))
		element.setAttribute(key, attributes[key]);
	element.append(...inside);
	return element;
}

const shapes = make(SVG, 'g', { id: 'shapes' }), labels = make(SVG, 'g', { id: 'labels' });
const outline = make(SVG, 'rect', { id: 'outline', display: 'none' });
const cursor = make(SVG, 'rect', { id: 'cursor', tabindex: 0, role: 'img' });
const live = make(SVG, 'g', { id: 'live' }, make(SVG, 'rect', { class: 'back', y: top,
	width: '100%', height: '100%' }), shapes, labels, outline, cursor);

function decode() {
	const next = new Float64Array(count); // where the next child starts
	let wide = 0, at = 0;

	for (let i = 0; i < count; i++) {
		const [ups, gap, extent, ...narrow] = numbers[i].split(',').map(Number);
		let above = i - 1;

		for (let left = ups; left > 0; left--)
			above = parent[above];
		parent[i] = above;
		width[i] = extent;
		start[i] = gap;
		group[i] = narrow.length ? -1 : wide++;
		entry[i] = narrow[0] || 0;
		other[i] = narrow[1] || 0;
		if (i > 0) {
			inside[above] += width[i];
			start[i] += next[above];
			depth[i] = depth[above] + 1;
			next[above] = start[i] + width[i];
		}
		next[i] = start[i];
		(rows[depth[i]] = rows[depth[i]] || []).push(i);
	}
	for (const [i, pair] of data.dataset.left ? data.dataset.left.split(';').entries() : []) {
		const [step, extent] = pair.split(',').map(Number);

		at = i ? at + step : step - 1;
		left[at] = extent;
	}
	for (let i = count - 1; i >= 0; i--) {
		end[i] = Math.max(end[i], i + 1);
		if (i > 0)
			end[parent[i]] = Math.max(end[parent[i]], end[i]);
	}
}

const shadeOf = (i) => group[i] < 0 ? entries[entry[i]].slice(0, 2) :
	groups[group[i]].getAttribute('class');
const grouped = (value) => (value * 2 ** given('halvings')).toLocaleString('en-US') + ' ' +
	data.dataset.unit;


function share(part, whole) {
	const percent = 100 * part / whole;

	return (percent < 1 ? percent.toPrecision(2) : percent.toFixed(2)) + ' %';
}

// Name, origin, numbers; a line each.
function words(i) {
	if (group[i] >= 0)
		return groups[group[i]].firstElementChild.textContent;
	const self = width[i] - inside[i];

	return entries[entry[i]].slice(2) + '\ntotal ' + grouped(width[i]) + ' \u00b7 ' + share(width[i], width[0]) +
		(given('left') ? '' : '\nself ' + (self ? grouped(self) + ' \u00b7 ' + share(self, width[0]) : '0')) +
		(data.dataset.other ? '\n' + data.dataset.other + ' ' + grouped(other[i]) : '');
}

// Narrow frames share the names of their entries.
function nameOf(i) {
	const at = group[i] < 0 ? count + entry[i] : i;

	if (!names.has(at))
		names.set(at, (group[i] < 0 ? entries[entry[i]].slice(2) : words(i)).split('\n', 1)[0]);
	return names.get(at);
}

// Columns of a character in a font of fixed width: as utf8_width() in auger.
function cellsOf(code) {
	return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
		(code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
		(code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
		(code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) ||
		(code >= 0x20000 && code <= 0x3fffd) ? 2 : 1;
}

// The text, or as much of it as fits before "..".
function fit(text, room) {
	let used = 0, at = 0, cut = 0;

	for (const c of text) {
		used += cellsOf(c.codePointAt(0));
		if (used > room)
			return text.slice(0, cut) + '..';
		at += c.length;
		if (used <= room - 2)
			cut = at;
	}
	return text;
}

// Behind the bracket that closes the one at at; 0: there is none.
function groupEnd(text, at) {
	for (let depth = 0; at < text.length; at++) {
		if ('<([{'.includes(text[at]))
			depth++;
		else if ('>)]}'.includes(text[at]) && text[at - 1] !== '-' && --depth === 0)
			return at + 1;
	}
	return 0;
}

// The name of a function without result, arguments and parameters, and where it begins in the
// text; undefined: it has none of these. This and the next two are as fit.c of auger has them.
function bareName(text) {
	const operator = /(?<![A-Za-z0-9_])operator(?![A-Za-z0-9_])(\(\)|\[\]|[-<>=!+*/%^&|~,]*( (?!<)[^(]+)?)/y;
	let bare = '', start = 0, hasAny = false, isOperator = false;

	for (let at = 0, end; at < text.length; at = end) {
		const c = text[at], isOpening = '<([{'.includes(c);
		let isArgs = false;

		operator.lastIndex = at;
		end = operator.test(text) ? operator.lastIndex : 0;
		if (isOpening) {
			end = groupEnd(text, at);
			isArgs = isOperator ? c !== '[' :
				at > 0 && '<('.includes(c) && !' :.'.includes(text[at - 1]);
			if (!end)
				return undefined;
		}
		hasAny = hasAny || isArgs;
		if (isArgs && c === '(' && text[end] !== ':')
			break;
		if (c === ' ' && !isOperator) {
			bare = '';
			start = at + 1;
		} else if (!isArgs && c !== ' ') {
			bare += text.slice(at, end || at + 1);
		}
		if (c !== ' ')
			isOperator = end > 0 && !isArgs && !isOpening;
		end = end || at + 1;
	}
	return hasAny && bare ? { text: bare, start } : undefined;
}

// Behind the next "::" that is not within brackets; 0: there is none.
function nextScope(text) {
	for (let at = 0; at < text.length;) {
		if ('<([{'.includes(text[at])) {
			at = groupEnd(text, at);
			if (!at)
				return 0;
		} else if (text.startsWith('::', at) && at + 2 < text.length) {
			return at + 2;
		} else {
			at++;
		}
	}
	return 0;
}

// Of a name that does not fit, what tells most.
function fitName(name, room) {
	if (fit(name, room) === name)
		return name;
	const bare = bareName(name);
	const follows = bare && name.startsWith(bare.text, bare.start);
	const rest = follows ? name.slice(bare.start + bare.text.length) : '';
	const least = bare ? room - 2 : room;
	let text = bare ? bare.text : name, scope;

	while (fit(text, least) !== text && (scope = nextScope(text)))
		text = text.slice(scope);
	text += rest;
	return bare && (!follows || fit(text, room) !== text) ? fit(text + '..', room) : fit(text, room);
}

const inner = () => pageWidth - 2 * pad;
const scale = () => width[state.zoom] > 0 ? inner() / width[state.zoom] : 0;
const isAbove = (i) => i < state.zoom && end[i] > state.zoom;
const tenth = (px) => Math.round(px * 10) / 10;
