// SPDX-License-Identifier: MIT
// @ts-check
//
// dom: makes elements. Text is always text: nothing here takes HTML.

/**
 * @param {string} tag @param {Record<string, any>} [given] attributes; on...: a listener; undefined, false: none
 * @param {...(Node | string)} inside @returns {any}
 */
export function make(tag, given, ...inside) {
	const element = document.createElement(tag);

	for (const key of Object.keys(given || {})) {
		const value = /** @type {any} */ (given)[key];

		if (key.startsWith('on'))
			element.addEventListener(key.slice(2), value);
		else if (value !== undefined && value !== false)
			element.setAttribute(key, value === true ? '' : String(value));
	}
	element.append(...inside);
	return element;
}

/** A control with its label. @param {string} text @param {any} control */
export function labeled(text, control) {
	return make('label', {}, text, control);
}

/** @param {string} text @param {() => void} act @param {Record<string, any>} [more] */
export function button(text, act, more) {
	return make('button', { type: 'button', onclick: act, ...more }, text);
}

/** A button that is pressed or not. @param {any} element @param {boolean} isPressed */
export function press(element, isPressed) {
	element.setAttribute('aria-pressed', String(isPressed));
}

/** @param {string[][]} choices value and text @param {(value: string) => void} act @param {Record<string, any>} [more] */
export function choice(choices, act, more) {
	const element = make('select', { onchange: () => act(element.value), ...more },
		...choices.map(([value, text]) => make('option', { value }, text)));

	return element;
}

/** Text to the clipboard: pages of files may have no other way than this. @param {string} text */
export function copyText(text) {
	const area = make('textarea', { readonly: true, class: 'away', 'aria-hidden': 'true' });

	area.value = text;
	document.body.append(area);
	area.select();
	const isDone = document.execCommand('copy');
	area.remove();
	return isDone;
}
