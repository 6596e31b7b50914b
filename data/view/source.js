// SPDX-License-Identifier: MIT
// @ts-check
//
// source: the tab with the lines of the functions with the largest self, and their instructions. Its values are
// those of the whole recording.

import { button, choice, labeled, make, press } from './dom.js';
import { functionModule, functionName } from './profile.js';
import { Table } from './table.js';
import { exactText, percentText, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./profile.js').Source} Source */
/** @typedef {{ isInsn: boolean, place: string, self: number, total: number, text: string }} SourceRow */

/** The lines of a source; with instructions, each line has its own behind it. @param {Source} source @param {boolean} hasInsns
 * @returns {SourceRow[]} */
export function sourceRows(source, hasInsns) {
	/** @type {Map<number, SourceRow[]>} */
	const insns = new Map();
	/** @type {SourceRow[]} */
	const rows = [];

	for (let i = 0; hasInsns && i + 3 < source.insns.length; i += 4) {
		const [line, self, place, text] = source.insns.slice(i, i + 4), list = insns.get(line) || [];

		list.push({ isInsn: true, place, self, total: 0, text });
		insns.set(line, list);
	}
	for (let i = 0; i + 3 < source.lines.length; i += 4) {
		const [line, self, total, text] = source.lines.slice(i, i + 4);

		rows.push({ isInsn: false, place: String(line), self, total, text }, ...insns.get(line) || []);
		insns.delete(line);
	}
	if (insns.size) {
		rows.push({ isInsn: false, place: '', self: 0, total: 0, text: 'of other lines:' });
		insns.forEach((list) => list.forEach((row) => rows.push(row)));
	}
	return rows;
}

export class SourceTab {
	/** @param {any} app see page.js */
	constructor(app) {
		this.app = app;
		this.model = /** @type {Model} */ (app.model);
		const { p } = this.model, of = new Map();

		for (let fn = 1; fn < p.frameOf.length; fn++)
			of.set(functionName(p, fn) + '\0' + functionModule(p, fn), fn);
		this.sources = p.sources.map((source) => ({ source, fn: of.get(source.fn + '\0' + source.module) || 0 }));
		this.hasInsns = false;
		this.choice = choice(this.sources.map(({ source }, i) => [String(i), source.fn]), (i) => this.choose(Number(i)), { id: 'source' });
		this.assembly = button('Instructions', () => this.turn(), { title: 'the instructions of each line below it' });
		this.words = make('p', { class: 'words' });
		this.table = new Table({ label: 'source lines', columns: [{ key: 'self', label: 'self', kind: 'number' }, { key: 'share', label: '%', kind: 'share' },
			{ key: 'total', label: 'total', kind: 'number' }, { key: 'line', label: 'line', kind: 'number' }, { key: 'name', label: 'source', kind: 'name' }] });
		this.element = make('section', { class: 'code' }, make('div', { class: 'tools' }, labeled('function ', this.choice), this.assembly, this.words), this.table.element);
		this.shown = -1;
	}

	/** @param {number} i */
	choose(i) {
		this.shown = i;
		if (this.sources[i].fn)
			this.app.select(this.sources[i].fn, 0);
		this.update();
	}

	turn() {
		this.hasInsns = !this.hasInsns;
		this.update();
	}

	update() {
		const { model } = this, found = this.sources.findIndex(({ fn }) => fn > 0 && fn === model.state.fn), before = this.shown;

		this.shown = found >= 0 ? found : Math.max(0, this.shown);
		const { source } = this.sources[this.shown], { meta } = model.p, unit = meta.types[meta.type].unit, rows = sourceRows(source, this.hasInsns);
		const most = rows.reduce((most, row) => Math.max(most, row.self), 0), first = rows.findIndex((row) => row.self === most);
		const missing = found < 0 && model.state.fn ? `; ${functionName(model.p, model.state.fn)} has no source here` : '';

		this.choice.value = String(this.shown);
		press(this.assembly, this.hasInsns);
		this.assembly.disabled = !source.insns.length;
		this.words.textContent = `${source.file}; ${meta.types[meta.type].name} of the whole recording: self ${valueText(source.self, unit)}` + missing;
		this.table.fill(rows.length, (i) => {
			const row = rows[i], part = source.self ? row.self / source.self : 0, cell = make('code', { class: row.isInsn ? 'insn' : undefined }, row.text);

			return { cells: [row.self ? valueText(row.self, unit) : '', row.self ? percentText(row.self, source.self) : '',
				row.total ? valueText(row.total, unit) : '', row.place, cell], shares: [undefined, part],
			titles: [row.self ? exactText(row.self, unit) : '', '', row.total ? exactText(row.total, unit) : ''] };
		});
		if (this.shown !== before && first >= 0)
			this.table.reveal(first);
	}
}
