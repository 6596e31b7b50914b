// SPDX-License-Identifier: MIT
//
// keys: moving, zooming and searching by keyboard.

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

		if (hits[i] && i >= state.zoom && i < end[state.zoom])
			return i;
	}
	return -1;
}

// Above the rows of the whole picture there are frames that were too narrow to count.
function move(i) {
	if (i >= 0 && !boxOf(i))
		zoomTo(parent[i]);
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
