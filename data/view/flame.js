// SPDX-License-Identifier: MIT
// @ts-check
//
// flame: the tab with the picture: zoom, tooltip, keys.

import { legend } from './colors.js';
import { button, make, press } from './dom.js';
import { countRows, drawTree, measureCell, nodeAt, nodeBox, ROW_PX } from './flame_draw.js';
import { frameOrigin } from './profile.js';
import { changeText, exactText, percentText, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */

/** What is known of a node that is shown: name, then lines. @param {Model} model @param {number} node */
export function describeNode(model, node) {
	const { p, shown } = model, unit = model.unit(), whole = model.whole(), total = shown.total[node];
	const parent = shown.tree.parent[node], lines = [];

	if (node)
		lines.push(frameOrigin(p, shown.tree.frame[node]));
	lines.push(`total ${valueText(total, unit)} \u00b7 ${percentText(total, whole)}` +
		(exactText(total, unit) === valueText(total, unit) ? '' : ` (${exactText(total, unit)})`));
	lines.push(`self ${valueText(shown.self[node], unit)} \u00b7 ${percentText(shown.self[node], whole)}`);
	if (parent)
		lines.push(`${percentText(total, shown.total[parent])} of ${p.strings[p.name[shown.tree.frame[parent]]]}`);
	if (model.isDiff) {
		const { before, change, z, isSure } = model.nodeChange(node);

		lines.push(`before ${valueText(before, unit)} \u00b7 change ${changeText(change, unit)}`);
		lines.push(z === null ? '' : isSure ? `hardly chance (z ${z.toFixed(1)})` : `may be chance (z ${z.toFixed(1)})`);
	} else if (node && model.isClassed()) {
		lines.push(`mostly ${model.nodeClass(node)}`);
	}
	if (!model.isDiff && shown.other) {
		lines.push(`off the CPU ${percentText(shown.other.total[node], total)}`);
	}
	return { name: node ? p.strings[p.name[shown.tree.frame[node]]] : 'all', lines: lines.filter((line) => line) };
}

export class Flame {
	/** @param {any} app see page.js */
	constructor(app) {
		this.app = app;
		this.model = /** @type {Model} */ (app.model);
		this.current = 0;
		this.hovered = -1;
		this.canvas = make('canvas', { 'aria-hidden': 'true' });
		this.context = this.canvas.getContext('2d');
		this.cursor = make('div', { class: 'cursor' });
		this.space = make('div', { class: 'space' });
		this.view = make('div', { id: 'view', class: 'view', tabindex: 0, role: 'application', 'aria-label': 'flame graph',
			'aria-describedby': 'detail', onscroll: () => this.draw(),
			onkeydown: (/** @type {KeyboardEvent} */ event) => this.press(event), onfocus: () => this.describe(this.current),
			onclick: (/** @type {MouseEvent} */ event) => this.click(event),
			onmousemove: (/** @type {MouseEvent} */ event) => this.hover(event), onmouseleave: () => this.leave() },
			make('div', { class: 'stick' }, this.canvas, this.cursor), this.space);
		this.tip = make('div', { id: 'tip', class: 'tip', hidden: true });
		this.flip = button('Root below', () => app.change({ flame: !this.model.state.flame }), { title: 'turn upside down (f)' });
		this.invert = button('Inverted', () => app.change({ inverted: !this.model.state.inverted, zoom: 0 }),
			{ title: 'functions that ran at the root, their callers on top (i)' });
		this.order = button('By time', () => app.change({ ordered: !this.model.isOrdered(), inverted: false, zoom: 0 }),
			{ title: 'thread by thread in order of time; else the largest first (o)', id: 'order', hidden: !this.model.lanes.length });
		this.classes = button('Classes', () => app.change({ classes: !this.model.state.classes }),
			{ title: 'color by what the time was spent on (k)', id: 'classes', hidden: !this.model.hasClasses() });
		this.cut = make('span', { class: 'words', hidden: true }, 'too long: the first part is shown');
		this.reset = button('Reset zoom', () => app.change({ zoom: 0 }), { id: 'reset', title: 'show all (Escape)' });
		this.legend = make('div', { class: 'legend', role: 'list', 'aria-label': 'legend' });
		this.element = make('section', {}, make('div', { class: 'tools' }, this.flip, this.invert, this.order, this.classes, this.reset, this.cut, this.legend),
			this.view, this.tip);
		this.geometry = { width: 0, height: 0, scroll: 0, rows: 1, cell: measureCell(this.context) };
		this.drawnZoom = '';
	}

	update() {
		const { state } = this.model;

		press(this.flip, state.flame);
		press(this.invert, state.inverted);
		press(this.order, this.model.isOrdered());
		press(this.classes, this.model.isClassed());
		this.cut.hidden = !this.model.isCut;
		this.reset.disabled = !state.zoom;
		this.legend.replaceChildren(...legend(this.model).map(([color, text]) => {
			const box = make('i', {});

			box.style.backgroundColor = color;
			return make('span', { role: 'listitem' }, box, text);
		}));
		if (this.current >= this.model.shown.tree.count)
			this.current = 0;
		this.layout();
	}

	/** After a change of size or of what is shown. */
	layout() {
		const { geometry: g, view, model } = this, ratio = window.devicePixelRatio || 1;
		const picture = model.state.zoom + (model.state.flame ? 'f' : 'i');

		g.width = view.clientWidth;
		g.height = view.clientHeight;
		if (!g.width || !g.height)
			return;
		this.canvas.width = Math.round(g.width * ratio);
		this.canvas.height = Math.round(g.height * ratio);
		this.canvas.style.width = g.width + 'px';
		this.canvas.style.height = g.height + 'px';
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.rows = countRows(model, g.width);
		this.space.style.height = Math.max(0, g.rows * ROW_PX - g.height) + 'px';
		if (this.drawnZoom !== picture)
			view.scrollTop = this.scrollFor(model.shown.tree.depth[model.state.zoom]);
		this.drawnZoom = picture;
		this.draw();
	}

	/** Where the zoomed node and some of its ancestors are seen. @param {number} depth */
	scrollFor(depth) {
		const { geometry: g } = this, above = Math.max(0, depth - 5) * ROW_PX;

		return this.model.state.flame ? Math.max(0, g.rows * ROW_PX - above - g.height) : above;
	}

	draw() {
		const { geometry: g } = this;

		if (!g.width)
			return;
		g.scroll = this.view.scrollTop;
		drawTree(this.context, this.model, g);
		this.mark(this.hovered >= 0 ? this.hovered : this.current);
	}

	/** @param {number} node */
	mark(node) {
		const box = nodeBox(this.model, this.geometry, node), { style } = this.cursor;

		style.display = box.width > 0 && (node > 0 || document.activeElement === this.view) ? '' : 'none';
		style.left = box.x + 'px';
		style.top = box.y + 'px';
		style.width = Math.max(2, box.width - 1) + 'px';
	}

	/** @param {number} node */
	describe(node) {
		const { name, lines } = describeNode(this.model, node);

		this.app.tell(name, lines);
		this.mark(node);
	}

	/** @param {number} node */
	select(node) {
		const { p, shown } = this.model;

		this.current = node;
		this.app.select(node ? p.functionOf[shown.tree.frame[node]] : 0, node);
		this.describe(node);
	}

	/** @param {MouseEvent} event */
	at(event) {
		const box = this.canvas.getBoundingClientRect();

		return nodeAt(this.model, this.geometry, event.clientX - box.left, event.clientY - box.top);
	}

	/** @param {MouseEvent} event */
	click(event) {
		const node = this.at(event);

		if (node < 0)
			return;
		this.current = node;
		this.app.change({ zoom: node, fn: node ? this.model.p.functionOf[this.model.shown.tree.frame[node]] : 0 });
		this.describe(node);
	}

	/** @param {MouseEvent} event */
	hover(event) {
		const node = this.at(event);

		this.hovered = node;
		if (node < 0) {
			this.leave();
			return;
		}
		const { name, lines } = describeNode(this.model, node), { style } = this.tip;
		this.tip.replaceChildren(make('b', {}, name), ...lines.map((line) => make('div', {}, line)));
		this.tip.hidden = false;
		const width = this.tip.offsetWidth, height = this.tip.offsetHeight;
		style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - width - 8)) + 'px';
		style.top = (event.clientY + 18 + height > window.innerHeight ? Math.max(4, event.clientY - height - 8) : event.clientY + 18) + 'px';
		this.describe(node);
	}

	leave() {
		this.hovered = -1;
		this.tip.hidden = true;
		this.describe(this.current);
	}

	/** The nearest neighbor of a node in its row. @param {number} node @param {number} step */
	neighbor(node, step) {
		const { tree, width } = this.model.shown, depth = tree.depth[node], { zoom } = this.model.state;

		for (let i = node + step; i > zoom && i < tree.end[zoom]; i += step)
			if (tree.depth[i] === depth && width[i] > 0)
				return i;
		return node;
	}

	/** The widest callee. @param {number} node */
	widest(node) {
		const { tree, width } = this.model.shown;
		let best = node;

		for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
			if (width[i] > 0 && (best === node || width[i] > width[best]))
				best = i;
		return best;
	}

	/** @param {string} key */
	moved(key) {
		const { tree } = this.model.shown, node = this.current, isUp = (key === 'ArrowUp') === this.model.state.flame;

		if (key === 'Home')
			return 0;
		if (key === 'ArrowLeft' || key === 'ArrowRight')
			return this.neighbor(node, key === 'ArrowLeft' ? -1 : 1);
		return isUp ? this.widest(node) : tree.parent[node];
	}

	/** @param {KeyboardEvent} event */
	press(event) {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (/^Arrow|^Home$/.test(event.key)) {
			this.select(this.moved(event.key));
			this.reveal(this.current);
		} else if (event.key === 'Enter') {
			this.app.change({ zoom: this.current });
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	/** @param {number} node */
	reveal(node) {
		const { geometry: g, view } = this, { y } = nodeBox(this.model, g, node);

		if (y < 0)
			view.scrollTop += y;
		else if (y + ROW_PX > g.height)
			view.scrollTop += y + ROW_PX - g.height;
		this.draw();
	}

	/** The next node that is found. @param {number} step 1 or -1 */
	next(step) {
		const { shown, found, state } = this.model, { tree } = shown, size = tree.end[state.zoom] - state.zoom;

		for (let i = 1; found && i <= size; i++) {
			const from = Math.max(0, this.current - state.zoom);
			const node = state.zoom + (from + step * i + 2 * size) % size;

			if (node > 0 && found.hits[tree.frame[node]] && shown.width[node] > 0) {
				this.select(node);
				this.reveal(node);
				return;
			}
		}
	}
}
