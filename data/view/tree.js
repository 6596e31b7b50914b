// SPDX-License-Identifier: MIT
// @ts-check
//
// tree: trees of frames in pre-order, and trees made of others. Nothing here recurses: stacks have any depth.

/**
 * @typedef {object} Tree nodes in pre-order; node 0 is the root
 * @property {number} count
 * @property {Int32Array} frame
 * @property {Int32Array} parent of the root: 0
 * @property {Int32Array} end one past the subtree
 * @property {Int32Array} depth 0 for the root
 */

/** @param {Int32Array} frame @param {Int32Array} parent @returns {Tree} */
export function makeTree(frame, parent) {
	const count = frame.length;
	const depth = new Int32Array(count), end = new Int32Array(count);

	for (let i = 1; i < count; i++)
		depth[i] = depth[parent[i]] + 1;
	for (let i = count - 1; i >= 0; i--) {
		if (!end[i])
			end[i] = i + 1;
		if (i > 0 && end[parent[i]] < end[i])
			end[parent[i]] = end[i];
	}
	return { count, frame, parent, end, depth };
}

/** Nodes as they are found: children are looked up by parent and frame. */
class Builder {
	/** @param {number} frames how many frames there are */
	constructor(frames) {
		this.frames = frames;
		this.children = new Map();
		this.frame = [0];
		this.parent = [0];
	}

	/** @param {number} parent @param {number} frame */
	child(parent, frame) {
		const key = parent * this.frames + frame;
		let node = this.children.get(key);

		if (node === undefined) {
			node = this.frame.length;
			this.frame.push(frame);
			this.parent.push(parent);
			this.children.set(key, node);
		}
		return node;
	}

	/**
	 * The tree, its children in the order in which they were found.
	 * @returns {{ tree: Tree, place: Int32Array }} place: of each node found, its place in the tree
	 */
	finish() {
		const count = this.frame.length;
		const first = new Int32Array(count), next = new Int32Array(count), place = new Int32Array(count);
		const frame = new Int32Array(count), parent = new Int32Array(count);

		for (let i = count - 1; i > 0; i--) {
			next[i] = first[this.parent[i]];
			first[this.parent[i]] = i;
		}
		for (let node = 0, at = 0; at < count; at++) {
			place[node] = at;
			frame[at] = this.frame[node];
			parent[at] = place[this.parent[node]];
			if (first[node]) {
				node = first[node];
				continue;
			}
			while (node && !next[node])
				node = this.parent[node];
			node = next[node];
		}
		return { tree: makeTree(frame, parent), place };
	}
}

/**
 * The tree with other frames: mapped[frame] is what a frame becomes, -1 leaves it out (its callees go to its
 * caller). isMerged: a node with the frame of its parent is its parent (no direct recursion).
 * @param {Tree} tree @param {Int32Array} mapped @param {boolean} isMerged
 * @returns {{ tree: Tree, place: Int32Array }} place: of each node, its node in the new tree
 */
export function mapTree(tree, mapped, isMerged) {
	const builder = new Builder(mapped.length), to = new Int32Array(tree.count);

	for (let i = 1; i < tree.count; i++) {
		const above = to[tree.parent[i]], frame = mapped[tree.frame[i]];
		const isSame = frame < 0 || (isMerged && above > 0 && builder.frame[above] === frame);

		to[i] = isSame ? above : builder.child(above, frame);
	}
	const made = builder.finish();
	return { tree: made.tree, place: to.map((node) => made.place[node]) };
}

/** Stacks that are walked from their leaves towards the root, all at once: a run of them has the same leaves. */
class Walkers {
	/** @param {Tree} tree @param {number} frames how many there are @param {Uint8Array} hasSelf of each node */
	constructor(tree, frames, hasSelf) {
		this.tree = tree;
		this.leaves = Int32Array.from(hasSelf.keys()).filter((node) => node > 0 && hasSelf[node] > 0);
		this.at = this.leaves.slice(); // where each is; 0: past the root
		this.spare = new Int32Array(2 * this.leaves.length);
		this.counts = new Int32Array(frames); // by frame; all 0 between calls
	}

	/**
	 * Orders a run by the frames where its walkers are, the ended ones first, and takes all others one step.
	 * @param {number} from @param {number} to @returns {number[]} frame and end of each part, in turn; -1: ended
	 */
	split(from, to) {
		const { tree, leaves, at, spare, counts } = this, parts = [];
		let ended = 0;

		for (let i = from; i < to; i++) {
			const frame = tree.frame[at[i]];

			if (!at[i])
				ended++;
			else if (counts[frame]++ === 0)
				parts.push(frame, 0);
		}
		let next = from + ended, gone = from;
		for (let i = 0; i < parts.length; i += 2) {
			const count = counts[parts[i]];

			counts[parts[i]] = next; // where its next one goes
			next += count;
			parts[i + 1] = next;
		}
		for (let i = from; i < to; i++) {
			const place = at[i] ? counts[tree.frame[at[i]]]++ : gone++;

			spare[2 * place] = leaves[i];
			spare[2 * place + 1] = at[i] ? tree.parent[at[i]] : 0;
		}
		for (let i = from; i < to; i++) {
			leaves[i] = spare[2 * i];
			at[i] = spare[2 * i + 1];
		}
		for (let i = 0; i < parts.length; i += 2)
			counts[parts[i]] = 0;
		return ended ? [-1, from + ended, ...parts] : parts;
	}
}

/**
 * The tree of the stacks from their leaves: callees at the root, their callers on top.
 * @param {Tree} tree @param {number} frames how many frames there are
 * @param {Uint8Array} hasSelf of each node: does a stack end there
 * @returns {{ tree: Tree, place: Int32Array }} place: of each node that has, where its reversed stack ends
 */
export function invertTree(tree, frames, hasSelf) {
	const walkers = new Walkers(tree, frames, hasSelf), place = new Int32Array(tree.count);
	const frame = [], parent = [], runs = [0, 0, 0, walkers.leaves.length]; // frame, parent, from, to in turn

	while (runs.length) {
		const to = /** @type {number} */ (runs.pop()), from = /** @type {number} */ (runs.pop()), node = frame.length;

		parent.push(/** @type {number} */ (runs.pop()));
		frame.push(/** @type {number} */ (runs.pop()));
		const parts = walkers.split(from, to);
		for (let i = parts.length - 2; i >= 0; i -= 2) { // the first one comes next
			const begin = i ? parts[i - 1] : from;

			if (parts[i] >= 0)
				runs.push(parts[i], node, begin, parts[i + 1]);
			for (let k = begin; parts[i] < 0 && k < parts[i + 1]; k++)
				place[walkers.leaves[k]] = node;
		}
	}
	return { tree: makeTree(Int32Array.from(frame), Int32Array.from(parent)), place };
}

/**
 * The tree of stacks one after another: what neighbors have in common is one node.
 * @param {Tree} tree @param {Int32Array} nodes where each stack ends @param {Float64Array} values of each
 * @param {Int32Array} lanes of each: stacks of different lanes have nothing in common
 * @param {number} limit of nodes: what comes behind is left out; origin: of each node, that of tree
 */
export function sequenceTree(tree, nodes, values, lanes, limit) {
	const frame = [0], origin = [0], parent = [0], self = [0], start = [0], made = [0], open = [0], path = [0];
	let depth = 0, lane = -1, at = 0, i = 0;

	for (; i < nodes.length && frame.length < limit; i++) {
		if (values[i] <= 0)
			continue;
		const own = tree.depth[nodes[i]], most = lanes[i] === lane ? Math.min(own, depth) : 0;
		let same = 0;

		for (let k = own, node = nodes[i]; k > 0; k--, node = tree.parent[node])
			path[k] = node;
		while (same < most && path[same + 1] === open[same + 1])
			same++;
		for (let k = same + 1; k <= own; k++) {
			open[k] = path[k];
			made[k] = frame.length;
			frame.push(tree.frame[path[k]]);
			origin.push(path[k]);
			parent.push(made[k - 1]);
			self.push(0);
			start.push(at);
		}
		self[made[own]] += values[i];
		at += values[i];
		depth = own;
		lane = lanes[i];
	}
	return { tree: makeTree(Int32Array.from(frame), Int32Array.from(parent)), self: Float64Array.from(self),
		start: Float64Array.from(start), origin: Int32Array.from(origin), isCut: i < nodes.length };
}

/**
 * Totals of nodes: their own and those of their subtrees.
 * @param {Tree} tree @param {Float64Array} self @param {Float64Array} total where they go
 */
export function sumTotals(tree, self, total) {
	const { parent } = tree;

	total.set(self);
	for (let i = tree.count - 1; i > 0; i--)
		total[parent[i]] += total[i];
	return total;
}

/**
 * Where nodes begin, and how wide they are: children side by side from where their parent begins. Negative
 * values have no width; where there are none, widths are the totals themselves.
 * @param {Tree} tree @param {Float64Array} self @param {Float64Array} total
 */
export function placeNodes(tree, self, total) {
	const start = new Float64Array(tree.count), next = new Float64Array(tree.count);
	const width = self.some((value) => value < 0) ?
		sumTotals(tree, self.map((value) => Math.max(0, value)), new Float64Array(tree.count)) : total;

	for (let i = 1; i < tree.count; i++) {
		const parent = tree.parent[i];

		start[i] = next[parent];
		next[i] = start[i];
		next[parent] += width[i];
	}
	return { start, width };
}
