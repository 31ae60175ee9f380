// A client in Go, on google.golang.org/grpc from the Go module proxy. Its stubs are generated: a program gets the server's
// messages by reflection, and protoc-gen-go and protoc-gen-go-grpc generate Go code from them.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../python-environment.mjs';
import { run, serving } from './serving.mjs';

const source = join(root, 'test', 'clients', 'go');
const place = join(root, 'build', 'clients', 'go');
const plugins = [
  'google.golang.org/protobuf/cmd/protoc-gen-go',
  'google.golang.org/grpc/cmd/protoc-gen-go-grpc',
];
// Only modules are downloaded: no other Go toolchain, and no C compiler is used.
const options = { cwd: place, env: { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' } };

export function missing() {
  const { status, stdout } = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' });
  if (status !== 0) return 'there is no go';
  const [, needed] = /^go (\S+)$/m.exec(readFileSync(join(source, 'go.mod'), 'utf8')) ?? [];
  const [have, want] = [stdout.trim().replace('go', ''), needed].map((text) => text.split('.').map(Number));
  const isOlder = have[0] < want[0] || (have[0] === want[0] && have[1] < want[1]);
  return isOlder ? `${stdout.trim()} is older than ${needed}` : undefined;
}

export async function check(folder, { repository }) {
  mkdirSync(join(place, 'bin'), { recursive: true });
  cpSync(source, place, { recursive: true });
  await run('go', ['build', '-o', 'bin/', ...plugins, './generate'], options);
  await serving(repository, {}, async (ports) => {
    const address = `127.0.0.1:${ports.grpc}`;
    await run(join(place, 'bin', 'generate'), [address], options);
    await run('go', ['build', '-o', 'bin/client', '.'], options);
    await run(join(place, 'bin', 'client'), [address], options);
  });
}
