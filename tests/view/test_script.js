// SPDX-License-Identifier: MIT
// test_script.js AUGER: the modules of data/view, over pages that auger writes.

import { bareName, changeText, fitName, valueText } from '../../data/view/text.js';
import { readNumbers, unzigzag } from '../../data/view/decode.js';
import { functionChanges } from '../../data/view/changes.js';
import { chooseGraph } from '../../data/view/graph.js';
import { callsAmong, layoutGraph } from '../../data/view/graph_layout.js';
import { nodeAt, nodeBox } from '../../data/view/flame_draw.js';
import { groupKeys } from '../../data/view/labels.js';
import { makePattern, matchSome } from '../../data/view/filter.js';
import { fromFragment, toFragment } from '../../data/view/state.js';
import { legend, nodeColor } from '../../data/view/colors.js';
import { groupNames, groupSums, mainClasses } from '../../data/view/sums.js';
import { bucketAt, bucketX, roundStep } from '../../data/view/lanes.js';
import { laneColumns, trackOf, valuesByLane, valuesInOrder, valuesWithin } from '../../data/view/times.js';
import { functionName } from '../../data/view/profile.js';
import { sortedFunctions } from '../../data/view/functions.js';
import { makeTree, placeNodes, sumTotals } from '../../data/view/tree.js';
import { modelOf } from './pages.js';
import { check, near, run } from './tap.js';

const auger = process.argv[2];

const STACKS = `main;compute;multiply;load 30
main;compute;multiply 20
main;compute;multiply;compute;multiply 5
main;read;sys_read_[k];copy_[k] 15
main;read 5
main;find(int)_[i] 10
main;find(int) 10
other 5
`;
const all = () => modelOf(auger, ['-'], STACKS);
const chip = (kind, text) => ({ kind, text });

// "name total self" of each node, indented by depth.
function lines({ p, shown }) {
	const { tree, total, self } = shown, list = [];

	for (let i = 0; i < tree.count; i++)
		list.push(`${' '.repeat(tree.depth[i])}${i ? p.strings[p.name[tree.frame[i]]] : 'all'} ${total[i]} ${self[i]}`);
	return list;
}

function functionRows(model, sort = 'self') {
	const { self, total } = model.sums().main;

	return sortedFunctions(model, sort).map((fn) => `${functionName(model.p, fn)} ${self[fn]} ${total[fn]}`);
}

const functionOf = (model, name) => Array.from(model.p.frameOf, (_, fn) => fn).find((fn) => functionName(model.p, fn) === name);
const withChips = async (...chips) => {
	const model = await all();

	model.set({ ...model.state, chips });
	return model;
};

await run({
	values() {
		const rows = [[0, 'nanoseconds', '0'], [999, 'nanoseconds', '999 ns'], [1234567, 'nanoseconds', '1.23 ms'],
			[-9995, 'ns', '-10.0 us'], [1e13, 'ns', '2.78 h'], [1536, 'bytes', '1.5 KiB'], [4660, 'count', '4,660'], [12, 'requests', '12 requests']];

		for (const [value, unit, want] of rows)
			check(valueText(value, unit), want);
		check(changeText(5, 'count'), '+5');
	},
	names() {
		check(bareName('void std::sort<int*>(int*, int*)'), 'std::sort');
		check(bareName('main'), 'main');
		check(fitName('std::map<int, char>::find(int const&)', 9), 'map::find');
		check(fitName('a_long_name', 7), 'a_lon..');
		check(fitName('a_long_name', 2), '');
		check(bareName('a<b'), 'a<b');
	},
	numbers() {
		const bytes = Uint8Array.of(0, 0x7f, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f);

		check(Array.from(readNumbers(bytes, new Float64Array(4))), [0, 127, 128, 2 ** 53 - 1]);
		check(Array.from(unzigzag(Float64Array.of(0, 1, 2, 3, 4), 10)), [0, -10, 10, -20, 20]);
		check(Array.from(readNumbers(undefined, new Int32Array(2))), [0, 0]);
	},
	async tree() {
		check(lines(await all()), ['all 100 0', ' main 95 0', '  compute 55 0', '   multiply 55 20', '    load 30 30', '    compute 5 0',
			'     multiply 5 5', '  read 20 5', '   sys_read 15 0', '    copy 15 15', '  find(int) 10 10', '  find(int) 10 10', ' other 5 5']);
	},
	async functions() {
		const model = await all();

		check(functionRows(model), ['load 30 30', 'multiply 25 55', 'find(int) 20 20', 'copy 15 15', 'read 5 20', 'other 5 5', 'main 0 95',
			'compute 0 55', 'sys_read 0 15']);
		check(functionRows(model, 'name')[0], 'compute 0 55');
		check(model.p.inlinedOf[functionOf(model, 'find(int)')], 'partly');
	},
	async calls() {
		const model = await all(), { p } = model, words = (list) => list.map(({ fn, value }) => `${fn ? functionName(p, fn) : '-'} ${value}`);
		const calls = model.calls(functionOf(model, 'compute')), outermost = model.calls(functionOf(model, 'main'));

		check(words(calls.callers), ['main 55', 'multiply 5']);
		check(words(calls.callees), ['multiply 55']);
		check(words(outermost.callers), ['- 95']);
	},
	async focusAndIgnore() {
		check((await withChips(chip('focus', 'read'))).whole(), 20);
		check((await withChips(chip('focus', 'read'), chip('ignore', 'copy'))).whole(), 5);
		check((await withChips(chip('ignore', 'compute'))).whole(), 45);
		check((await withChips(chip('focus', 'nothing'))).whole(), 0);
	},
	async hide() {
		const model = await withChips(chip('hide', '^compute$'));

		check(lines(model).slice(0, 5), ['all 100 0', ' main 95 0', '  multiply 55 20', '   load 30 30', '   multiply 5 5']);
		check(model.whole(), 100);
		check((await withChips(chip('hide', '.'))).whole(), 100);
	},
	async recursion() {
		const model = await modelOf(auger, ['-'], 'main;f;f;f;g 3\nmain;f;g 1\n');

		model.set({ ...model.state, chips: [chip('recursion', '')] });
		check(lines(model), ['all 4 0', ' main 4 0', '  f 4 0', '   g 4 4']);
	},
	async inverted() {
		const model = await modelOf(auger, ['-'], 'main;f;g 3\nmain;g 1\nmain 1\n');

		model.set({ ...model.state, inverted: true });
		check(lines(model), ['all 5 0', ' main 1 1', ' g 4 0', '  f 3 0', '   main 3 3', '  main 1 1']);
		check(model.stack(4), ['main', 'f', 'g']);
	},
	async search() {
		const model = await all(), share = (text, zoom = 0, fold = false) => {
			model.set({ ...model.state, search: text, zoom, fold });
			return model.matched().part;
		};

		check([share('multiply'), share('compute'), share('copy|load'), share('nothing'), share('MAIN'), share('MAIN', 0, true)], [55, 55, 45, 0, 0, 95]);
		check(share('find(int'), 20); // no regular expression: as it is
		check(share('load', 7), 0);
		check(share('main', 7), 20);
	},
	async fragment() {
		const model = await all(), { first } = model;
		const state = { ...first, tab: 'tree', search: 'a&b=c#%', fold: true, zoom: 3, chips: [chip('focus', 'x:y&z'), chip('recursion', '')] };

		check(toFragment(first, first), '');
		check(fromFragment(toFragment(state, first), first, 1, 20), state);
		for (const bad of ['zoom=-1&fn=99999&type=7&tab=none&sort=x&c=evil:x', '%', 'zoom=1e400', 'fn=NaN&by=%ff'])
			check({ ...fromFragment(bad, first, 1, 20), by: '' }, first, bad);
		check([fromFragment('from=5&to=9', first, 1, 20).from, fromFragment('from=9&to=5', first, 1, 20).from], [5, 0]);
	},
	async wallClock() {
		const model = await modelOf(auger, [process.argv[3] + '/golden/flame/waiting.pb.gz']);

		check(Boolean(model.wall), true);
		model.set({ ...model.state, type: -1 });
		const { on, off } = model.wall, sum = (type) => model.entryValues(type).reduce((a, b) => a + b, 0);
		check(model.whole(), sum(on) + sum(off));
		check(model.shown.other.total[0], sum(off));
	},
	async difference() {
		const model = await modelOf(auger, ['-'], 'main;grew 10 40\nmain;shrank 40 10\nmain;same 50 50\nold 9 0\n');
		const rows = functionChanges(model, false).map((row) => `${functionName(model.p, row.fn)} ${row.before} ${row.after} ${row.change}`);

		check(rows, ['grew 10 40 30', 'shrank 40 10 -30', 'old 9 0 -9', 'same 50 50 0']);
		model.set({ ...model.state, shares: true });
		near(model.factor(), 100 / 109, 1e-9);
	},
	async places() {
		const model = await all(), g = { width: 1000, height: 180, scroll: 0, rows: 7, cell: 7 };

		check(nodeBox(model, g, 2), { x: 0, y: 36, width: 550 });
		check([nodeAt(model, g, 10, 5), nodeAt(model, g, 10, 40), nodeAt(model, g, 600, 40), nodeAt(model, g, 990, 20), nodeAt(model, g, 990, 40)], [0, 2, 7, 12, -1]);
		model.set({ ...model.state, zoom: 7 });
		check(nodeBox(model, g, 1), { x: 0, y: 18, width: 1000 });
		check([nodeAt(model, g, 10, 20), nodeAt(model, g, 10, 40), nodeAt(model, g, 10, 60)], [1, 7, 8]);
		check(nodeBox(model, g, 12).width, 0);
	},
	async graph() {
		const model = await all(), { p } = model, { functions, calls } = chooseGraph(model), { places } = layoutGraph(functions, calls);
		const words = calls.map(({ from, to, value, isBack }) => `${functionName(p, from)}>${functionName(p, to)} ${value}${isBack ? ' back' : ''}`);

		check(words, ['main>compute 55', 'compute>multiply 55', 'multiply>load 30', 'main>read 20', 'main>find(int) 20', 'read>sys_read 15',
			'sys_read>copy 15', 'multiply>compute 5 back']);
		check(calls.every((call) => call.isDirect), true);
		check(places.get(functionOf(model, 'load')).layer, 3);
		const some = callsAmong(p, model.mapped.tree, model.main.total, ['main', 'load'].map((name) => functionOf(model, name)));
		check(some.map(({ value, isDirect }) => [value, isDirect]), [[30, false]]);
		check(layoutGraph([], []).places.size, 0);
	},
	async labels() {
		const model = await modelOf(auger, ['-', process.argv[3] + '/golden/flame/stacks.folded', process.argv[3] + '/golden/flame/stacks.folded',
			'--title', 'three'], STACKS);
		const rows = groupSums(model.p, model.entryValues(0), null, groupNames(model.p.meta, 'file'));

		check(groupKeys(model.p.meta), ['file']);
		check(rows.map((row) => [row.name.split('/').pop(), row.total]), [['stacks.folded', 200], ['-', 100]]);
		model.set({ ...model.state, chips: [chip('label', 'file=-')] });
		check(model.whole(), 100);
		check(model.p.meta.title, 'three');
	},
	widths() {
		const tree = makeTree(Int32Array.from([0, 1, 2, 3]), Int32Array.from([0, 0, 1, 0]));
		const place = (...self) => {
			const total = sumTotals(tree, Float64Array.from(self), new Float64Array(4)), { start, width } = placeNodes(tree, Float64Array.from(self), total);
			return [Array.from(start), Array.from(width)];
		};

		check(place(1, 2, 3, 4), [[0, 0, 0, 5], [10, 5, 3, 4]]);
		check(place(0, -9, 3, 4), [[0, 0, 0, 3], [7, 3, 3, 4]]);
	},
	async classes() {
		const text = 'main;MPI_Barrier;poll 6\nmain;f 3\nmain;f;MPI_Send 5\nmain;MPI_File_open 1\n', model = await modelOf(auger, ['-'], text);
		const shown = () => lines(model).map((line, i) => `${line.trim().split(' ')[0]} ${model.nodeClass(i)}`);
		const { names } = model.classes;

		check(names, ['compute', 'mpi.collective', 'mpi.io', 'mpi.p2p']);
		check(groupKeys(model.p.meta), ['class']);
		check(shown(), ['all mpi.collective', 'main mpi.collective', 'f mpi.p2p', 'MPI_Send mpi.p2p', 'MPI_Barrier mpi.collective', 'poll mpi.collective',
			'MPI_File_open mpi.io']);
		check([model.isClassed(), legend(model).length], [false, 2]);
		model.set({ ...model.state, classes: true });
		check(legend(model).map(([, name]) => name), [...names, 'found']);
		check(new Set(legend(model).map(([color]) => color)).size, names.length + 1);
		check(nodeColor(model, 4), legend(model)[1][0]);
		model.set({ ...model.state, inverted: true });
		check(shown().filter((line) => /^(poll|MPI_Send|f|MPI_File_open) /.test(line)).sort(),
			['MPI_File_open mpi.io', 'MPI_Send mpi.p2p', 'f compute', 'f mpi.p2p', 'poll mpi.collective']);
		model.set({ ...model.state, inverted: false, chips: [chip('label', 'class=mpi.p2p')] });
		check([model.whole(), shown()[1]], [5, 'main mpi.p2p']);
		check([(await all()).hasClasses(), groupKeys((await all()).p.meta)], [false, []]);
		check(mainClasses(model.mapped.tree, { names, ofSet: new Uint8Array(9) }, model.p.entries.set, model.entryValues(0), () => -1)[0], 0);
	},
	async classesInOrder() {
		const model = await modelOf(auger, [process.argv[3] + '/fuzz/corpus/perfdata/two_events']);

		model.set({ ...model.state, ordered: true });
		check(Array.from(model.shown.tree.frame), Array.from(model.origin, (node) => model.mapped.tree.frame[node]));
	},
	async times() {
		const model = await modelOf(auger, [process.argv[3] + '/fuzz/corpus/perfdata/two_events']), { p, lanes } = model, { times } = p;
		const sum = (values) => values.reduce((a, b) => a + b, 0), cut = Math.ceil(times.count / 3);
		const parts = [[0, cut], [cut, times.count]].map(([from, to]) => valuesWithin(p, from, to));

		check(lanes.length > 0, true);
		check(p.meta.types.map((_, type) => sum(parts[0][type]) + sum(parts[1][type])), p.entries.values.map((values) => sum(values)));
		model.set({ ...model.state, from: 0, to: cut });
		check(model.isSummed, false); // not before somebody asks for nodes
		near(model.whole(), sum(parts[0][model.state.type]), 1e-6);
		near(model.main.total[0], sum(parts[0][model.state.type]), 1e-6);
		model.set({ ...model.state, from: 0, to: 0 });
		const { whole } = { whole: model.whole() };
		model.set({ ...model.state, ordered: true });
		near(model.shown.total[0], whole, 1e-6);
		check(model.shown.start.every((start, i) => i === 0 || start >= model.shown.start[i - 1]), true);
		const index = Array.from(valuesInOrder(p, null, 0, times.count)), kept = p.entries.node.map((_, i) => i % 2);
		check(index.every((i, k) => k === 0 || times.bucket[i] >= times.bucket[index[k - 1]]), true);
		check(index.length, times.bucket.length);
		check(Array.from(valuesInOrder(p, null, 2, cut)), index.filter((i) => times.bucket[i] >= 2 && times.bucket[i] < cut));
		check(Array.from(valuesInOrder(p, kept, 0, cut)), index.filter((i) => times.bucket[i] < cut && kept[times.entry[i]]));
		check(index.every((i) => times.tracks[trackOf(times, i)].from <= i && times.tracks[trackOf(times, i)].to > i), true);
		const byLane = valuesByLane(p, lanes, [model.state.type], null, 0, times.count);
		check(byLane.lane.every((lane, k) => k === 0 || lane > byLane.lane[k - 1] ||
			(lane === byLane.lane[k - 1] && times.bucket[byLane.index[k]] >= times.bucket[byLane.index[k - 1]])), true);
		const columns = lanes.map((lane) => sum(laneColumns(p, lane, model.state.type, () => true, () => false, 0, times.count, 7).all));
		near(sum(columns), whole, whole / 5); // what a value stands for may begin before all
	},
	// A wait of 4 buckets that ends in bucket 5, and a sample in bucket 1; "samples" has no times of its own.
	waits() {
		const types = ['samples', 'cpu', 'offcpu'].map((name) => ({ name, unit: name === 'samples' ? 'count' : 'nanoseconds' }));
		const p = { meta: { types, keys: ['tid'], sets: [[0, 7]] }, entries: { node: [0, 1], set: [0, 0], values: [[0, 1], [0, 10], [40, 0]] },
			times: { bucketNs: 10, count: 6, bucket: [1, 5], entry: [1, 0], value: [10, 40],
				tracks: [{ type: 1, set: 0, from: 0, to: 1 }, { type: 2, set: 0, from: 1, to: 2 }] } };
		const within = (from, to) => valuesWithin(p, from, to).map((values) => Array.from(values));

		check(within(0, 6), [[0, 1], [0, 10], [40, 0]]);
		check(within(0, 4), [[0, 1], [0, 10], [20, 0]]);
		check(within(4, 6), [[0, 0], [0, 0], [20, 0]]);
		check(Array.from(laneColumns(p, { tracks: [0, 1] }, 2, () => true, () => false, 0, 6, 3).all), [0, 20, 20]);
	},
	async noTimes() {
		check((await all()).lanes.length, 0);
	},
	lanes() {
		const v = { width: 1190, from: 100, to: 300 };

		check([bucketX(v, 100), bucketX(v, 200), bucketAt(v, 690), bucketAt(v, 0), bucketAt(v, 5000)], [190, 690, 200, 100, 300]);
		check([1, 1.5, 3, 7, 95, 0].map(roundStep), [1, 2, 5, 10, 100, 1]);
	},
	async empty() {
		const model = await modelOf(auger, ['-', '--from', 'folded'], '\n');

		check([model.whole(), lines(model), functionRows(model)], [0, ['all 0 0'], []]);
	},
	// A search that takes long goes on where it stopped.
	longSearch() {
		const names = Array.from({ length: 1200 }, (_, i) => `f${i}`), hits = new Uint8Array(names.length), ends = [];

		for (let next = 0; next < names.length; ends.push(next))
			next = matchSome(names, /7$/, hits, next, -1);
		check(ends, [500, 1000, 1200]);
		check(hits.every((hit, i) => hit === (i % 10 === 7 ? 1 : 0)), true);
	},
	patterns() {
		check(makePattern('a(', false).test('xa(y'), true);
		check(makePattern('A', true).test('a'), true);
	},
});
