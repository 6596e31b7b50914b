// SPDX-License-Identifier: MIT
// @ts-check
//
// changes: the tab of a difference: what costs more, what less, and what may be chance, as 'auger diff' has it.

import { button, make, press } from './dom.js';
import { functionModule, functionName } from './profile.js';
import { Table } from './table.js';
import { changeText, exactText, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */

/** The changes of functions, the largest first, ties by name. @param {Model} model @param {boolean} hasTotals */
export function functionChanges(model, hasTotals) {
	const { p } = model, { main, other, sides } = model.sums(), which = hasTotals ? 'total' : 'self';
	const rows = [];

	for (let fn = 1; fn < p.frameOf.length; fn++) {
		const after = main[which][fn], before = other ? other[which][fn] : 0;

		if (after || before)
			rows.push({ fn, ...model.change(before, after, sides[0] && sides[0][which][fn], sides[1] && sides[1][which][fn]) });
	}
	return rows.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) ||
		p.name[p.frameOf[a.fn]] - p.name[p.frameOf[b.fn]] || a.fn - b.fn);
}

/** @param {{ z: number | null, isSure: boolean, change: number }} row */
function chanceText(row) {
	return row.z === null ? '' : !row.change ? '' : row.isSure ? 'hardly chance' : 'may be chance';
}

export class Changes {
	/** @param {any} app see page.js */
	constructor(app) {
		const columns = [{ key: 'before', label: 'before', kind: 'number' }, { key: 'after', label: 'after', kind: 'number' },
			{ key: 'change', label: 'change', kind: 'number' }, { key: 'percent', label: '%', kind: 'number' },
			{ key: 'z', label: 'z', kind: 'number' }, { key: 'chance', label: 'chance', kind: 'text' },
			{ key: 'name', label: 'function', kind: 'name' }, { key: 'module', label: 'module', kind: 'text' }];

		this.app = app;
		this.model = /** @type {Model} */ (app.model);
		this.hasTotals = false;
		this.totals = button('With callees', () => {
			this.hasTotals = !this.hasTotals;
			this.update();
		}, { title: 'compare functions with what they call' });
		this.shares = button('Shares', () => app.change({ shares: !this.model.state.shares }),
			{ title: 'compare shares of the whole, for runs of different length' });
		this.words = make('p', { class: 'words' });
		this.table = new Table({ label: 'changes', columns, onRow: (row) => app.change({ fn: this.rows[row].fn }) });
		this.element = make('section', {}, make('div', { class: 'tools' }, this.totals, this.shares, this.words), this.table.element);
		/** @type {ReturnType<typeof functionChanges>} */
		this.rows = [];
	}

	update() {
		const { model } = this, { p, state, found } = model, unit = model.unit();

		press(this.totals, this.hasTotals);
		press(this.shares, state.shares);
		if (!model.isDiff) {
			this.words.textContent = 'This page has one profile. auger view BEFORE AFTER compares two.';
			return;
		}
		const before = model.other ? model.other.total[0] * model.factor() : 0, after = model.whole();
		this.words.textContent = `${model.typeName()}: ${valueText(before, unit)} to ${valueText(after, unit)}, ` +
			`${changeText(after - before, unit)} (${before ? (100 * (after - before) / before).toFixed(2) + '%' : 'new'})`;
		this.rows = functionChanges(model, this.hasTotals);
		this.table.fill(this.rows.length, (row) => {
			const one = this.rows[row], name = functionName(p, one.fn);
			const percent = one.before ? (100 * one.change / one.before).toFixed(2) + '%' : 'new';
			const change = make('span', { class: !one.isSure ? 'unsure' : one.change > 0 ? 'more' : 'less' }, changeText(one.change, unit));

			return { cells: [valueText(one.before, unit), valueText(one.after, unit), change, one.after || !one.before ? percent : 'gone',
				one.z === null ? '' : one.z.toFixed(1), chanceText(one), name, functionModule(p, one.fn)],
			titles: [exactText(one.before, unit), exactText(one.after, unit), exactText(one.change, unit), '', '', '', name],
			isSelected: one.fn === state.fn, isHit: Boolean(found && found.hits[p.frameOf[one.fn]]) };
		});
	}
}

