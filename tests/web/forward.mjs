// SPDX-License-Identifier: GPL-2.0-or-later
// Forwards from one network namespace to another through a socket in the file system: forward.mjs FROM TO; each is a PORT of loopback or a path.
// FROM 0 is any free port: it prints which.
// It is needed because a browser does not start in a lab's namespace.
import { createServer, connect } from 'node:net';

const [from, to] = process.argv.slice(2);
const at = (x) => (/^\d+$/.test(x) ? { port: Number(x), host: '127.0.0.1' } : { path: x });
const server = createServer((a) => {
	const b = connect(at(to));
	a.pipe(b).pipe(a);
	a.on('error', () => b.destroy());
	b.on('error', () => a.destroy());
}).listen(at(from), () => console.log(`ready ${server.address().port ?? ''}`));
