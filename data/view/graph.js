// SPDX-License-Identifier: MIT
// @ts-check
//
// graph: the tab with the call graph: functions as boxes by self, calls as edges by total.

import { heatColor } from './colors.js';
import { make } from './dom.js';
import { sortedFunctions } from './functions.js';
import { BOX_HEIGHT, BOX_WIDTH, callsAmong, layoutGraph } from './graph_layout.js';
import { functionName } from './profile.js';
import { bareName, exactText, fitName, percentText, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./graph_layout.js').Place} Place */

const SVG = 'http://www.w3.org/2000/svg';
const MOST_BOXES = 60, LEAST_SHARE = 0.005;
const LABEL_COLUMNS = 25;

/** @param {string} tag @param {Record<string, any>} attributes @param {...(Node | string)} inside @returns {any} */
function draw(tag, attributes, ...inside) {
	const element = document.createElementNS(SVG, tag);

	for (const key of Object.keys(attributes))
		element.setAttribute(key, String(attributes[key]));
	element.append(...inside);
	return element;
}

/** The functions with the largest totals, and their calls. @param {Model} model */
export function chooseGraph(model) {
	const { p } = model, { total } = model.sums().main, least = LEAST_SHARE * model.whole();
	const functions = sortedFunctions(model, 'total').filter((fn) => total[fn] > 0 && total[fn] >= least).slice(0, MOST_BOXES);
	const calls = callsAmong(p, model.mapped.tree, model.main.total, functions).filter((call) => call.value >= least);

	return { functions, calls };
}

export class Graph {
	/** @param {any} app see page.js */
	constructor(app) {
		this.app = app;
		this.model = /** @type {Model} */ (app.model);
		this.words = make('p', { class: 'words' });
		this.view = make('div', { class: 'graph', tabindex: 0 });
		this.element = make('section', {}, make('div', { class: 'tools' }, this.words), this.view);
	}

	update() {
		const { model } = this, { functions, calls } = chooseGraph(model), { places, width, height } = layoutGraph(functions, calls);
		const picture = draw('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'call graph' });
		const most = functions.reduce((value, fn) => Math.max(value, model.sums().main.self[fn]), 0);

		this.words.textContent = `${functions.length} functions with ${100 * LEAST_SHARE}% and more; color by self, lines by total, ` +
			'dashed: calls through functions that are not shown';
		for (const call of calls)
			picture.append(this.drawCall(call, /** @type {Place} */ (places.get(call.from)), /** @type {Place} */ (places.get(call.to))));
		for (const fn of functions)
			picture.append(this.drawBox(/** @type {Place} */ (places.get(fn)), most));
		this.view.replaceChildren(picture);
	}

	/** @param {import('./graph_layout.js').Call} call @param {Place} from @param {Place} to */
	drawCall(call, from, to) {
		const { model } = this, { p } = model, share = call.value / model.whole(), size = BOX_HEIGHT / 2;
		const isDown = to.y > from.y, y1 = from.y + (isDown ? size : -size), y2 = to.y + (isDown ? -size - 5 : size + 5);
		const bend = Math.max(24, Math.abs(y2 - y1) / 2) * (isDown ? 1 : -1), side = from.layer === to.layer ? 60 : 0;
		const path = `M${from.x} ${y1}C${from.x + side} ${y1 + bend} ${to.x + side} ${y2 - bend} ${to.x} ${y2}`;
		const tip = isDown ? 5 : -5;

		return draw('g', { class: 'call' + (call.isDirect ? '' : ' indirect') },
			draw('title', {}, `${functionName(p, call.from)} calls ${functionName(p, call.to)}: ${exactText(call.value, model.unit())}, ` +
				percentText(call.value, model.whole())),
			draw('path', { d: path, 'stroke-width': (1 + 7 * share).toFixed(1) }),
			draw('path', { class: 'tip', d: `M${to.x - 4} ${y2}h8l-4 ${tip}z` }),
			draw('text', { x: (from.x + to.x) / 2 + side / 2 + 5, y: (y1 + y2) / 2 + 4 }, percentText(call.value, model.whole())));
	}

	/** @param {Place} place @param {number} most the largest self */
	drawBox(place, most) {
		const { app, model } = this, { p } = model, { fn } = place, { self, total } = model.sums().main, unit = model.unit();
		const left = place.x - BOX_WIDTH / 2, top = place.y - BOX_HEIGHT / 2, name = functionName(p, fn);
		const isHit = model.found && model.found.hits[p.frameOf[fn]];
		const box = draw('g', { class: 'box' + (isHit ? ' hit' : '') + (fn === model.state.fn ? ' chosen' : ''), tabindex: 0, role: 'button',
			'aria-label': `${name}, self ${percentText(self[fn], model.whole())}, total ${percentText(total[fn], model.whole())}` },
		draw('title', {}, `${name}\nself ${exactText(self[fn], unit)}\ntotal ${exactText(total[fn], unit)}`),
		draw('rect', { x: left, y: top, width: BOX_WIDTH, height: BOX_HEIGHT, rx: 4, class: 'back' }),
		draw('rect', { x: left, y: top, width: BOX_WIDTH, height: BOX_HEIGHT, rx: 4, fill: heatColor(most > 0 ? self[fn] / most : 0) }),
		draw('text', { x: place.x, y: top + 18, class: 'name' }, fitName(bareName(name), LABEL_COLUMNS)),
		draw('text', { x: place.x, y: top + 35 }, `${valueText(self[fn], unit)} of ${valueText(total[fn], unit)}`));
		const choose = () => app.change({ fn });

		box.addEventListener('click', choose);
		box.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => event.key === 'Enter' && choose());
		return box;
	}
}
