// SPDX-License-Identifier: MIT
//
// picture: where frames are for the current zoom, and drawing them.

const SPECK_ROWS = 64; // of the whole picture, for narrow frames above those that are drawn
const SPECK = .5; // width of what stands for all frames there that are too narrow

// Where a frame is, or null when it is not in the picture.
function boxOf(i) {
	const level = depth[i] - base;
	const y = top + (state.icicle ? level : levels - 1 - level) * row;
	let x = pad, w = inner();

	if (i > state.zoom && i < end[state.zoom]) {
		x += (start[i] - start[state.zoom]) * scale();
		w = width[i] * scale();
	} else if (i !== state.zoom && !isAbove(i)) {
		return null;
	}
	if (level < 0 || level >= levels)
		return null;
	return { x, y, w, right: x + (w > 3 ? w - .6 : w), below: y + (row > 4 ? row - 1 : row) };
}

// All frames of a row and shade are one path.
function addShape(paths, i, box) {
	const look = shadeOf(i) + (hits[i] ? ' hit' : '') + (isAbove(i) ? ' up' : '');
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

	text.firstChild.data = fitName(nameOf(i), room);
	text.setAttribute('class', look);
	text.setAttribute('x', tenth(box.x + inset));
	text.setAttribute('y', tenth(box.y + row - 5));
	texts.used.push(text);
}

// One narrow frame stands for all in its place, a match for those that match.
function addSpeck(paths, ends, i, box) {
	const at = 2 * depth[i] + hits[i];

	if (box.x < (ends[at] || 0))
		return;
	box.right = ends[at] = box.x + SPECK;
	addShape(paths, i, box);
}

function draw() {
	const paths = new Map(), texts = { spare: Array.from(labels.children), used: [] };
	const ends = []; // of the last specks of each row
	const add = (i) => {
		const box = boxOf(i);

		if (box && box.w < least) {
			addSpeck(paths, ends, i, box);
		} else if (box) {
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

// A very deep picture has low rows; zoomed, its rows grow and most ancestors go. Frames that were too
// narrow may be deeper than all that were drawn.
function setRows() {
	let deepest = 0;

	base = 0;
	row = given('row');
	levels = given('levels');
	for (let i = state.zoom; i < end[state.zoom]; i++)
		deepest = Math.max(deepest, depth[i]);
	if (state.zoom === 0) {
		levels = Math.max(levels, Math.min(deepest + 1, SPECK_ROWS));
		return;
	}
	if (Math.max(levels, deepest + 1) > roof / FULL_ROW) {
		base = Math.max(0, depth[state.zoom] - KEPT_ABOVE);
		levels = deepest - base + 1;
	} else {
		levels = Math.max(levels, deepest + 1);
	}
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
