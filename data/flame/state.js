// SPDX-License-Identifier: MIT
//
// state: search, and what is shown as one value that the address holds too.

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

// The width of all hits from a frame on, where a hit above a hit counts once; and that of what may match besides,
// because it is left out of the picture.
function matchedWidths(from) {
	let sum = 0, unknown = 0;

	for (let i = from; i >= 0; i = parent[i])
		if (hits[i])
			return [width[from], 0];
	for (let i = from; i < end[from]; i++) {
		if (hits[i]) {
			sum += width[i];
			i = end[i] - 1;
		} else {
			unknown += left[i];
		}
	}
	return [sum, unknown];
}

function matchedText(from) {
	const [sum, unknown] = matchedWidths(from), hundredths = 10000 / width[from];

	if (!unknown)
		return percent(sum / width[from]);
	return (Math.floor(sum * hundredths) / 100).toFixed(2) + ' to ' + percent(Math.ceil((sum + unknown) * hundredths) / 10000);
}

function showMatched() {
	const matched = part('matched'), zoom = state.zoom;

	matched.textContent = '';
	matched.removeAttribute('title');
	if (!state.search || !width[zoom])
		return;
	matched.textContent = matchedText(zoom);
	matched.setAttribute('title', 'matched: ' + matched.textContent + ' of ' + (zoom ?
		'the zoomed frame, ' + matchedText(0) + ' of all' : 'all') + (matchedWidths(zoom)[1] ? ', with what is left out of the picture' : ''));
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
