// SPDX-License-Identifier: MIT
// @ts-check
//
// keys: what the keyboard does wherever it is, and the list of it.

import { make } from './dom.js';

/** @type {[string, string][]} */
const HELP = [
	['/', 'search'], ['n, N', 'next, previous found frame'], ['Ctrl-I', 'search ignores case'],
	['arrows', 'walk the picture, the tree, a table'], ['Enter', 'zoom into the frame; open, choose a row'],
	['Escape', 'show all; clear the search'], ['Backspace, u', 'undo'], ['1 to 9', 'tabs'],
	['f', 'root below or on top'], ['i', 'inverted: callers on top of what ran'], ['o', 'stacks in order of time'], ['k', 'colors by class of activity'],
	['+, \u2212', 'a longer, shorter part of the time (in the time line)'], ['t', 'light or dark'],
	['c', 'copy the stack'], ['?', 'this list'],
];

export function makeHelp() {
	const dialog = make('dialog', { id: 'help', 'aria-label': 'keys' }, make('h2', {}, 'Keys'),
		make('dl', {}, ...HELP.flatMap(([key, text]) => [make('dt', {}, make('kbd', {}, key)), make('dd', {}, text)])),
		make('form', { method: 'dialog' }, make('button', {}, 'Close')));

	return dialog;
}

/** @param {any} app see page.js @returns {Record<string, () => void>} */
function actions(app) {
	const { state } = app.model;

	return {
		'/': () => app.searchField.focus(), n: () => app.nextFound(1), N: () => app.nextFound(-1),
		Escape: () => app.change(state.zoom ? { zoom: 0 } : state.search ? { search: '' } : { from: 0, to: 0 }), Backspace: () => app.undo(), u: () => app.undo(),
		f: () => app.change({ flame: !state.flame }), i: () => app.change({ inverted: !state.inverted, zoom: 0 }),
		o: () => app.model.lanes.length && app.change({ ordered: !app.model.isOrdered(), inverted: false, zoom: 0 }),
		k: () => app.model.hasClasses() && app.change({ classes: !state.classes }),
		t: () => app.turnTheme(), c: () => app.copyStack(), '?': () => app.help.showModal(),
	};
}

/** @param {any} app @param {KeyboardEvent} event */
function pressInField(app, event) {
	const isSearch = event.target === app.searchField;

	if (isSearch && event.key === 'Enter') {
		app.nextFound(event.shiftKey ? -1 : 1);
	} else if (isSearch && event.key === 'Escape') {
		if (app.searchField.value)
			app.change({ search: '' });
		app.searchField.blur();
	} else {
		return;
	}
	event.preventDefault();
}

/** @param {any} app see page.js @param {KeyboardEvent} event */
export function pressKey(app, event) {
	const target = /** @type {HTMLElement} */ (event.target);

	if (app.help.open)
		return;
	if (event.ctrlKey && event.key === 'i') {
		app.change({ fold: !app.model.state.fold });
		event.preventDefault();
		return;
	}
	if (event.ctrlKey || event.altKey || event.metaKey)
		return;
	if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
		pressInField(app, event);
		return;
	}
	const tab = app.shownTabs()[Number(event.key) - 1], act = actions(app)[event.key];
	if (tab)
		app.change({ tab });
	else if (act)
		act();
	else
		return;
	event.preventDefault();
}
