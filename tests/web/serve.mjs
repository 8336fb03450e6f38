// SPDX-License-Identifier: GPL-2.0-or-later
// Plays bwlimit-web for tests: serves the built page with its headers, and the documents of a scene (models.mjs).
// node serve.mjs [SCENE] [PORT] serves a scene for people to look at.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
export const PAGE = process.env.BWL_PAGE ?? join(here, '../../web/page/dist');
export const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8' };

/** A question of a test: what the page asked before it has come when it is answered. */
export const MARKER = '/api/v1/marker';

export function errorDocument(text, todo = null, code = 'ENOENT') {
	return { version: 1, kind: 'error', error: { program: 'bwlimit-web', code, id: null, text, file: null, line: null, column: null, todo } };
}

/** state.hang: no request is answered; state.refuse: streams are refused. state.ages: { NAME: seconds since it was made }. scene: { api, documents: { NAME: document | (parameters) => document }, streamed: [NAME] }; may be replaced while it serves. */
export async function serve(scene, port = 0, page = PAGE) {
	const streams = new Set();
	const asked = [];
	const hung = [];
	const state = { scene, hang: false, ages: {} };
	const of = (name, query) => {
		const d = state.scene.documents[name];
		return typeof d === 'function' ? d(query) : d;
	};
	const send = (to, name, document, age = 120) => to.res.write(document.kind === 'error' ? `event: error\ndata: ${JSON.stringify({ name, document })}\n\n`
		: `event: ${name}\ndata: ${JSON.stringify({ age_ms: age, document })}\n\n`);
	const server = createServer((req, res) => {
		const url = new URL(req.url, 'http://localhost');
		if (url.pathname !== MARKER) asked.push(`${req.method} ${url.pathname}${url.search}`);
		res.setHeader('Content-Security-Policy', CSP);
		res.setHeader('X-Content-Type-Options', 'nosniff');
		if (url.pathname.startsWith('/api/v1/')) {
			if (state.hang) return void hung.push(res); // no answer
			const name = decodeURIComponent(url.pathname.slice('/api/v1/'.length));
			if (name === 'stream') {
				if (state.refuse) return void res.writeHead(503).end(); // streams only
				res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
				const to = { res, names: (url.searchParams.get('documents') ?? '').split(',') };
				streams.add(to);
				req.on('close', () => streams.delete(to));
				for (const n of to.names) if (of(n, url.searchParams) !== undefined) send(to, n, of(n, url.searchParams));
				return;
			}
			const doc = name === '' ? { version: 1, kind: 'api', bwlimit: '0', now: new Date().toISOString(), ...state.scene.api,
				documents: Object.keys(state.scene.documents) } : of(name, url.searchParams);
			const body = doc === undefined ? errorDocument(`there is no '${name}' here`) : doc;
			res.writeHead(body.kind === 'error' ? 404 : 200, { 'Content-Type': 'application/json', Age: String(state.ages[name] ?? 0), 'Cache-Control': 'no-store' });
			res.end(JSON.stringify(body));
			return;
		}
		const file = url.pathname === '/' ? 'index.html' : url.pathname.slice(1);
		try {
			if (file.includes('..')) throw new Error('no');
			const body = readFileSync(join(page, file));
			res.writeHead(200, { 'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream' });
			res.end(body);
		} catch {
			res.writeHead(404).end();
		}
	});
	await new Promise((r) => server.listen(port, '127.0.0.1', r));
	return {
		url: `http://127.0.0.1:${server.address().port}/`,
		state,
		asked,
		streams,
		push(name, document, age) {
			for (const to of streams) if (to.names.includes(name)) send(to, name, document, age);
		},
		/** Hanging requests get an error: if their connections were closed instead, the browser would ask again by itself. */
		fail() {
			for (const res of hung.splice(0)) res.writeHead(502).end();
		},
		drop() {
			for (const to of streams) to.res.destroy();
		},
		/** Ends the streams and the server. */
		async close() {
			for (const to of streams) to.res.end();
			server.closeAllConnections();
			await new Promise((r) => server.close(r));
		},
	};
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const { scenes } = await import('./models.mjs');
	const s = await serve(scenes[process.argv[2] ?? 'healthy'](), Number(process.argv[3] ?? 9650));
	console.log(s.url);
}
