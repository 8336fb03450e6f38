// SPDX-License-Identifier: GPL-2.0-or-later
// node build.mjs [FOLDER]: the page into dist/, or into FOLDER. The same source gives the same bytes. Names of assets carry a
// hash of what is in them, since the server lets browsers keep them for ever.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'dist');

const OURS = "/*! bwlimit's page: GPL-2.0-or-later */\n";
/** uPlot's licence asks to stand in every copy: in the file that has it. */
const UPLOT = `/*! uPlot:\n${readFileSync(join(here, 'node_modules/uplot/LICENSE'), 'utf8').replaceAll('\r', '').trim()}\n*/\n`;

const made = await build({
	absWorkingDir: here,
	entryPoints: { page: 'src/main.ts', style: 'src/style.css' },
	bundle: true,
	splitting: true,
	chunkNames: 'plot-[hash]',
	minify: true,
	write: false,
	outdir: 'assets',
	format: 'esm',
	target: ['es2022'],
	charset: 'utf8',
});
rmSync(join(out, 'assets'), { recursive: true, force: true });
mkdirSync(join(out, 'assets'), { recursive: true });
let html = readFileSync(join(here, 'src/index.html'), 'utf8');
for (const file of made.outputFiles) {
	const [name, kind] = file.path.split('/').pop().split('.');
	if (name.startsWith('plot-')) { // the page's script has its name
		writeFileSync(join(out, 'assets', `${name}.${kind}`), UPLOT + file.text);
		continue;
	}
	const text = kind === 'js' ? OURS + file.text : file.text;
	const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
	writeFileSync(join(out, 'assets', `${name}-${hash}.${kind}`), text);
	html = html.replace(`assets/${name}.${kind}`, `assets/${name}-${hash}.${kind}`);
}
writeFileSync(join(out, 'index.html'), html);
