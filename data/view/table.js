// SPDX-License-Identifier: MIT
// @ts-check
//
// table: a table of any length: only the rows on the screen are elements.

import { make } from './dom.js';

const LINE_PX = 22; // also in style.css
const SPARE_ROWS = 8;

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} label
 * @property {string} kind 'number', 'share', 'name', 'text'
 * @property {boolean} [sorts] a click on its head sorts
 */
/**
 * @typedef {object} Row
 * @property {(string | Node)[]} cells
 * @property {string[]} [titles] of cells
 * @property {(number | undefined)[]} [shares] of cells: bars behind them, 0..1
 * @property {boolean} [isSelected]
 * @property {boolean} [isHit] found by the search
 * @property {number} [level] of a tree, from 1
 * @property {boolean} [isOpen] undefined: has nothing below
 */

export class Table {
	/**
	 * @param {{ label: string, columns: Column[], role?: string, onRow?: (row: number, event: Event) => void,
	 *	onSort?: (key: string) => void, onKey?: (event: KeyboardEvent, row: number) => boolean }} options
	 */
	constructor(options) {
		this.options = options;
		this.count = 0;
		this.current = 0; // row of the keyboard
		this.body = make('tbody', {});
		this.heads = options.columns.map((column) => this.makeHead(column));
		this.table = make('table', { role: options.role || 'table', 'aria-label': options.label },
			make('thead', {}, make('tr', { 'aria-rowindex': 1 }, ...this.heads)), this.body);
		this.element = make('div', { class: 'rows', tabindex: 0, onscroll: () => this.draw(),
			onkeydown: (/** @type {KeyboardEvent} */ event) => this.press(event) }, this.table);
		/** @type {(row: number) => Row} */
		this.render = () => ({ cells: [] });
	}

	/** @param {Column} column */
	makeHead(column) {
		const sort = this.options.onSort;
		const inside = column.sorts && sort ? make('button', { type: 'button', onclick: () => sort(column.key) }, column.label) :
			column.label;

		return make('th', { scope: 'col', class: column.kind }, inside);
	}

	/** @param {number} count @param {(row: number) => Row} render @param {string} [sorted] key of a column */
	fill(count, render, sorted) {
		this.count = count;
		this.render = render;
		this.current = Math.max(0, Math.min(this.current, count - 1));
		this.table.setAttribute('aria-rowcount', String(count + 1));
		this.options.columns.forEach((column, i) => {
			if (column.sorts)
				this.heads[i].setAttribute('aria-sort', column.key !== sorted ? 'none' :
					column.kind === 'number' || column.kind === 'share' ? 'descending' : 'ascending');
		});
		this.draw();
	}

	/** @param {number} row */
	makeRow(row) {
		const data = this.render(row);
		const cells = data.cells.map((cell, i) => {
			const { kind } = this.options.columns[i];
			const td = make('td', { class: kind, title: data.titles && data.titles[i] }, cell);
			const share = data.shares && data.shares[i];

			if (share !== undefined)
				td.style.backgroundSize = `${Math.max(0, Math.min(100, 100 * share)).toFixed(1)}% 100%`;
			return td;
		});
		return make('tr', { 'aria-rowindex': row + 2, 'aria-selected': Boolean(data.isSelected), 'aria-level': data.level,
			'aria-expanded': data.isOpen === undefined ? undefined : String(data.isOpen),
			class: (data.isHit ? 'hit ' : '') + (row === this.current ? 'current' : ''),
			onclick: (/** @type {Event} */ event) => this.choose(row, event) }, ...cells);
	}

	draw() {
		const first = Math.max(0, Math.floor(this.element.scrollTop / LINE_PX) - SPARE_ROWS);
		const shown = Math.ceil((this.element.clientHeight || 600) / LINE_PX) + 2 * SPARE_ROWS;
		const last = Math.min(this.count, first + shown), rows = [];
		const space = (/** @type {number} */ count) => {
			const row = make('tr', { class: 'space', 'aria-hidden': 'true' });

			row.style.height = count * LINE_PX + 'px';
			return row;
		};

		rows.push(space(first));
		for (let row = first; row < last; row++)
			rows.push(this.makeRow(row));
		rows.push(space(this.count - last));
		this.body.replaceChildren(...rows);
	}

	/** @param {number} row @param {Event} event */
	choose(row, event) {
		this.current = row;
		if (this.options.onRow)
			this.options.onRow(row, event);
		this.draw();
	}

	/** Scrolls so that the row is seen. @param {number} row */
	reveal(row) {
		const top = row * LINE_PX, height = this.element.clientHeight - 2 * LINE_PX;

		this.current = row;
		if (top < this.element.scrollTop)
			this.element.scrollTop = top;
		else if (top > this.element.scrollTop + height)
			this.element.scrollTop = top - height;
		this.draw();
	}

	/** @param {KeyboardEvent} event */
	press(event) {
		const page = Math.max(1, Math.floor(this.element.clientHeight / LINE_PX) - 2);
		const steps = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
			Home: -this.count, End: this.count });

		if (event.ctrlKey || event.altKey || event.metaKey || !this.count)
			return;
		if (this.options.onKey && this.options.onKey(event, this.current)) {
			event.preventDefault();
		} else if (event.key in steps) {
			this.reveal(Math.max(0, Math.min(this.count - 1, this.current + steps[event.key])));
			event.preventDefault();
		} else if (event.key === 'Enter') {
			this.choose(this.current, event);
			event.preventDefault();
		} else {
			return;
		}
		event.stopPropagation();
	}
}
