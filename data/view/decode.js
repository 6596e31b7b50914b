// SPDX-License-Identifier: MIT
// @ts-check
//
// decode: the block of data in a page as columns of numbers; src/view/page/page_block.h has the format.

/** @param {string} text base64 @returns {Uint8Array} */
export function fromBase64(text) {
	const bytes = new Uint8Array(Math.floor(text.length / 4) * 3);
	const step = 32768; // characters at once: a multiple of 4
	let count = 0;

	for (let at = 0; at < text.length; at += step) {
		const part = atob(text.slice(at, at + step));

		for (let i = 0; i < part.length; i++)
			bytes[count++] = part.charCodeAt(i);
	}
	return bytes.subarray(0, count);
}

/** @param {Uint8Array} packed raw deflate @returns {Promise<Uint8Array>} */
export async function inflate(packed) {
	const { DecompressionStream } = /** @type {any} */ (globalThis); // unknown to TypeScript 4
	const stream = new Blob([/** @type {any} */ (packed)]).stream().pipeThrough(new DecompressionStream('deflate-raw'));

	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The columns of a block. @param {Uint8Array} raw @returns {Record<string, Uint8Array>} */
export function splitBlock(raw) {
	const head = 4 + new DataView(raw.buffer, raw.byteOffset).getUint32(0, true);
	const sizes = JSON.parse(new TextDecoder().decode(raw.subarray(4, head)));
	/** @type {Record<string, Uint8Array>} */
	const columns = {};
	let at = head;

	for (const name of Object.keys(sizes)) {
		columns[name] = raw.subarray(at, at + sizes[name]);
		at += sizes[name];
	}
	return columns;
}

/** How many numbers a column has. @param {Uint8Array} bytes */
export function countNumbers(bytes) {
	let count = 0;

	for (let i = 0; i < bytes.length; i++)
		count += bytes[i] < 0x80 ? 1 : 0;
	return count;
}

/**
 * The numbers of a column; of an absent one count zeros.
 * @template {Int32Array | Float64Array} T
 * @param {Uint8Array | undefined} bytes @param {T} into @returns {T}
 */
export function readNumbers(bytes, into) {
	if (!bytes)
		return into;
	for (let i = 0, at = 0; i < into.length && at < bytes.length; i++) {
		let value = bytes[at] & 0x7f, factor = 128;

		while (bytes[at++] >= 0x80) {
			value += (bytes[at] & 0x7f) * factor;
			factor *= 128;
		}
		into[i] = value;
	}
	return into;
}

/** Zigzag coded numbers times a scale, in place. @param {Float64Array} numbers @param {number} scale */
export function unzigzag(numbers, scale) {
	for (let i = 0; i < numbers.length; i++)
		numbers[i] = (numbers[i] % 2 ? -(numbers[i] + 1) / 2 : numbers[i] / 2) * scale;
	return numbers;
}

/** Sorted strings that share starts. @param {Record<string, Uint8Array>} columns @returns {string[]} */
export function readStrings(columns) {
	const count = columns.prefix ? countNumbers(columns.prefix) : 0;
	const prefix = readNumbers(columns.prefix, new Int32Array(count));
	const suffix = readNumbers(columns.suffix, new Int32Array(count));
	const text = columns.text || new Uint8Array(0);
	const decoder = new TextDecoder();
	/** @type {string[]} */
	const strings = [];
	let bytes = new Uint8Array(256), at = 0;

	for (let i = 0; i < count; i++) {
		const length = prefix[i] + suffix[i];

		if (length > bytes.length) {
			const larger = new Uint8Array(2 * length);

			larger.set(bytes);
			bytes = larger;
		}
		bytes.set(text.subarray(at, at + suffix[i]), prefix[i]);
		at += suffix[i];
		strings.push(decoder.decode(bytes.subarray(0, length)));
	}
	return strings;
}
