// SPDX-License-Identifier: MIT
//
// What a flame graph of auger does in a browser: zoom, search, keys, the width of the window.
// The picture is complete without. Where this runs, #frames (a group with <title>, <rect> and
// <text> for each frame) gives way to #live: one <path> for all frames of a row and shade, so
// that twenty thousand frames are zoomed at once, and labels.
//
// #data holds three whole numbers a frame, in the order of the elements of #frames, parents
// before children: how many levels to go up from the frame before to reach the parent
// (0: the frame before is the parent), the distance from the end of the sibling before (or
// the start of the parent), and the width; the last two in the unit of the value.
// The data- attributes of #data: row, height of a row; top and bottom, heights above and below
// the frames; pad, left and right of them; inset, of a label; cell, width of a character; least,
// width of the narrowest frame (all in pixels); levels; roof, the greatest height of all rows;
// icicle, 1 when the root is on top.
(function () {
	'use strict';

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
	const groups = Array.from(frames.children), count = groups.length;
	const shades = groups.map((group) => group.getAttribute('class'));
	const start = new Float64Array(count), width = new Float64Array(count);
	const parent = new Int32Array(count), depth = new Int32Array(count);
	const end = new Int32Array(count); // one past the last frame of the subtree
	const hits = new Uint8Array(count);
	const names = []; // of those that were asked for
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
		const numbers = data.textContent.split(',');
		const next = new Float64Array(count); // where the next child starts

		for (let i = 0; i < count; i++) {
			let above = i - 1;

			for (let ups = Number(numbers[3 * i]); ups > 0; ups--)
				above = parent[above];
			parent[i] = above;
			width[i] = Number(numbers[3 * i + 2]);
			start[i] = Number(numbers[3 * i + 1]);
			if (i > 0) {
				start[i] += next[above];
				depth[i] = depth[above] + 1;
				next[above] = start[i] + width[i];
			}
			next[i] = start[i];
			(rows[depth[i]] = rows[depth[i]] || []).push(i);
		}
		for (let i = count - 1; i >= 0; i--) {
			end[i] = Math.max(end[i], i + 1);
			if (i > 0)
				end[parent[i]] = Math.max(end[parent[i]], end[i]);
		}
	}

	// Name, origin, figures; a line each.
	const words = (i) => groups[i].firstElementChild.textContent;

	function nameOf(i) {
		if (names[i] === undefined)
			names[i] = words(i).split('\n', 1)[0];
		return names[i];
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

	const inner = () => pageWidth - 2 * pad;
	const scale = () => width[state.zoom] > 0 ? inner() / width[state.zoom] : 0;
	const isAbove = (i) => i < state.zoom && end[i] > state.zoom;
	const tenth = (px) => Math.round(px * 10) / 10;

	// Where a frame is, or null when it is not in the picture.
	function boxOf(i) {
		const level = depth[i] - base;
		const y = top + (state.icicle ? level : levels - 1 - level) * row;
		let x = pad, w = inner();

		if (i > state.zoom && i < end[state.zoom]) {
			x += (start[i] - start[state.zoom]) * scale();
			w = width[i] * scale();
			if (w < least)
				return null;
		} else if (i !== state.zoom && (!isAbove(i) || level < 0)) {
			return null;
		}
		return { x, y, w, right: x + (w > 3 ? w - .6 : w), below: y + (row > 4 ? row - 1 : row) };
	}

	// All frames of a row and shade are one path.
	function addShape(paths, i, box) {
		const look = shades[i] + (hits[i] ? ' hit' : '') + (isAbove(i) ? ' up' : '');
		const key = depth[i] + look;
		const left = tenth(box.x), y = tenth(box.y);

		if (!paths.has(key))
			paths.set(key, { look, parts: [] });
		paths.get(key).parts.push('M' + left + ' ' + y + 'H' + tenth(box.right) + 'V' +
			tenth(box.below) + 'H' + left + 'z');
	}

	function addLabel(texts, i, box) {
		const room = Math.floor((box.w - 2 * inset) / cell);

		if (room < LABEL_CELLS || row < LABEL_ROW)
			return;
		const text = texts.spare.pop() || make(SVG, 'text', {}, '');
		const look = (hits[i] ? 'hit' : '') + (isAbove(i) ? ' up' : '');

		text.firstChild.data = fit(nameOf(i), room);
		text.setAttribute('class', look);
		text.setAttribute('x', tenth(box.x + inset));
		text.setAttribute('y', tenth(box.y + row - 5));
		texts.used.push(text);
	}

	function draw() {
		const paths = new Map(), texts = { spare: Array.from(labels.children), used: [] };
		const add = (i) => {
			const box = boxOf(i);

			if (box) {
				addShape(paths, i, box);
				addLabel(texts, i, box);
			}
		};

		for (let i = parent[state.zoom]; i >= 0; i = parent[i])
			add(i);
		for (let i = state.zoom; i < end[state.zoom]; i++)
			add(i);
		shapes.replaceChildren(...Array.from(paths.values(), (path) =>
			make(SVG, 'path', { class: path.look, d: path.parts.join('') })));
		labels.replaceChildren(...texts.used);
		live.classList.toggle('found', state.search !== '');
		mark(cursor, current);
		mark(outline, -1);
	}

	// Puts a frame's outline where the frame is.
	function mark(rect, i) {
		const box = i >= 0 ? boxOf(i) : null;

		if (!box) {
			rect.setAttribute('display', 'none');
			return;
		}
		rect.removeAttribute('display');
		rect.setAttribute('x', box.x);
		rect.setAttribute('y', box.y);
		rect.setAttribute('width', Math.max(1, box.right - box.x));
		rect.setAttribute('height', box.below - box.y);
	}

	// A very deep picture has low rows; zoomed, its rows grow and most ancestors go.
	function setRows() {
		let deepest = 0;

		if (given('row') >= FULL_ROW)
			return;
		base = Math.max(0, depth[state.zoom] - KEPT_ABOVE);
		row = given('row');
		levels = given('levels');
		if (state.zoom === 0)
			return;
		for (let i = state.zoom; i < end[state.zoom]; i++)
			deepest = Math.max(deepest, depth[i]);
		levels = deepest - base + 1;
		row = Math.min(FULL_ROW, roof / levels);
	}

	const pageHeight = () => Math.ceil(top + levels * row + bottom);

	function layout() {
		const height = pageHeight();

		svg.setAttribute('width', pageWidth);
		svg.setAttribute('height', height);
		svg.setAttribute('viewBox', '0 0 ' + pageWidth + ' ' + height);
		for (const line of svg.querySelectorAll('.fit')) {
			const full = line.querySelector('title').textContent;
			const spare = line.classList.contains('title') ? 500 : 0;

			line.lastChild.data = fit(full, Math.floor((inner() - spare) / line.dataset.cell));
		}
		part('toolbox').setAttribute('x', Math.max(pad, pageWidth - pad - 490));
		part('toolbox').setAttribute('width', Math.min(490, inner()));
		stick();
	}

	// Head and foot stay in the window while the frames scroll.
	function stick() {
		const height = pageHeight(), lowest = height - bottom;
		const last = Math.max(0, height - window.innerHeight);
		const y = isAlone ? Math.min(Math.max(0, window.scrollY), last) : 0;
		const below = isAlone ? Math.min(lowest, y + window.innerHeight - bottom) : lowest;

		head.setAttribute('transform', 'translate(0 ' + y + ')');
		foot.setAttribute('transform', 'translate(0 ' + below + ')');
	}

	const percent = (share) => (100 * share).toFixed(2) + ' %';

	// A pattern that is being typed need not be a regular expression yet: then it is text.
	function matcher() {
		const flags = state.fold ? 'iu' : 'u';

		try {
			return new RegExp(state.search, flags);
		} catch (ignored) {
			return new RegExp(state.search.replace(/[.*+?^${}()|[\]\\\/]/g, '\\$&'), flags);
		}
	}

	function findHits() {
		const regex = matcher(), known = new Map();

		hits.fill(0);
		for (let i = 1; i < count && state.search; i++) {
			const name = nameOf(i);

			if (!known.has(name))
				known.set(name, regex.test(name));
			hits[i] = known.get(name) ? 1 : 0;
		}
	}

	// The width of all hits from a frame on; a hit above a hit counts once.
	function matchedWidth(from) {
		let sum = 0;

		for (let i = from; i >= 0; i = parent[i])
			if (hits[i])
				return width[from];
		for (let i = from; i < end[from]; i++) {
			if (hits[i]) {
				sum += width[i];
				i = end[i] - 1;
			}
		}
		return sum;
	}

	function showMatched() {
		const matched = part('matched'), zoom = state.zoom;

		matched.textContent = '';
		matched.removeAttribute('title');
		if (!state.search || !width[zoom])
			return;
		matched.textContent = percent(matchedWidth(zoom) / width[zoom]);
		matched.setAttribute('title', 'matched: ' + matched.textContent + ' of ' + (zoom ?
			'the zoomed frame, ' + percent(matchedWidth(0) / width[0]) + ' of all' : 'all'));
	}

	// State and address say the same: #x=FRAME&s=REGEX&i=1&f=1
	function toHash() {
		const hash = new URLSearchParams();

		if (state.zoom)
			hash.set('x', state.zoom);
		if (state.search)
			hash.set('s', state.search);
		if (state.fold)
			hash.set('i', 1);
		if (state.icicle !== firstIcicle)
			hash.set('f', 1);
		return '#' + hash;
	}

	function fromHash() {
		const hash = new URLSearchParams(location.hash.slice(1));
		const zoom = Number(hash.get('x'));

		return { zoom: Number.isInteger(zoom) && zoom > 0 && zoom < count ? zoom : 0,
			search: hash.get('s') || '', fold: hash.get('i') === '1',
			icicle: firstIcicle !== (hash.get('f') === '1') };
	}

	function show(wanted) {
		const isOtherSearch = wanted.search !== state.search || wanted.fold !== state.fold;
		const isOtherZoom = wanted.zoom !== state.zoom;

		Object.assign(state, wanted);
		part('reset').disabled = state.zoom === 0;
		part('fold').setAttribute('aria-pressed', state.fold);
		part('flip').setAttribute('aria-pressed', state.icicle);
		if (part('search').value !== state.search)
			part('search').value = state.search;
		if (isOtherSearch)
			findHits();
		if (isOtherZoom) {
			setRows();
			layout();
		}
		draw();
		showMatched();
	}

	// A step is what one may want to go back from.
	function change(wanted, isStep) {
		show(Object.assign({}, state, wanted));
		if (!isAlone || toHash() === (location.hash || '#'))
			return;
		if (isStep)
			location.hash = toHash();
		else
			history.replaceState(history.state, '', toHash());
	}

	function zoomTo(i) {
		hideTip();
		if (i !== state.zoom)
			change({ zoom: i }, true);
		focusOn(i);
	}

	function reset() {
		if (state.zoom)
			zoomTo(0);
		else
			change({ search: '' }, false);
	}

	function back() {
		if (state.zoom && isAlone)
			history.back();
		else if (state.zoom)
			zoomTo(parent[state.zoom]);
	}

	function describe(i) {
		detail.textContent = fit(i < 0 ? HINT : words(i).split('\n').join('   '),
			Math.floor(inner() / cell));
	}

	function focusOn(i) {
		current = i;
		mark(cursor, i);
		cursor.setAttribute('aria-label', words(i));
		cursor.focus({ preventScroll: true });
		describe(i);
		reveal(boxOf(i));
	}

	// Scrolls until a frame lies between head and foot.
	function reveal(box) {
		const from = window.scrollY + top, to = window.scrollY + window.innerHeight - bottom;

		if (!isAlone || !box)
			return;
		if (box.y < from)
			window.scrollTo(window.scrollX, box.y - top - row);
		else if (box.below > to)
			window.scrollTo(window.scrollX, box.below + row + bottom - window.innerHeight);
	}

	// Above the zoomed frame there is one way only.
	function childOf(i) {
		let best = -1;

		for (let child = i + 1; child < end[i]; child = end[child])
			if (boxOf(child) && (best < 0 || width[child] > width[best]))
				best = child;
		return best;
	}

	// The next frame in this row that can be seen.
	function besides(i, step) {
		const all = rows[depth[i]];
		let at = find(all, start[i]);

		do
			at += step;
		while (at >= 0 && at < all.length && !boxOf(all[at]));
		return at >= 0 && at < all.length ? all[at] : -1;
	}

	function nextHit(step) {
		for (let tried = 1; tried <= count; tried++) {
			const i = (current + step * tried + 2 * count) % count;

			if (hits[i] && boxOf(i))
				return i;
		}
		return -1;
	}

	function move(i) {
		if (i >= 0)
			focusOn(i);
	}

	function copyStack() {
		const stack = [];
		const say = (text) => {
			detail.textContent = text;
		};

		for (let i = current; i > 0; i = parent[i])
			stack.unshift(nameOf(i));
		if (navigator.clipboard)
			navigator.clipboard.writeText(stack.join(';')).then(
				() => say('copied: a stack of ' + stack.length + ' frames'),
				() => say('the browser does not let this page copy'));
	}

	function startSearch() {
		part('search').focus();
		part('search').select();
	}

	const keys = {
		ArrowUp: () => move(state.icicle ? parent[current] : childOf(current)),
		ArrowDown: () => move(state.icicle ? childOf(current) : parent[current]),
		ArrowLeft: () => move(besides(current, -1)),
		ArrowRight: () => move(besides(current, 1)),
		Home: () => move(0),
		Enter: () => zoomTo(current),
		' ': () => zoomTo(current),
		Escape: reset,
		Backspace: back,
		'/': startSearch,
		F3: startSearch,
		n: () => move(nextHit(1)),
		N: () => move(nextHit(-1)),
		f: () => change({ icicle: !state.icicle }, false),
		c: copyStack,
	};

	function pressWithControl(event) {
		const letter = event.key.toLowerCase();

		// A second Ctrl-F is the browser's own.
		if (letter === 'f' && event.target !== part('search'))
			startSearch();
		else if (letter === 'i' && !event.shiftKey)
			change({ fold: !state.fold }, false);
		else
			return;
		event.preventDefault();
	}

	function pressInSearch(event) {
		if (event.key === 'Escape') {
			change({ search: '' }, false);
			cursor.focus({ preventScroll: true });
		} else if (event.key === 'Enter') {
			move(nextHit(1));
		} else {
			return;
		}
		event.preventDefault();
	}

	function press(event) {
		const isButton = event.target.closest && event.target.closest('button');

		if (event.altKey)
			return;
		if (event.ctrlKey || event.metaKey) {
			pressWithControl(event);
		} else if (event.target === part('search')) {
			pressInSearch(event);
		} else if (Object.hasOwn(keys, event.key) &&
			   !(isButton && (event.key === 'Enter' || event.key === ' '))) {
			keys[event.key]();
			event.preventDefault();
		}
	}

	// Index of the last frame of a row that starts at or before this; -1: none.
	function find(all, value) {
		let low = 0, high = all.length;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (start[all[middle]] <= value)
				low = middle + 1;
			else
				high = middle;
		}
		return low - 1;
	}

	// The frame under the mouse, or -1.
	function frameAt(event) {
		const at = svg.getBoundingClientRect(), zoom = state.zoom;
		const level = Math.floor((event.clientY - at.top - top) / row);
		const deep = base + (state.icicle ? level : levels - 1 - level);
		const x = event.clientX - at.left - pad;

		if (level < 0 || level >= levels || x < 0 || x > inner() || !rows[deep])
			return -1;
		const value = deep <= depth[zoom] ? start[zoom] : start[zoom] + x / (scale() || 1);
		const i = rows[deep][find(rows[deep], value)];
		const box = i === undefined ? null : boxOf(i);

		return box && x + pad <= box.x + Math.max(1, box.w) ? i : -1;
	}

	function hideTip() {
		part('tipbox').setAttribute('display', 'none');
		mark(outline, -1);
		hovered = -1;
	}

	function fillTip(i) {
		const tip = part('tip'), lines = words(i).split('\n');

		if (i > 0 && width[parent[i]] > 0)
			lines.push(percent(width[i] / width[parent[i]]) + ' of ' + fit(nameOf(parent[i]), 60));
		tip.firstChild.textContent = lines[0];
		tip.lastChild.textContent = lines.slice(1).join('\n');
	}

	function placeTip(event) {
		const box = part('tipbox'), at = svg.getBoundingClientRect();

		box.removeAttribute('display');
		box.setAttribute('width', Math.min(560, inner()));
		const size = part('tip').getBoundingClientRect();
		const isRight = event.clientX + 14 + size.width < window.innerWidth - 4;
		const isBelow = event.clientY + 18 + size.height < window.innerHeight - 4;

		box.setAttribute('x', Math.max(4, event.clientX + (isRight ? 14 : -14 - size.width)) - at.left);
		box.setAttribute('y', Math.max(4, event.clientY + (isBelow ? 18 : -12 - size.height)) - at.top);
	}

	function hover(event) {
		const i = frameAt(event);

		live.classList.toggle('over', i >= 0);
		if (i < 0) {
			hideTip();
			return;
		}
		if (i !== hovered) {
			hovered = i;
			mark(outline, i);
			fillTip(i);
			describe(i);
		}
		placeTip(event);
	}

	function button(id, text, title) {
		return make(XHTML, 'button', { id, title, type: 'button' }, text);
	}

	function makeTools() {
		head.appendChild(make(SVG, 'foreignObject', { id: 'toolbox', y: 6, height: 34 },
			make(XHTML, 'div', { id: 'tools' },
				make(XHTML, 'output', { id: 'matched', 'aria-live': 'polite' }),
				make(XHTML, 'input', { id: 'search', type: 'text', 'aria-label': 'search',
					placeholder: 'search: regular expression', spellcheck: 'false',
					autocomplete: 'off', title: 'Enter: next match; Escape: clear' }),
				button('fold', 'Aa', 'ignore case (Ctrl-I)'),
				button('flip', 'Icicle', 'root on top (f)'),
				button('reset', 'Reset zoom', 'show all (Escape)'))));
		svg.appendChild(make(SVG, 'foreignObject', { id: 'tipbox', height: 1, display: 'none' },
			make(XHTML, 'div', { id: 'tip' }, make(XHTML, 'b', {}), make(XHTML, 'div', {}))));
	}

	function listen() {
		part('search').addEventListener('input', (event) =>
			change({ search: event.target.value }, false));
		part('fold').addEventListener('click', () => change({ fold: !state.fold }, false));
		part('flip').addEventListener('click', () => change({ icicle: !state.icicle }, false));
		part('reset').addEventListener('click', () => zoomTo(0));
		live.addEventListener('click', (event) => {
			const i = frameAt(event);

			if (i >= 0)
				zoomTo(i);
		});
		live.addEventListener('mousemove', hover);
		live.addEventListener('mouseleave', () => {
			hideTip();
			describe(-1);
		});
		cursor.addEventListener('focus', () => describe(current));
		(isAlone ? document : svg).addEventListener('keydown', press);
		if (!isAlone)
			return;
		window.addEventListener('scroll', () => {
			hideTip();
			stick();
		});
		window.addEventListener('resize', () => {
			setWidth();
			draw();
		});
		window.addEventListener('hashchange', () => show(fromHash()));
	}

	function setWidth() {
		if (isAlone)
			pageWidth = Math.max(480, document.documentElement.clientWidth);
		layout();
	}

	function measureCell() {
		const probe = make(SVG, 'text', {}, 'M'.repeat(100));

		svg.appendChild(probe);
		cell = probe.getComputedTextLength() / 100 || cell;
		probe.remove();
	}

	function begin() {
		decode();
		measureCell();
		makeTools();
		frames.replaceWith(live);
		setWidth();
		show(isAlone ? fromHash() : state);
		describe(-1);
		listen();
		if (isAlone && !state.icicle && !state.zoom)
			window.scrollTo(0, pageHeight()); // the root is below
	}

	try {
		begin();
	} finally {
		svg.removeAttribute('class'); // what was put there to spare the layout of #frames
	}
}());
