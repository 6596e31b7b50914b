// SPDX-License-Identifier: MIT
//
// mouse: pointing and the tooltip.

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
