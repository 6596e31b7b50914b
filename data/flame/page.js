// SPDX-License-Identifier: MIT
//
// page: tools, listeners, and the beginning.

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
	setRows();
	setWidth();
	show(isAlone ? fromHash() : state);
	describe(-1);
	listen();
	// The root is below. Chromium's --screenshot of a page that is scrolled is blank (Chromium 156).
	if (isAlone && !state.icicle && !state.zoom && !/Headless/.test(navigator.userAgent))
		window.scrollTo(0, pageHeight());
}

try {
	begin();
} finally {
	svg.removeAttribute('class'); // what was put there to spare the layout of #frames
}
