// SPDX-License-Identifier: MIT
// @ts-check
//
// page: the application: one state, shown by tabs. It begins here.

import { Changes } from './changes.js';
import { fromBase64, inflate, splitBlock } from './decode.js';
import { button, choice, copyText, labeled, make, press } from './dom.js';
import { CHIP_KINDS } from './filter.js';
import { Flame } from './flame.js';
import { Functions } from './functions.js';
import { Graph } from './graph.js';
import { makeHelp, pressKey } from './keys.js';
import { groupKeys, Labels } from './labels.js';
import { Model } from './model.js';
import { functionName, readProfile } from './profile.js';
import { isUnfinished } from './search.js';
import { fromFragment, TABS, toFragment, WALL } from './state.js';
import { SourceTab } from './source.js';
import { Summary } from './summary.js';
import { percentText } from './text.js';
import { Timeline, timeSpanText } from './timeline.js';
import { TreeTable } from './tree_table.js';

const TAB_LABELS = { flame: 'Flame', timeline: 'Timeline', functions: 'Functions', tree: 'Tree', source: 'Source', graph: 'Graph', diff: 'Diff', labels: 'Threads, ranks', summary: 'Summary' };
const CHIP_LABELS = /** @type {Record<string, string>} */ ({ focus: 'focus', ignore: 'ignore', hide: 'hide frames',
	library: 'collapse library', recursion: 'collapse recursion', label: 'label' });
const PRINT_ROWS = 100;

/** A pattern for exactly this text. @param {string} text */
const exactly = (text) => '^' + text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$';

class App {
	/** @param {import('./profile.js').Profile} p */
	constructor(p) {
		this.p = p;
		this.model = new Model(p);
		this.steps = 0; // that undo can go back
		this.node = 0; // selected in the picture
		this.help = makeHelp();
		/** @type {any[]} */
		this.tabButtons = [];
		/** @type {any} */
		this.panels = null;
		this.model.set(this.stateOfAddress());
		/** @type {Record<string, any>} */
		this.tabs = { flame: new Flame(this), timeline: new Timeline(this), functions: new Functions(this), tree: new TreeTable(this), source: new SourceTab(this), graph: new Graph(this), diff: new Changes(this),
			labels: new Labels(this), summary: new Summary(this) };
		this.build();
		this.listen();
		this.update();
	}

	stateOfAddress() {
		return fromFragment(location.hash.slice(1), this.model.first, this.p.meta.types.length, this.p.frameOf.length);
	}

	/** @returns {string[]} */
	shownTabs() {
		return TABS.filter((tab) => (tab !== 'diff' || this.model.isDiff) && (tab !== 'labels' || groupKeys(this.p.meta).length) &&
			(tab !== 'timeline' || this.model.lanes.length) && (tab !== 'source' || this.p.sources.length));
	}

	build() {
		const { meta } = this.p, types = meta.types.map((/** @type {any} */ type, /** @type {number} */ i) => [String(i), type.name]);

		if (this.model.wall)
			types.unshift([String(WALL), 'wall: on and off the CPU']);
		this.type = choice(types, (type) => this.change({ type: Number(type), zoom: 0 }), { id: 'type' });
		this.searchField = make('input', { id: 'search', type: 'search', placeholder: 'search: regular expression', 'aria-label': 'search',
			spellcheck: 'false', autocomplete: 'off', oninput: () => this.change({ search: this.searchField.value }, undefined, true) });
		this.fold = button('Aa', () => this.change({ fold: !this.model.state.fold }), { title: 'ignore case (Ctrl-I)', 'aria-label': 'ignore case' });
		this.matched = make('output', { id: 'matched', 'aria-live': 'polite' });
		this.chips = make('span', { id: 'chips', role: 'list', 'aria-label': 'filters' });
		this.chipKind = choice(CHIP_KINDS.map((kind) => [kind, CHIP_LABELS[kind]]), () => this.chipField.focus(), { id: 'kind', 'aria-label': 'kind of filter' });
		this.chipField = make('input', { id: 'filter', type: 'text', placeholder: 'filter: regular expression', 'aria-label': 'filter', spellcheck: 'false',
			autocomplete: 'off', onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === 'Enter' && this.addField() });
		this.undoButton = button('Undo', () => this.undo(), { title: 'undo (Backspace)' });
		this.selected = make('span', { id: 'selected' });
		this.detail = make('p', { id: 'detail', 'aria-live': 'polite' });
		this.root = make('div', { id: 'app' }, this.makeHead(meta), this.makeBar(), this.makePanels(), this.makeFoot(), this.help);
		/** @type {HTMLElement} */ (document.getElementById('plain')).replaceWith(this.root);
	}

	/** @param {any} meta */
	makeHead(meta) {
		return make('header', {}, make('h1', { title: meta.files.join('\n') }, meta.title),
			this.model.isDiff ? '' : labeled('value ', this.type), make('span', { class: 'grow' }),
			this.matched, this.searchField, this.fold,
			button('Theme', () => this.turnTheme(), { title: 'light or dark (t)' }),
			button('?', () => this.help.showModal(), { title: 'keys (?)', 'aria-label': 'keys' }));
	}

	makeBar() {
		this.tabButtons = this.shownTabs().map((tab) => make('button', { type: 'button', role: 'tab', id: 'tab-' + tab,
			'aria-controls': 'panel-' + tab, onclick: () => this.change({ tab }),
			onkeydown: (/** @type {KeyboardEvent} */ event) => this.walkTabs(event) }, /** @type {any} */ (TAB_LABELS)[tab]));
		return make('nav', {}, make('div', { role: 'tablist', 'aria-label': 'views' }, ...this.tabButtons), make('span', { class: 'grow' }),
			this.chips, this.chipKind, this.chipField, button('Add', () => this.addField()), this.undoButton);
	}

	makePanels() {
		this.panels = make('main', {}, ...this.shownTabs().map((tab) => make('div', { role: 'tabpanel', id: 'panel-' + tab,
			'aria-labelledby': 'tab-' + tab, hidden: true }, this.tabs[tab].element)));
		return this.panels;
	}

	makeFoot() {
		const act = (/** @type {string} */ kind) => () => this.addChips([{ kind, text: exactly(functionName(this.p, this.model.state.fn)) }]);

		this.acts = make('span', { class: 'acts' }, this.selected, button('Focus', act('focus')), button('Ignore', act('ignore')),
			button('Hide', act('hide')), button('Callers', () => this.change({ tab: 'functions' })),
			button('Copy stack', () => this.copyStack(), { title: 'copy the stack as one line (c)' }));
		return make('footer', {}, this.detail, this.acts);
	}

	listen() {
		document.addEventListener('keydown', (event) => pressKey(this, event));
		window.addEventListener('resize', () => this.update());
		window.addEventListener('popstate', () => {
			this.steps = Math.max(0, this.steps - 1);
			this.model.set(this.stateOfAddress());
			this.update();
		});
		window.addEventListener('beforeprint', () => this.print());
	}

	/** @param {Partial<import('./state.js').State>} what @param {number} [node] selected @param {boolean} [isTyping] is no step of its own */
	change(what, node, isTyping) {
		const before = this.model.state, state = { ...before, ...what };

		if (node !== undefined)
			this.node = node;
		if (JSON.stringify(before) === JSON.stringify(state))
			return;
		const tree = (/** @type {import('./state.js').State} */ s) => JSON.stringify([s.chips, s.inverted, s.ordered && [s.from, s.to]]);
		if (tree(before) !== tree(state))
			state.zoom = 0;
		this.model.set(state);
		const fragment = '#' + toFragment(this.model.state, this.model.first);
		if (isTyping)
			history.replaceState(null, '', fragment);
		else
			history.pushState(null, '', fragment);
		this.steps += isTyping ? 0 : 1;
		this.update();
	}

	/** A function and a node, without a step. @param {number} fn @param {number} node */
	select(fn, node) {
		this.node = node;
		this.model.state = { ...this.model.state, fn };
		history.replaceState(null, '', '#' + toFragment(this.model.state, this.model.first));
		this.showSelected();
	}

	undo() {
		if (this.steps)
			history.back();
	}

	/** @param {import('./filter.js').Chip[]} chips */
	addChips(chips) {
		const have = this.model.state.chips.map((chip) => JSON.stringify(chip));
		const added = chips.filter((chip) => !have.includes(JSON.stringify(chip)));

		if (added.length)
			this.change({ chips: this.model.state.chips.concat(added) });
	}

	addField() {
		const kind = this.chipKind.value, text = this.chipField.value;

		if (!text && kind !== 'recursion')
			return;
		this.addChips([{ kind, text }]);
		this.chipField.value = '';
	}

	/** @param {KeyboardEvent} event */
	walkTabs(event) {
		const step = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1 })[event.key], tabs = this.shownTabs();

		if (!step)
			return;
		const to = (tabs.indexOf(this.model.state.tab) + step + tabs.length) % tabs.length;
		this.change({ tab: tabs[to] });
		this.tabButtons[to].focus();
		event.preventDefault();
		event.stopPropagation();
	}

	update() {
		const { state } = this.model, tabs = this.shownTabs(), tab = tabs.includes(state.tab) ? state.tab : tabs[0];

		this.tabButtons.forEach((element, i) => {
			element.setAttribute('aria-selected', String(tabs[i] === tab));
			element.tabIndex = tabs[i] === tab ? 0 : -1;
			this.panels.children[i].hidden = tabs[i] !== tab;
		});
		this.type.value = String(state.type);
		if (document.activeElement !== this.searchField || !state.search)
			this.searchField.value = state.search;
		press(this.fold, state.fold);
		this.undoButton.disabled = !this.steps;
		this.showChips();
		this.showMatched();
		this.showSelected();
		this.tabs[tab].update();
		this.searchOn();
	}

	/** Goes on with a search that takes long, in steps between which the page reacts. */
	searchOn() {
		const { found } = this.model;

		if (isUnfinished(found))
			setTimeout(() => {
				if (this.model.found !== found)
					return;
				this.model.continueSearch();
				this.update();
			});
	}

	showChips() {
		const { chips, from, to } = this.model.state;
		const time = this.model.within ? [make('span', { class: 'chip', role: 'listitem' }, make('b', {}, 'time'), ' ' +
			timeSpanText(this.model.p, from, to), button('\u00d7', () => this.change({ from: 0, to: 0 }), { 'aria-label': 'all of the time' }))] : [];

		this.chips.replaceChildren(...time, ...chips.map((chip, i) => make('span', { class: 'chip', role: 'listitem' },
			make('b', {}, CHIP_LABELS[chip.kind]), ' ' + chip.text, button('\u00d7', () =>
				this.change({ chips: chips.filter((_, k) => k !== i) }), { 'aria-label': 'remove this filter' }))));
	}

	showMatched() {
		const matched = this.model.matched();

		this.matched.textContent = !matched ? '' : (matched.isPartial ? 'at least ' : '') + percentText(matched.part, matched.whole);
		this.matched.title = !matched ? '' : `${matched.functions} functions match; stacks with them: ` +
			`${percentText(matched.part, matched.whole)} of the zoomed frame, ${percentText(matched.part, this.model.whole())} of all`;
	}

	showSelected() {
		const { fn } = this.model.state;

		this.acts.hidden = !fn;
		this.selected.textContent = fn ? functionName(this.p, fn) : '';
	}

	/** What is pointed at, in words. @param {string} name @param {string[]} lines */
	tell(name, lines) {
		this.detail.replaceChildren(make('b', {}, name), '   ' + lines.join('   '));
	}

	nextFound(/** @type {number} */ step) {
		this.change({ tab: 'flame' });
		this.tabs.flame.view.focus();
		this.tabs.flame.next(step);
	}

	copyStack() {
		const node = this.model.state.tab === 'flame' ? this.tabs.flame.current : this.node;

		if (node && copyText(this.model.stack(node).join(';')))
			this.tell('copied', []);
	}

	turnTheme() {
		const { dataset } = document.documentElement, isDark = dataset.theme ? dataset.theme === 'dark' :
			matchMedia('(prefers-color-scheme: dark)').matches;

		dataset.theme = isDark ? 'light' : 'dark';
	}

	/** Tables with their first rows, not only those on the screen. */
	print() {
		const { table } = this.tabs.functions;

		table.element.scrollTop = 0;
		table.body.replaceChildren(...Array.from({ length: Math.min(PRINT_ROWS, table.count) }, (_, row) => table.makeRow(row)));
	}
}

async function begin() {
	const data = /** @type {HTMLElement} */ (document.getElementById('data'));
	const raw = await inflate(fromBase64(data.textContent || ''));

	data.remove();
	new App(readProfile(splitBlock(raw)));
	document.documentElement.dataset.ready = '1';
	performance.mark('shown');
}

begin().catch((reason) => {
	document.body.prepend(make('p', { role: 'alert' }, 'This page cannot be shown: ' + reason));
});
