// SPDX-License-Identifier: MIT
// @ts-check
//
// labels: the tab with threads, processes, ranks or another label against functions, as a heat map.

import { heatColor } from './colors.js';
import { choice, labeled, make } from './dom.js';
import { functionName } from './profile.js';
import { groupNames, groupSums, readClasses } from './sums.js';
import { exactText, percentText, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */

const COLUMNS = 16, ROWS = 256;
const FIRST_KEYS = ['rank', 'file', 'thread', 'pid', 'comm', 'host', 'stage', 'class'];

/** The labels that can be shown, the most telling first. @param {any} meta @returns {string[]} */
export function groupKeys(meta) {
	const has = (/** @type {string} */ key) => meta.keys.includes(key);
	const own = meta.keys.filter((/** @type {string} */ key) => key !== 'class' || readClasses(meta).names.length);
	const keys = has('comm') && has('tid') ? ['thread', ...own] : own;
	const order = (/** @type {string} */ key) => FIRST_KEYS.indexOf(key) + 1 || FIRST_KEYS.length + 1;

	return keys.sort((/** @type {string} */ a, /** @type {string} */ b) => order(a) - order(b));
}

export class Labels {
	/** @param {any} app see page.js */
	constructor(app) {
		this.app = app;
		this.model = /** @type {Model} */ (app.model);
		this.keys = groupKeys(this.model.p.meta);
		this.choice = choice(this.keys.map((key) => [key, key]), (by) => app.change({ by }), { id: 'by' });
		this.words = make('p', { class: 'words' });
		this.head = make('thead', {});
		this.body = make('tbody', {});
		this.foot = make('tfoot', {});
		this.element = make('section', {}, make('div', { class: 'tools' }, labeled('by ', this.choice), this.words),
			make('div', { class: 'rows heat', tabindex: 0 }, make('table', { 'aria-label': 'values by label and function' }, this.head, this.foot, this.body)));
	}

	/** The functions with the most, over all groups. @param {ReturnType<typeof groupSums>} rows */
	columns(rows) {
		/** @type {Map<number, number>} */
		const sums = new Map();

		for (const row of rows)
			row.byFunction.forEach((value, fn) => sums.set(fn, (sums.get(fn) || 0) + value));
		return Array.from(sums).sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, COLUMNS).map(([fn]) => fn);
	}

	update() {
		const { model } = this, { p, state } = model, by = this.keys.includes(state.by) ? state.by : this.keys[0];

		this.choice.disabled = !this.keys.length;
		if (!this.keys.length) {
			this.words.textContent = 'The samples of this profile have no labels.';
			return;
		}
		this.choice.value = by;
		const rows = groupSums(p, model.entryValues(state.type), model.kept, groupNames(p.meta, by));
		const columns = this.columns(rows), unit = model.unit();
		const mean = model.whole() / (rows.length || 1);
		this.words.textContent = `${rows.length} ${by === 'thread' ? 'threads' : 'values of ' + by}` +
			(rows.length > 1 ? `; the largest has ${(rows[0].total / mean).toFixed(2)} times the mean` : '') +
			(rows.length > ROWS ? `; the first ${ROWS} are shown` : '') + '; functions by self';
		this.head.replaceChildren(make('tr', {}, make('th', { scope: 'col' }, by), make('th', { scope: 'col', class: 'number' }, 'total'),
			...columns.map((fn) => make('th', { scope: 'col', class: 'slant', title: functionName(p, fn) }, make('span', {}, functionName(p, fn))))));
		this.foot.replaceChildren(...(rows.length > 1 ? [this.makeImbalance(rows, columns)] : []));
		this.body.replaceChildren(...rows.slice(0, ROWS).map((row) => this.makeRow(row, by, columns, rows[0].total, unit)));
	}

	/** The largest over the mean, of each function. @param {ReturnType<typeof groupSums>} rows @param {number[]} columns */
	makeImbalance(rows, columns) {
		const ratio = (/** @type {number[]} */ values) => {
			const sum = values.reduce((a, b) => a + b, 0);

			return sum ? (values.reduce((a, b) => Math.max(a, b), 0) * values.length / sum).toFixed(2) : '';
		};

		return make('tr', { title: 'the largest value over the mean: 1 is balance' }, make('th', { scope: 'row' }, 'largest / mean'),
			make('td', { class: 'number' }, ratio(rows.map((row) => row.total))),
			...columns.map((fn) => make('td', { class: 'number' }, ratio(rows.map((row) => row.byFunction.get(fn) || 0)))));
	}

	/**
	 * @param {ReturnType<typeof groupSums>[0]} row @param {string} by @param {number[]} columns @param {number} largest
	 * @param {string} unit
	 */
	makeRow(row, by, columns, largest, unit) {
		const { app, model } = this, { p } = model;
		const filter = () => app.addChips(this.chipsOf(row.set, by));
		const total = make('td', { class: 'share', title: exactText(row.total, unit) }, valueText(row.total, unit));

		total.style.backgroundSize = (100 * row.total / largest).toFixed(1) + '% 100%';
		return make('tr', {}, make('th', { scope: 'row' },
			make('button', { type: 'button', title: 'show only this', onclick: filter }, row.name)), total,
		...columns.map((fn) => {
			const value = row.byFunction.get(fn) || 0;
			const cell = make('td', { class: 'number', title: `${functionName(p, fn)}: ${exactText(value, unit)}`,
				onclick: () => app.change({ fn }) }, value ? percentText(value, row.total) : '');

			cell.style.backgroundColor = heatColor(row.total ? value / row.total : 0);
			return cell;
		}));
	}

	/** The chips that keep a group. @param {number} set one of its label sets @param {string} by */
	chipsOf(set, by) {
		const { meta } = this.model.p, labels = meta.sets[set], chips = [];

		for (let i = 0; i < labels.length; i += 2) {
			const key = meta.keys[labels[i]];

			if (key === by || (by === 'thread' && (key === 'comm' || key === 'tid')))
				chips.push({ kind: 'label', text: `${key}=${labels[i + 1]}` });
		}
		return chips;
	}
}
