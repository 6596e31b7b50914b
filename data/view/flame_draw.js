// SPDX-License-Identifier: MIT
// @ts-check
//
// flame_draw: draws the tree on a canvas that is as large as what is seen of it. Only rows on the screen are drawn;
// frames below half a pixel become one strip a pixel and row; fills are sorted by color.

import { HIT_COLOR, nodeColor } from './colors.js';
import { fitName } from './text.js';

/** @typedef {import('./model.js').Model} Model */

/**
 * @typedef {object} Geometry
 * @property {number} width of the canvas, in pixels of CSS
 * @property {number} height
 * @property {number} scroll of the picture
 * @property {number} rows
 * @property {number} cell width of a character
 */

export const ROW_PX = 18;
const LEAST_PX = 0.5, TEXT_PX = 30, INSET_PX = 4;
const FONT = '11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace';

/** The top of the row of a depth, in the picture. @param {Model} model @param {Geometry} g @param {number} depth */
export function rowTop(model, g, depth) {
	const whole = Math.max(g.height, g.rows * ROW_PX);

	return model.state.flame ? whole - (depth + 1) * ROW_PX : depth * ROW_PX;
}

/** Rows of what is wide enough to be drawn. @param {Model} model @param {number} width */
export function countRows(model, width) {
	const { tree, width: widths } = model.shown, { zoom } = model.state;
	const least = LEAST_PX * widths[zoom] / width;
	let deepest = tree.depth[zoom];

	for (let i = zoom; i < tree.end[zoom];) {
		if (widths[i] < least) {
			i = tree.end[i];
			continue;
		}
		if (tree.depth[i] > deepest)
			deepest = tree.depth[i];
		i++;
	}
	return deepest + 1;
}

/** Where a node is drawn; width 0: it is not within the zoomed one. @param {Model} model @param {Geometry} g @param {number} node */
export function nodeBox(model, g, node) {
	const { tree, start, width } = model.shown, { zoom } = model.state;
	const y = rowTop(model, g, tree.depth[node]) - g.scroll, scale = width[zoom] > 0 ? g.width / width[zoom] : 0;

	if (node <= zoom && tree.end[node] > zoom)
		return { x: 0, y, width: g.width };
	if (node < zoom || node >= tree.end[zoom])
		return { x: 0, y, width: 0 };
	return { x: (start[node] - start[zoom]) * scale, y, width: width[node] * scale };
}

/** The node at a point of the canvas, or -1. @param {Model} model @param {Geometry} g @param {number} x @param {number} y */
export function nodeAt(model, g, x, y) {
	const { tree, start, width } = model.shown, { zoom } = model.state;
	const whole = Math.max(g.height, g.rows * ROW_PX), at = y + g.scroll;
	const depth = Math.floor((model.state.flame ? whole - at : at) / ROW_PX);
	let node = zoom;

	while (tree.depth[node] > depth && node > 0)
		node = tree.parent[node];
	const value = start[zoom] + x / g.width * width[zoom];
	while (tree.depth[node] < depth) {
		let child = node + 1;

		while (child < tree.end[node] && !(value < start[child] + width[child] && width[child] > 0))
			child = tree.end[child];
		if (child >= tree.end[node] || value < start[child])
			return -1;
		node = child;
	}
	return depth < 0 ? -1 : node;
}

/** Rectangles by color, and what is written on them. */
class Picture {
	/** @param {Model} model @param {Geometry} g */
	constructor(model, g) {
		this.model = model;
		this.g = g;
		/** @type {Map<string, number[]>} x, y, width in turn */
		this.fills = new Map();
		/** @type {number[]} node, x, y, width in turn */
		this.texts = [];
		/** @type {number[]} x, y, width in turn: frames of the selected function */
		this.chosen = [];
	}

	/** @param {number} node @param {number} x @param {number} y @param {number} width */
	add(node, x, y, width) {
		const { model } = this, isHit = node > 0 && model.found && model.found.hits[model.shown.tree.frame[node]];
		const color = isHit ? HIT_COLOR : nodeColor(model, node);
		let list = this.fills.get(color);

		if (!list) {
			list = [];
			this.fills.set(color, list);
		}
		list.push(x, y, width);
		if (node > 0 && width > 3 && model.p.functionOf[model.shown.tree.frame[node]] === model.state.fn)
			this.chosen.push(x, y, width);
		if (width > TEXT_PX)
			this.texts.push(node, x, y, width);
	}

	/** Ancestors of the zoomed node, in full width. */
	addAbove() {
		const { model, g } = this;

		for (let node = model.state.zoom; node > 0;) {
			node = model.shown.tree.parent[node];
			const y = rowTop(model, g, model.shown.tree.depth[node]) - g.scroll;
			if (y > -ROW_PX && y < g.height)
				this.add(node, 0, y, g.width);
		}
	}

	addBelow() {
		const { model, g } = this, { tree, start, width } = model.shown, { zoom, flame } = model.state;
		const scale = width[zoom] > 0 ? g.width / width[zoom] : 0, origin = start[zoom];
		const least = scale > 0 ? LEAST_PX / scale : 0;
		const filled = new Float64Array(tree.depth[zoom] + g.rows + 2).fill(-1); // of each row: pixel of its last strip

		for (let i = zoom; i < tree.end[zoom];) {
			const y = rowTop(model, g, tree.depth[i]) - g.scroll, x = (start[i] - origin) * scale;
			const isBeyond = flame ? y <= -ROW_PX : y >= g.height, isSeen = y > -ROW_PX && y < g.height;

			if (width[i] < least) {
				const pixel = Math.floor(x);

				if (isSeen && width[i] > 0 && filled[tree.depth[i]] < pixel) {
					filled[tree.depth[i]] = pixel;
					this.add(i, pixel, y, 1);
				}
				i = tree.end[i];
				continue;
			}
			if (isSeen)
				this.add(i, x, y, width[i] * scale);
			i = isBeyond ? tree.end[i] : i + 1;
		}
	}
}

/** @param {CanvasRenderingContext2D} context @param {Picture} picture */
function fillAll(context, picture) {
	for (const [color, list] of picture.fills) {
		context.fillStyle = color;
		for (let i = 0; i < list.length; i += 3)
			context.fillRect(list[i], list[i + 1], list[i + 2] > 2.5 ? list[i + 2] - 1 : list[i + 2], ROW_PX - 1);
	}
}

/** Underlines the selected function. @param {CanvasRenderingContext2D} context @param {Picture} picture */
function underlineAll(context, picture) {
	const { chosen } = picture;

	context.fillStyle = '#111';
	for (let i = 0; i < chosen.length; i += 3)
		context.fillRect(chosen[i], chosen[i + 1] + ROW_PX - 3, chosen[i + 2] - 1, 2);
}

/** @param {CanvasRenderingContext2D} context @param {Picture} picture */
function writeAll(context, picture) {
	const { model, g, texts } = picture, { p, shown, state } = model;

	context.font = FONT;
	context.textBaseline = 'middle';
	context.fillStyle = '#111';
	for (let i = 0; i < texts.length; i += 4) {
		const node = texts[i], x = Math.max(0, texts[i + 1]), room = Math.min(g.width, texts[i + 1] + texts[i + 3]) - x;
		const name = node ? p.strings[p.name[shown.tree.frame[node]]] : 'all';
		const mark = model.isDiff && node && model.nodeChange(node).isSure ? (model.nodeChange(node).ratio > 0 ? '+ ' : '\u2212 ') : '';
		const text = fitName(mark + name, Math.floor((room - 2 * INSET_PX) / g.cell));

		context.globalAlpha = node < state.zoom ? 0.65 : 1;
		if (text)
			context.fillText(text, x + INSET_PX, texts[i + 2] + ROW_PX / 2);
	}
	context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context */
export function measureCell(context) {
	context.font = FONT;
	return context.measureText('M'.repeat(50)).width / 50 || 7;
}

/** @param {CanvasRenderingContext2D} context already scaled to pixels of CSS @param {Model} model @param {Geometry} g */
export function drawTree(context, model, g) {
	const picture = new Picture(model, g);

	context.clearRect(0, 0, g.width, g.height);
	picture.addAbove();
	if (picture.fills.size) {
		context.globalAlpha = 0.65;
		fillAll(context, picture);
		context.globalAlpha = 1;
		picture.fills.clear();
	}
	picture.addBelow();
	fillAll(context, picture);
	underlineAll(context, picture);
	writeAll(context, picture);
}
