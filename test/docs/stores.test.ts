/** The page of object stores: its manifests fit Kubernetes' schemas and the command, and its file of credentials is read. */

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { parseFlags } from '../../src/cli/serve/parse-flags.js';
import { settingsOf } from '../../src/cli/serve/settings.js';
import { credentialsFor } from '../../src/registry/sources/store/credentials.js';
import { readStorePlace } from '../../src/registry/sources/store/store-place.js';
import { root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const page = await readFile(join(root, 'docs', 'stores.md'), 'utf8');
const block = (language: string): string => {
  const [, text] = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(page) ?? [];
  assert.ok(text !== undefined, language);
  return text;
};

type Schema = new (value: object) => { validate(): void };
const modelsOf = createRequire(import.meta.url) as (name: string) => Readonly<Record<string, Schema>>;

interface Secret {
  readonly metadata: { readonly name: string };
  readonly stringData: Readonly<Record<string, string>>;
}
interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[];
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
        }[];
        readonly volumes: readonly { readonly name: string; readonly emptyDir: object }[];
      };
    };
  };
}

test('the manifests fit the schemas, each other, the flags and the variables', async () => {
  // The schemas below check that these casts are right.
  const [secret, deployment] = parseAllDocuments(block('yaml')).map((one) => one.toJS() as object);
  assert.ok(secret && deployment);
  for (const [group, kind, value] of [
    ['v1', 'Secret', secret],
    ['apps/v1', 'Deployment', deployment],
  ] as const) {
    const Kind = modelsOf(`kubernetes-models/${group}`)[kind];
    assert.ok(Kind);
    new Kind(value).validate();
  }
  const { metadata, stringData } = secret as Secret;
  const pod = (deployment as Deployment).spec.template.spec;
  const [container] = pod.containers;
  assert.ok(container);
  const { server, ignored } = settingsOf(parseFlags(container.args));
  assert.deepEqual(ignored, []);
  assert.deepEqual(server.modelRepository, ['s3://bucket/models']);
  assert.deepEqual([server.modelControlMode, server.repositoryPollMs], ['poll', 30_000]);
  assert.equal(server.repositoryCacheDirectory, container.volumeMounts[0]?.mountPath);
  assert.equal(server.repositoryCacheBytes, 8 * 2 ** 30);
  assert.equal(container.volumeMounts[0]?.name, pod.volumes[0]?.name);
  assert.equal(container.envFrom[0]?.secretRef.name, metadata.name);
  const credentials = await credentialsFor(readStorePlace('s3://bucket/models', ''), stringData);
  for (const field of ['key_id', 'secret_key', 'region']) assert.ok(credentials.get(field), field);
});

test('the file with credentials is read as the page says', async (t) => {
  const file = join(await temporaryFolder(t), 'credentials.json');
  await writeFile(file, block('json'));
  const read = (address: string): ReturnType<typeof credentialsFor> =>
    credentialsFor(readStorePlace(address, ''), { TRITON_CLOUD_CREDENTIAL_PATH: file });
  assert.equal((await read('s3://bucket/models')).get('region'), 'eu-central-1');
  assert.equal((await read('s3://other-bucket/models')).get('profile'), 'other');
  assert.equal((await read('gs://bucket')).get('file'), '/secrets/google.json');
  assert.ok((await read('as://account/container')).get('account_key'));
});
