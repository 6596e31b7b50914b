// SPDX-License-Identifier: MIT
// @ts-check
//
// summary: the tab that says what was recorded, and how well.

import { make } from './dom.js';
import { grouped, percentText, valueText } from './text.js';

/** @typedef {import('./model.js').Model} Model */

/** Of what is shown: stacks that are cut or have no name. @param {Model} model */
export function quality(model) {
	const { p } = model, { self } = model.sums().main, whole = model.whole();
	const facts = /** @type {[string, string][]} */ ([]);

	for (let fn = 1; fn < p.frameOf.length; fn++) {
		const name = p.strings[p.name[p.frameOf[fn]]];

		if (/^\[(unknown|lost|truncated)/.test(name) && self[fn])
			facts.push([name + (p.strings[p.module[p.frameOf[fn]]] ? ' in ' + p.strings[p.module[p.frameOf[fn]]] : ''),
				percentText(self[fn], whole)]);
	}
	return facts.slice(0, 20);
}

export class Summary {
	/** @param {any} app see page.js */
	constructor(app) {
		this.model = /** @type {Model} */ (app.model);
		this.element = make('section', { class: 'summary' });
	}

	facts() {
		const { p } = this.model, { meta } = p, list = /** @type {[string, string][]} */ ([]);
		const add = (/** @type {string} */ key, /** @type {any} */ value) => value && list.push([key, String(value)]);

		meta.files.forEach((/** @type {string} */ file) => add('file', file));
		meta.comments.forEach((/** @type {string} */ comment) => add('comment', comment));
		add('filter', meta.filter);
		add('recorded', meta.time_ms && new Date(meta.time_ms).toISOString().replace('T', ' ').slice(0, 19) + ' UTC');
		add('duration', meta.duration_ns && valueText(meta.duration_ns, 'nanoseconds'));
		add('period', meta.period && meta.period_type && `${valueText(meta.period, meta.period_unit)} of ${meta.period_type}`);
		add('samples', meta.samples >= 0 && grouped(meta.samples));
		if (meta.samples >= 0 || meta.lost)
			list.push(['lost samples', grouped(meta.lost) + (meta.lost ? ` (${percentText(meta.lost, meta.lost + meta.samples)})` : '')]);
		add('lines left out', meta.skipped && grouped(meta.skipped));
		add('functions', grouped(p.frameOf.length - 1));
		add('stack nodes', grouped(p.tree.count - 1));
		add('label sets', grouped(meta.sets.length));
		add('written by', 'auger ' + meta.version);
		return list;
	}

	/** @param {string} title @param {[string, string][]} facts */
	block(title, facts) {
		return facts.length ? [make('h2', {}, title), make('dl', {}, ...facts.flatMap(([key, value]) =>
			[make('dt', {}, key), make('dd', {}, value)]))] : [];
	}

	update() {
		const { model } = this, { meta } = model.p;
		const totals = meta.types.map((/** @type {any} */ type, /** @type {number} */ i) => {
			const values = model.entryValues(i);
			let sum = 0;

			for (let k = 0; k < values.length; k++)
				sum += values[k];
			return [type.name, valueText(sum, type.unit)];
		});

		this.element.replaceChildren(...this.block('What was recorded', this.facts()), ...this.block('Values', totals),
			...this.block('Not known', quality(model)));
	}
}
