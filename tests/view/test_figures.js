// SPDX-License-Identifier: MIT
// test_figures.js AUGER TESTS: what a page shows of profiles of every kind is what auger report and auger diff print.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { functionChanges } from '../../data/view/changes.js';
import { functionModule, functionName } from '../../data/view/profile.js';
import { groupNames, groupSums } from '../../data/view/sums.js';
import { modelOf, runAuger } from './pages.js';
import { check, near, run } from './tap.js';

const [auger, tests] = process.argv.slice(2).map((path) => resolve(path));
const FOLDERS = ['fuzz/corpus/pprof', 'fuzz/corpus/folded', 'fuzz/corpus/perfdata', 'fuzz/corpus/perfscript', 'fuzz/corpus/akaros',
	'fuzz/corpus/gperftools', 'fuzz/corpus/stage_record', 'fuzz/corpus/jstack', 'golden/flame', 'golden/report',
	'golden/cache/two/profiling/final'];

// What writes a profile of each kind of values, and whether any machine can; OUT is the profile.
const KINDS = {
	'heap: peak, leaked, temporary': [true, 'python3 "$TESTS/golden/heap/make_heap.py" heap.1.0 && "$AUGER" heap --show heap.1.0 -o OUT'],
	'stages: wall, CPU, calls': [true, '"$AUGER" stages "$TESTS/golden/stages/results" --by host --to profile -o OUT'],
	'a sum of ranks': [true, '"$AUGER" merge --label rank={file} "$TESTS/golden/flame/stacks.folded" "$TESTS/golden/flame/after.folded" -o OUT'],
	'page faults': [false, '"$AUGER" record -e page-faults -o OUT -- sh -c "ls -R $TESTS >/dev/null"'],
	'on and off the CPU': [false, '"$AUGER" record --off-cpu --method perf -o OUT -- sh -c "sleep 0.1; ls -R $TESTS >/dev/null"'],
	'off the CPU by BPF': [false, '"$AUGER" record --off-cpu --method bpf -o OUT -- sh -c "sleep 0.1; ls -R $TESTS >/dev/null"'],
	'system calls': [false, '"$AUGER" syscalls --stacks OUT -- ls -R "$TESTS/golden" >/dev/null'],
};

const report = (path, ...more) => JSON.parse(runAuger(auger, ['report', '-f', 'json', ...more, path]));

// The profiles that auger reads.
function* profiles() {
	for (const folder of FOLDERS)
		for (const name of readdirSync(`${tests}/${folder}`).sort()) {
			const path = `${tests}/${folder}/${name}`;

			if (/\.(cmd|out|err|exit)$/.test(name) || name === 'largest.pb')
				continue; // no profile; values that numbers of JavaScript do not hold
			try {
				report(path);
			} catch {
				continue;
			}
			yield path;
		}
}

// Values as numbers of JavaScript are: those beyond 2^53 agree in their first digits.
const close = (got, want, what) => near(got, want, Math.abs(want) / 2 ** 50, what);

function checkFunctions(model, rows, what) {
	const { p } = model, { self, total } = model.sums().main, shown = new Map();

	for (let fn = 1; fn < p.frameOf.length; fn++)
		shown.set(`${functionName(p, fn)}\0${functionModule(p, fn)}`, fn);
	for (const row of rows) {
		const fn = shown.get(`${row.function}\0${row.module || ''}`);

		if (fn === undefined) {
			check(/[\\\x00-\x1f\x7f-\x9f\u2000-\u20ff]/.test(row.function) || row.function.length > 65536, true, `${what}: ${row.function} is missing;`);
			continue;
		}
		close(self[fn], row.self, `${what}: self of ${row.function};`);
		close(total[fn], row.total, `${what}: total of ${row.function};`);
		check(p.inlinedOf[fn], row.inlined, `${what}: inlined ${row.function};`);
	}
}

// The values of a type that have times.
function timedSum({ times }, type) {
	const tracks = times.tracks.filter((track) => track.type === type);

	return tracks.reduce((sum, { from, to }) => sum + times.value.subarray(from, to).reduce((a, b) => a + b, 0), 0);
}

const seen = { profiles: 0, types: 0 };

// All values of a profile, one after the other.
async function checkProfile(path, what, ...options) {
	const model = await modelOf(auger, ['--kernel-frames', ...options, path]);

	seen.profiles++;
	for (let type = 0; type < model.p.meta.types.length && !model.isDiff; type++) {
		const { name } = model.p.meta.types[type], { rows } = report(path, '--kernel-frames', ...options, '--value', name);

		seen.types++;
		model.set({ ...model.state, type });
		checkFunctions(model, rows, `${what}, ${name}`);
		close(model.whole(), rows.reduce((sum, row) => sum + row.self, 0), `${what}, ${name}: total;`);
	}
	return model;
}

await run({
	async functions() {
		for (const path of profiles())
			await checkProfile(path, path);
		check(seen.profiles >= 20, true, `${seen.profiles} profiles`);
		console.error(`${seen.profiles} profiles, ${seen.types} values`);
	},
	async formats() {
		const formats = runAuger(auger, ['convert', '--list']).trim().split('\n').slice(1).map((line) => line.split(/ +/))
			.filter(([, isRead]) => isRead === 'yes').map(([name]) => name);

		for (const format of formats) {
			const folder = `${tests}/fuzz/corpus/${format}`;
			const path = readdirSync(folder).sort().map((name) => `${folder}/${name}`).find((one) => {
				try {
					return report(one, '--from', format).rows.length > 0;
				} catch {
					return false; // no whole profile
				}
			});

			check(path !== undefined, true, `${format}: no file has values;`);
			if (path)
				await checkProfile(path, format, '--from', format);
		}
		check(formats.length > 30, true, `${formats.length} formats`);
	},
	async kinds() {
		const folder = mkdtempSync(join(tmpdir(), 'auger-kinds-')), out = join(folder, 'out.pb.gz');

		for (const [kind, [isAnywhere, command]] of Object.entries(KINDS)) {
			rmSync(out, { force: true });
			try {
				execFileSync('sh', ['-c', command.replaceAll('OUT', '"$OUT"')], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60000,
					env: { ...process.env, AUGER: auger, TESTS: tests, OUT: out } });
			} catch (reason) {
				check(isAnywhere, false, `${kind}: ${reason.stderr};`);
				console.error(`${kind}: not here`);
				continue;
			}
			const model = await checkProfile(out, kind), { wall } = model;
			if (wall) { // both in one
				const one = (type) => report(out, '--kernel-frames', '--value', type).rows.reduce((sum, row) => sum + row.self, 0);

				model.set({ ...model.state, type: -1 });
				close(model.whole(), one('cpu') + one('offcpu'), `${kind}: wall;`);
				close(model.shown.other.total[0], one('offcpu'), `${kind}: the part off the CPU;`);
				close(timedSum(model.p, wall.off), one('offcpu'), `${kind}: waits with times;`);
			}
			console.error(`${kind}: ${model.p.meta.types.map((type) => type.name)}`);
		}
		rmSync(folder, { recursive: true });
	},
	async searchAndFocus() {
		for (const path of ['golden/flame/stacks.folded', 'golden/flame/waiting.pb.gz', 'fuzz/corpus/pprof/go_cpu.pb.gz'].map((name) => `${tests}/${name}`))
			for (const pattern of ['main', 'r', 'read|spin', 'grow']) {
				const model = await modelOf(auger, [path]), want = report(path, '--focus', pattern).rows.reduce((sum, row) => sum + row.self, 0);

				model.set({ ...model.state, chips: [{ kind: 'focus', text: pattern }] });
				check(model.whole(), want, `${path}: focus ${pattern};`);
				model.set({ ...model.state, chips: [], search: pattern });
				check(model.matched().part, want, `${path}: search ${pattern};`);
			}
	},
	async callers() {
		const path = `${tests}/fuzz/corpus/pprof/go_cpu.pb.gz`, model = await modelOf(auger, [path]), { p } = model;
		const { self, total } = model.sums().main;
		const shown = (calls) => calls.map(({ fn, value }) => `${fn ? functionName(p, fn) : '[outermost]'} ${value}`).sort();

		for (let fn = 1; fn < p.frameOf.length; fn++) {
			if (!total[fn])
				continue;
			const name = functionName(p, fn), { rows } = report(path, '--callers', name, '--callees', name);
			const printed = (relation, own) => rows.filter((row) => row.relation === relation && row.function !== own)
				.map((row) => `${row.function} ${row.value}`).sort();
			const { callers, callees } = model.calls(fn);

			check(shown(callers), printed('caller'), `${name}: callers;`);
			check(shown(callees), printed('callee', '[self]'), `${name}: callees;`);
			check(self[fn], rows.filter((row) => row.function === '[self]').reduce((sum, row) => sum + row.value, 0), `${name}: self;`);
		}
	},
	async labels() {
		const folder = `${tests}/fuzz/corpus/perfdata`;
		let rows = 0;

		for (const path of readdirSync(folder).sort().map((name) => `${folder}/${name}`)) {
			let printed;

			try {
				printed = report(path, '--by', 'comm');
			} catch {
				continue; // no profile
			}
			const model = await modelOf(auger, [path]), { meta } = model.p;
			const groups = groupSums(model.p, model.entryValues(model.state.type), null, groupNames(meta, 'comm'));
			const totals = printed.rows.filter((row) => row.total).map((row) => `${row.comm ?? '(none)'} ${row.total}`);

			rows += totals.length;
			check(groups.map((group) => `${group.name} ${group.total}`).sort(), totals.sort(), path);
		}
		check(rows > 5, true);
	},
	async difference() {
		const paths = ['stacks.folded', 'after.folded'].map((name) => `${tests}/golden/flame/${name}`);

		for (const normalize of ['none', 'total']) {
			const options = normalize === 'none' ? [] : ['--normalize', 'total'];
			const { rows } = JSON.parse(runAuger(auger, ['diff', '-f', 'json', ...options, ...paths]));
			const model = await modelOf(auger, [...paths, '--normalize', normalize]), byName = new Map();

			functionChanges(model, false).forEach((row) => byName.set(functionName(model.p, row.fn), row));
			check(byName.size, rows.length);
			for (const row of rows) {
				const shown = byName.get(row.function);

				near(shown.before, row.before, 0.5, `${row.function} before`);
				check(shown.after, row.after, `${row.function} after`);
				near(shown.z, row.z, 0.0051, `${row.function} z`);
				check(shown.isSure, row.significant, `${row.function} significant`);
			}
		}
	},
});
