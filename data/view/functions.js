// SPDX-License-Identifier: MIT
// @ts-check
//
// functions: the tab with the table of functions, and beside it who calls the selected one and what it calls.

import { make } from './dom.js';
import { functionModule, functionName } from './profile.js';
import { Table } from './table.js';
import { exactText, percentText, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */

/** The order of functions in a table: the largest first, ties by name. @param {Model} model @param {string} sort */
export function sortedFunctions(model, sort) {
	const { p } = model, { self, total } = model.sums().main, known = model.sorted.get(sort), list = [];

	if (known)
		return known;
	for (let fn = 1; fn < self.length; fn++)
		if (self[fn] || total[fn])
			list.push(fn);
	const names = (/** @type {number} */ a, /** @type {number} */ b) => {
		const x = p.frameOf[a], y = p.frameOf[b]; // strings are sorted

		return p.name[x] - p.name[y] || p.module[x] - p.module[y];
	};
	/** @type {Record<string, (a: number, b: number) => number>} */
	const orders = {
		self: (a, b) => self[b] - self[a] || total[b] - total[a] || names(a, b),
		total: (a, b) => total[b] - total[a] || self[b] - self[a] || names(a, b),
		name: names,
		module: (a, b) => p.module[p.frameOf[a]] - p.module[p.frameOf[b]] || self[b] - self[a] || names(a, b),
	};

	model.sorted.set(sort, list.sort(orders[sort] || orders.self));
	return list;
}

export class Functions {
	/** @param {any} app see page.js */
	constructor(app) {
		const number = (/** @type {string} */ key, /** @type {string} */ label) => ({ key, label, kind: 'number', sorts: true });
		const call = (/** @type {string} */ label) => new Table({ label, columns: [{ key: 'value', label: 'total', kind: 'number' },
			{ key: 'share', label: '%', kind: 'share' }, { key: 'name', label, kind: 'name' }],
		onRow: (row) => this.follow(label, row) });

		this.app = app;
		this.model = /** @type {Model} */ (app.model);
		this.table = new Table({ label: 'functions', columns: [number('self', 'self'), { key: 'self', label: '%', kind: 'share' },
			number('total', 'total'), { key: 'total', label: '%', kind: 'share' },
			{ key: 'name', label: 'function', kind: 'name', sorts: true }, { key: 'module', label: 'module', kind: 'text', sorts: true }],
		onRow: (row) => app.change({ fn: this.list[row] }), onSort: (key) => app.change({ sort: key }) });
		this.callers = call('callers');
		this.callees = call('callees');
		this.selected = make('h2', {}, '');
		this.side = make('div', { class: 'side' }, this.selected, make('h3', {}, 'callers'), this.callers.element,
			make('h3', {}, 'callees'), this.callees.element);
		this.element = make('section', { class: 'split' }, this.table.element, this.side);
		/** @type {number[]} */
		this.list = [];
		/** @type {Record<string, { fn: number, value: number }[]>} */
		this.calls = { callers: [], callees: [] };
		this.revealed = 0;
	}

	/** @param {string} which @param {number} row */
	follow(which, row) {
		const { fn } = this.calls[which][row];

		if (fn)
			this.app.change({ fn });
	}

	update() {
		const { model } = this, { state } = model;

		this.list = sortedFunctions(model, state.sort);
		this.fillTable();
		this.fillCalls();
		const row = this.list.indexOf(state.fn);
		if (row >= 0 && this.revealed !== state.fn)
			this.table.reveal(row);
		this.revealed = state.fn;
	}

	fillTable() {
		const { model } = this, { p, state, found } = model, { self, total } = model.sums().main;
		const unit = model.unit(), whole = model.whole();

		this.table.fill(this.list.length, (row) => {
			const fn = this.list[row], name = functionName(p, fn), module = functionModule(p, fn);
			const inlined = { no: '', yes: ' (inlined)', partly: ' (partly inlined)' }[p.inlinedOf[fn]] || '';

			return { cells: [valueText(self[fn], unit), percentText(self[fn], whole), valueText(total[fn], unit),
				percentText(total[fn], whole), name + inlined, module],
			titles: [exactText(self[fn], unit), '', exactText(total[fn], unit), '', name, module],
			shares: [undefined, self[fn] / whole, undefined, total[fn] / whole],
			isSelected: fn === state.fn, isHit: Boolean(found && found.hits[p.frameOf[fn]]) };
		}, state.sort);
	}

	fillCalls() {
		const { model } = this, { p, state } = model, { fn } = state, unit = model.unit();
		const total = fn ? model.sums().main.total[fn] : 0;

		this.calls = fn ? model.calls(fn) : { callers: [], callees: [] };
		this.selected.textContent = fn ? functionName(p, fn) : 'select a function';
		for (const which of /** @type {const} */ (['callers', 'callees'])) {
			const list = this.calls[which];

			this[which].fill(list.length, (row) => {
				const { fn: other, value } = list[row];

				return { cells: [valueText(value, unit), percentText(value, total), other ? functionName(p, other) : '[outermost]'],
					titles: [exactText(value, unit), '', other ? functionModule(p, other) : ''], shares: [undefined, value / total] };
			});
		}
	}
}
