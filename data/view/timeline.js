// SPDX-License-Identifier: MIT
// @ts-check
//
// timeline: the tab with the lanes of threads, where a part of the time is chosen for all tabs, and its samples in
// order of time.

import { HIT_COLOR, OFF_COLOR, ON_COLOR } from './colors.js';
import { button, labeled, make } from './dom.js';
import { bucketAt, bucketX, drawLanes, laneTypes, LANE_PX, NAME_PX, SCALE_PX } from './lanes.js';
import { functionName } from './profile.js';
import { Table } from './table.js';
import { lanesOfTracks, timedTypes, trackOf, valuesInOrder } from './times.js';
import { percentText, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./profile.js').Profile} Profile */

const LEAST_DRAG_PX = 3, STEPS = 20;

/** "1.20 s to 2.40 s". @param {Profile} p @param {number} from @param {number} to buckets */
export function timeSpanText(p, from, to) {
	const { bucketNs } = /** @type {any} */ (p.times), text = (/** @type {number} */ at) => valueText(at * bucketNs, 'nanoseconds');

	return `${text(from)} to ${text(to)}`;
}

export class Timeline {
	/** @param {any} app see page.js */
	constructor(app) {
		this.app = app;
		this.model = /** @type {Model} */ (app.model);
		this.timed = this.model.lanes.length ? timedTypes(/** @type {any} */ (this.model.p.times)) : [];
		this.drag = -1; // bucket where it began
		this.canvas = make('canvas', { 'aria-hidden': 'true' });
		this.context = this.canvas.getContext('2d');
		this.brush = make('div', { class: 'brush' });
		this.space = make('div', {});
		this.lanes = make('div', { id: 'lanes', class: 'view lanes', tabindex: 0, role: 'application', 'aria-label': 'time line',
			'aria-describedby': 'span', onscroll: () => this.draw(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.press(event),
			onpointerdown: (/** @type {PointerEvent} */ event) => this.begin(event), onpointermove: (/** @type {PointerEvent} */ event) => this.move(event),
			onpointerup: (/** @type {PointerEvent} */ event) => this.end(event), onpointercancel: () => this.cancel() },
		make('div', { class: 'stick' }, this.canvas, this.brush), this.space);
		this.words = make('p', { id: 'span', class: 'words', 'aria-live': 'polite' });
		const field = (/** @type {string} */ id) => make('input', { id, type: 'number', min: 0, step: 'any', onchange: () => this.readFields() });
		this.fromField = field('from');
		this.toField = field('to');
		this.clear = button('All of the time', () => app.change({ from: 0, to: 0 }), { title: 'Escape' });
		this.legend = make('div', { class: 'legend', role: 'list', 'aria-label': 'legend' });
		this.table = new Table({ label: 'samples in order of time', columns: [{ key: 'time', label: 'time', kind: 'number' },
			{ key: 'lane', label: 'thread', kind: 'text' }, { key: 'value', label: 'value', kind: 'number' },
			{ key: 'type', label: 'of', kind: 'text' }, { key: 'name', label: 'stack, innermost first', kind: 'name' }],
		onRow: (row) => this.choose(row) });
		this.element = make('section', { class: 'timeline' }, make('div', { class: 'tools' }, labeled('from ', this.fromField), labeled('to ', this.toField),
			make('span', { class: 'words' }, 's'), this.clear, this.words, this.legend), this.lanes, this.table.element);
		/** @type {Int32Array} */
		this.list = new Int32Array(0);
		this.laneOf = this.model.lanes.length ? lanesOfTracks(this.model.p, this.model.lanes) : this.list;
		this.view = { width: 0, height: 0, scroll: 0, from: 0, to: 1, current: -1, colors: { text: '', minor: '', line: '', accent: '' },
			key: '', columns: new Map() };
	}

	update() {
		const { model, view } = this, { p, state } = model, times = /** @type {any} */ (p.times), seconds = times.bucketNs / 1e9;

		view.to = times.count;
		this.fromField.value = model.within ? String(+(state.from * seconds).toFixed(9)) : '';
		this.toField.value = model.within ? String(+(state.to * seconds).toFixed(9)) : '';
		this.clear.disabled = !model.within;
		this.words.textContent = this.describe();
		this.showLegend();
		this.layout();
		this.fillTable();
	}

	describe() {
		const { model } = this, { p, state, lanes } = model, times = /** @type {any} */ (p.times), { wait } = laneTypes(model, this.timed);
		const words = [`${lanes.length} ${lanes.length === 1 ? 'lane' : 'lanes'}`];

		if (model.within)
			words.unshift(`${timeSpanText(p, state.from, state.to)}: ${valueText(model.whole(), model.unit())}`);
		else
			words.push('drag to choose a part of the time');
		if (times.isThinned)
			words.push('stacks are right on average');
		if (wait < 0 && model.wall)
			words.push('waits were summed without their times');
		return words.join('; ');
	}

	showLegend() {
		const { main, wait } = laneTypes(this.model, this.timed), { meta } = this.model.p, items = [];

		if (main >= 0)
			items.push([ON_COLOR, meta.types[main].name === 'cpu' ? 'on the CPU' : meta.types[main].name]);
		if (wait >= 0)
			items.push([OFF_COLOR, 'off the CPU (hatched)']);
		if (this.model.found)
			items.push([HIT_COLOR, 'found']);
		this.legend.replaceChildren(...items.map(([color, text]) => {
			const box = make('i', {});

			box.style.backgroundColor = color;
			return make('span', { role: 'listitem' }, box, text);
		}));
	}

	layout() {
		const { view, lanes, canvas } = this, ratio = window.devicePixelRatio || 1, style = getComputedStyle(document.body);
		const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim() || '#808080';

		view.width = lanes.clientWidth;
		view.height = lanes.clientHeight;
		view.colors = { text: color('--text'), minor: color('--minor'), line: color('--line'), accent: color('--accent') };
		if (view.width <= NAME_PX || !view.height)
			return;
		if (canvas.width !== Math.round(view.width * ratio) || canvas.height !== Math.round(view.height * ratio)) {
			canvas.width = Math.round(view.width * ratio);
			canvas.height = Math.round(view.height * ratio);
		}
		canvas.style.width = view.width + 'px';
		canvas.style.height = view.height + 'px';
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.space.style.height = Math.max(0, SCALE_PX + this.model.lanes.length * LANE_PX - view.height) + 'px';
		this.draw();
	}

	draw() {
		this.view.scroll = this.lanes.scrollTop;
		if (this.view.width <= NAME_PX || !this.view.height)
			return;
		drawLanes(this.context, this.model, this.view, this.timed);
		this.showBrush(this.model.state.from, this.model.within ? this.model.state.to : 0);
	}

	/** @param {number} from @param {number} to buckets; 0: nothing is chosen */
	showBrush(from, to) {
		const { style } = this.brush, x = bucketX(this.view, from);

		this.brush.hidden = !to;
		style.left = x + 'px';
		style.width = Math.max(1, bucketX(this.view, to) - x) + 'px';
	}

	fillTable() {
		const { model } = this, { p, state, kept } = model, times = /** @type {any} */ (p.times), { tree, entries } = p;
		const index = valuesInOrder(p, kept, state.from, model.within ? state.to : times.count);

		this.list = index;
		this.table.fill(index.length, (row) => {
			const i = index[row], track = trackOf(times, i), type = p.meta.types[times.tracks[track].type], names = [];

			for (let node = entries.node[times.entry[i]]; node > 0 && names.length < 64; node = tree.parent[node])
				names.push(p.strings[p.name[tree.frame[node]]]);
			return { cells: [valueText(times.bucket[i] * times.bucketNs, 'nanoseconds'), model.lanes[this.laneOf[track]].name,
				valueText(times.value[i], type.unit), type.name, names.join(' \u2190 ')], titles: ['', '', '', '', names.join('\n')] };
		});
	}

	/** @param {number} row */
	choose(row) {
		const { p } = this.model, times = /** @type {any} */ (p.times), node = p.entries.node[times.entry[this.list[row]]];
		const fn = p.functionOf[p.tree.frame[node]];

		this.app.select(fn, 0);
		this.app.tell(functionName(p, fn), [percentText(this.model.sums().main.self[fn], this.model.whole()) + ' self']);
	}

	/** @param {PointerEvent} event */
	bucketOf(event) {
		return bucketAt(this.view, event.clientX - this.canvas.getBoundingClientRect().left);
	}

	/** @param {PointerEvent} event */
	begin(event) {
		if (event.button !== 0)
			return;
		this.drag = this.bucketOf(event);
		this.lanes.setPointerCapture(event.pointerId);
	}

	/** @param {PointerEvent} event */
	move(event) {
		const at = this.bucketOf(event);

		if (this.drag >= 0)
			this.showBrush(Math.min(this.drag, at), Math.max(this.drag, at));
	}

	/** @param {PointerEvent} event */
	end(event) {
		const from = this.drag, to = this.bucketOf(event);

		if (from < 0)
			return;
		this.drag = -1;
		if (Math.abs(bucketX(this.view, to) - bucketX(this.view, from)) < LEAST_DRAG_PX)
			this.app.change({ from: 0, to: 0 });
		else
			this.take(Math.min(from, to), Math.max(from, to));
		this.draw();
	}

	cancel() {
		this.drag = -1;
		this.draw();
	}

	/** Chooses a part of the time. @param {number} from @param {number} to buckets */
	take(from, to) {
		const { count } = /** @type {any} */ (this.model.p.times), first = Math.max(0, Math.min(count - 1, Math.floor(from)));

		this.app.change({ from: first, to: Math.max(first + 1, Math.min(count, Math.ceil(to))) });
	}

	readFields() {
		const { count, bucketNs } = /** @type {any} */ (this.model.p.times), bucket = (/** @type {any} */ field, /** @type {number} */ without) =>
			field.value === '' ? without : Number(field.value) * 1e9 / bucketNs;
		const from = Math.round(bucket(this.fromField, 0)), to = Math.round(bucket(this.toField, count));

		if (to > from)
			this.take(from, to);
	}

	/** @param {KeyboardEvent} event */
	press(event) {
		const { count } = /** @type {any} */ (this.model.p.times), { state, within } = this.model, step = Math.max(1, Math.round(count / STEPS));
		const from = within ? state.from : 0, to = within ? state.to : step;
		const moves = /** @type {Record<string, [number, number]>} */ ({ ArrowRight: within ? [step, step] : [0, 0], ArrowLeft: [-step, -step],
			'+': [0, step], '-': [0, -step] }), by = moves[event.key];

		if (!by || event.ctrlKey || event.altKey || event.metaKey)
			return;
		event.preventDefault();
		event.stopPropagation();
		if (from + by[0] >= 0 && to + by[1] > from + by[0] && from + by[0] < count)
			this.take(from + by[0], to + by[1]);
	}
}
