// SPDX-License-Identifier: MIT
// pages: reads the data of a page as its script does.

import { execFileSync } from 'node:child_process';
import { fromBase64, inflate, splitBlock } from '../../data/view/decode.js';
import { Model } from '../../data/view/model.js';
import { readProfile } from '../../data/view/profile.js';

export function runAuger(auger, args, input = '') {
	return execFileSync(auger, args, { input, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'pipe'] });
}

export async function readPage(html) {
	const begin = html.indexOf('id="data">') + 'id="data">'.length;

	return readProfile(splitBlock(await inflate(fromBase64(html.slice(begin, html.indexOf('<', begin))))));
}

export async function modelOf(auger, args, input) {
	return new Model(await readPage(runAuger(auger, ['view', '-o', '-', ...args], input)));
}
