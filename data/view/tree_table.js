// SPDX-License-Identifier: MIT
// @ts-check
//
// tree_table: the tab with the tree that is shown as a table: who calls whom, or inverted, who is called by whom.

import { make } from './dom.js';
import { Table } from './table.js';
import { exactText, percentText, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */

const OPEN_ROWS = 40; // that are opened along the largest callees

export class TreeTable {
	/** @param {any} app see page.js */
	constructor(app) {
		this.app = app;
		this.model = /** @type {Model} */ (app.model);
		this.table = new Table({ label: 'call tree', role: 'treegrid', columns: [{ key: 'total', label: 'total', kind: 'number' },
			{ key: 'share', label: '%', kind: 'share' }, { key: 'self', label: 'self', kind: 'number' },
			{ key: 'share', label: '%', kind: 'share' }, { key: 'name', label: 'function', kind: 'name' },
			{ key: 'module', label: 'module', kind: 'text' }],
		onRow: (row, event) => this.choose(row, event), onKey: (event, row) => this.press(event, row) });
		this.element = make('section', {}, this.table.element);
		/** @type {number[]} nodes in the order of the rows */
		this.rows = [];
		this.open = new Set();
		this.key = '';
	}

	/** Callees with a value, largest first. @param {number} node */
	callees(node) {
		const { tree, total } = this.model.shown, list = [];

		for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
			if (total[i])
				list.push(i);
		return list.sort((a, b) => total[b] - total[a] || a - b);
	}

	/** Opens along the largest callees as long as there are few rows. */
	openFirst() {
		const { total } = this.model.shown;
		let node = 0;

		this.open = new Set([0]);
		this.rows = this.callees(0);
		while (this.rows.length < OPEN_ROWS) {
			const callees = this.callees(node), next = callees[0];

			if (next === undefined || total[next] < total[node] / 2 && node)
				break;
			node = next;
			this.toggle(this.rows.indexOf(node), true);
		}
	}

	/** @param {number} row @param {boolean} isOpen */
	toggle(row, isOpen) {
		const node = this.rows[row], { tree } = this.model.shown;
		let end = row + 1;

		if (isOpen === this.open.has(node))
			return;
		if (isOpen) {
			const callees = this.callees(node);

			this.open.add(node);
			this.rows = this.rows.slice(0, end).concat(callees, this.rows.slice(end));
			return;
		}
		while (end < this.rows.length && this.rows[end] < tree.end[node] && this.rows[end] > node)
			this.open.delete(this.rows[end++]);
		this.open.delete(node);
		this.rows.splice(row + 1, end - row - 1);
	}

	/** @param {number} row @param {Event} event */
	choose(row, event) {
		const node = this.rows[row], target = /** @type {HTMLElement} */ (event.target);

		if (target.classList && target.classList.contains('twist') || event.type === 'keydown') {
			this.toggle(row, !this.open.has(node));
			this.fill();
		}
		this.app.change({ fn: this.model.p.functionOf[this.model.shown.tree.frame[node]] }, node);
	}

	/** @param {KeyboardEvent} event @param {number} row */
	press(event, row) {
		const node = this.rows[row], isOpen = this.open.has(node), { tree } = this.model.shown;

		if (event.key === 'ArrowRight' && !isOpen && tree.end[node] > node + 1) {
			this.toggle(row, true);
		} else if (event.key === 'ArrowLeft' && isOpen) {
			this.toggle(row, false);
		} else if (event.key === 'ArrowLeft') {
			this.table.reveal(Math.max(0, this.rows.indexOf(tree.parent[node])));
			return true;
		} else {
			return false;
		}
		this.fill();
		return true;
	}

	update() {
		const { keys } = this.model;

		if (this.key !== keys.shown) {
			this.key = keys.shown;
			this.openFirst();
		}
		this.fill();
	}

	fill() {
		const { model } = this, { p, shown, state, found } = model, { tree, self, total } = shown;
		const unit = model.unit(), whole = model.whole();

		this.table.fill(this.rows.length, (row) => {
			const node = this.rows[row], frame = tree.frame[node], name = p.strings[p.name[frame]];
			const has = tree.end[node] > node + 1, isOpen = this.open.has(node), level = tree.depth[node];
			const twist = make('span', { class: 'twist', 'aria-hidden': 'true' }, has ? (isOpen ? '\u25be' : '\u25b8') : '');
			const cell = make('span', {}, twist, name);

			cell.style.paddingLeft = Math.min(40, level - 1) * 14 + 'px';
			return { cells: [valueText(total[node], unit), percentText(total[node], whole), valueText(self[node], unit),
				percentText(self[node], whole), cell, p.strings[p.module[frame]]],
			titles: [exactText(total[node], unit), '', exactText(self[node], unit), '', name],
			shares: [undefined, total[node] / whole, undefined, self[node] / whole], level,
			isOpen: has ? isOpen : undefined, isSelected: p.functionOf[frame] === state.fn,
			isHit: Boolean(found && found.hits[frame]) };
		});
	}
}
