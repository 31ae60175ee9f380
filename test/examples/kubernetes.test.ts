/** Checks the manifests of examples/kubernetes against Kubernetes' schemas, each other, and a running process. */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { createRequire } from 'node:module';
import { parse } from 'yaml';
import { parseFlags } from '../../src/cli/serve/parse-flags.js';
import { settingsOf, type ServeSettings } from '../../src/cli/serve/settings.js';
import { run as runServe } from '../cli/serve/harness.js';
import { foreign } from '../endpoints/grpc/harness.js';
import { ask } from '../endpoints/http/harness.js';
import { compile, linkPackages, root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const folder = join(root, 'examples', 'kubernetes');
const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');

/** A class of kubernetes-models. Its own types do not compile under exactOptionalPropertyTypes. */
type Schema = new (value: object) => { validate(): void };
const modelsOf = createRequire(import.meta.url) as (name: string) => Readonly<Record<string, Schema>>;

function validate(group: string, kind: string, value: object): void {
  const Kind = modelsOf(`kubernetes-models/${group}`)[kind];
  assert.ok(Kind, kind);
  new Kind(value).validate();
}

interface Probe {
  readonly httpGet?: { readonly path: string };
}
interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: { readonly exec?: { readonly command?: readonly string[] } } };
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}
interface PodSpec {
  readonly containers: readonly Container[];
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly volumes?: readonly { readonly name: string }[];
}
interface Named {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
}
interface Deployment extends Named {
  readonly spec?: {
    readonly template: { readonly metadata: Partial<Named['metadata']>; readonly spec: PodSpec };
  };
}
interface Service extends Named {
  readonly spec?: {
    readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[];
  };
}
interface Autoscaler extends Named {
  readonly spec?: {
    readonly scaleTargetRef: { readonly name: string };
    readonly metrics?: readonly { readonly pods?: { readonly metric: { readonly name: string } } }[];
  };
}
/** The used fields of a ServingRuntime, from KServe's documents. */
interface ServingRuntime extends Named {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: PodSpec & {
    readonly annotations: Readonly<Record<string, string>>;
    readonly protocolVersions: readonly string[];
  };
}

// The schemas below check that these casts are right.
const deployment = parse(await read('deployment.yaml')) as Deployment;
const service = parse(await read('service.yaml')) as Service;
const autoscaler = parse(await read('autoscaler.yaml')) as Autoscaler;
const runtime = parse(await read('serving-runtime.yaml')) as ServingRuntime;

const pod = deployment.spec?.template.spec;
const container = pod?.containers[0];
const runtimeContainer = runtime.spec.containers[0];

function settings(args: readonly string[] | undefined): ServeSettings {
  return settingsOf(parseFlags(args ?? []));
}

void suite('the manifests fit the schemas of Kubernetes', () => {
  test('values', () => {
    validate('apps/v1', 'Deployment', deployment);
    validate('v1', 'Service', service);
    validate('autoscaling/v2', 'HorizontalPodAutoscaler', autoscaler);
    validate('v1', 'Pod', { metadata: { name: 'x' }, spec: { containers: runtime.spec.containers } });
    assert.throws(() => {
      validate('apps/v1', 'Deployment', { ...deployment, spec: { replicas: '2' } });
    });
  });

  test('names: no field is unknown', async (t) => {
    const place = await temporaryFolder(t);
    await linkPackages(place, 'kubernetes-models', '@kubernetes-models');
    const text = (more: object = {}): string => `
import type { IDeployment } from 'kubernetes-models/apps/v1';
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import type { IPod, IService } from 'kubernetes-models/v1';
export const a: IDeployment = ${JSON.stringify(deployment)};
export const b: IService = ${JSON.stringify(service)};
export const c: IHorizontalPodAutoscaler = ${JSON.stringify(autoscaler)};
export const d: NonNullable<IPod['spec']>['containers'][number] = ${JSON.stringify({ ...runtimeContainer, ...more })};
`;
    const options = '--strict --noEmit --target es2022 --module nodenext --skipLibCheck'.split(' ');
    await writeFile(join(place, 'package.json'), '{ "type": "module" }');
    await writeFile(join(place, 'right.ts'), text());
    await writeFile(join(place, 'wrong.ts'), text({ imagePullPolcy: 'Always' }));
    const said = await compile(place, ...options, 'right.ts', 'wrong.ts');
    assert.match(said, /^wrong\.ts\(\d+,\d+\): .*imagePullPolcy/);
    assert.equal(said.match(/\berror TS/g)?.length, 1, said);
  });

  test("those of KServe's that have no schema", () => {
    const { apiVersion, kind, spec } = runtime;
    assert.deepEqual([apiVersion, kind], ['serving.kserve.io/v1alpha1', 'ServingRuntime']);
    assert.deepEqual(Object.keys(spec), [
      'annotations',
      'supportedModelFormats',
      'protocolVersions',
      'containers',
    ]);
    assert.deepEqual(spec.protocolVersions, ['v2']);
    assert.equal(runtimeContainer?.name, 'kserve-container');
  });
});

void suite('the manifests agree with each other and with the command', () => {
  test('flags are accepted, and ports are those that are told', () => {
    const { http, metrics, grpc, exitTimeoutMs } = settings(container?.args);
    const ports = new Map((container?.ports ?? []).map((port) => [port.name, port.containerPort]));
    assert.deepEqual(
      [...ports],
      [
        ['http', http?.port],
        ['grpc', grpc?.options.port],
        ['metrics', metrics?.port],
      ],
    );
    assert.equal(service.spec?.ports.length, 3);
    for (const { name, port, targetPort } of service.spec.ports)
      assert.deepEqual([port, targetPort], [ports.get(name), name]);
    const annotations = deployment.spec?.template.metadata.annotations ?? {};
    assert.equal(annotations['prometheus.io/port'], String(metrics?.port));
    const stop = Number(container?.lifecycle?.preStop?.exec?.command?.[1]);
    assert.ok((pod?.terminationGracePeriodSeconds ?? 0) > stop + exitTimeoutMs / 1000);
    const kserve = settings(runtimeContainer?.args);
    assert.equal(runtimeContainer?.ports?.[0]?.containerPort, kserve.http?.port);
    assert.equal(runtime.spec.annotations['prometheus.kserve.io/port'], String(kserve.metrics?.port));
  });

  test('models come from where they are mounted', () => {
    const [mount] = container?.volumeMounts ?? [];
    assert.deepEqual(settings(container?.args).server.modelRepository, [mount?.mountPath]);
    assert.equal(mount?.name, pod?.volumes?.[0]?.name);
  });

  test('nobody is root, and nothing is written to the root', () => {
    for (const { securityContext } of [container, runtimeContainer].flatMap((one) => one ?? [])) {
      assert.equal(securityContext?.readOnlyRootFilesystem, true);
      assert.equal(securityContext.allowPrivilegeEscalation, false);
    }
    assert.equal(pod?.securityContext?.runAsNonRoot, true);
    assert.equal(runtimeContainer?.securityContext?.runAsNonRoot, true);
  });

  test('the autoscaler scales the deployment by the metric that the adapter makes', async () => {
    assert.equal(autoscaler.spec?.scaleTargetRef.name, deployment.metadata.name);
    const { rules } = parse(await read('prometheus-adapter.yaml')) as {
      rules: { custom: { name: { as: string }; metricsQuery: string }[] };
    };
    const [rule] = rules.custom;
    assert.equal(autoscaler.spec.metrics?.[0]?.pods?.metric.name, rule?.name.as);
    const known = await readFile(join(root, 'docs', 'metrics.md'), 'utf8');
    const series = rule?.metricsQuery.match(/nv_\w+/g) ?? [];
    assert.equal(series.length, 2);
    for (const name of series) assert.ok(known.includes(`\`${name}\``), name);
  });
});

test('the image runs the command as somebody who is not root, and has no tools to build with', async () => {
  const lines = (await read('Dockerfile')).replaceAll(/^#.*\n/gm, '').split('\n');
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM')));
  const [, entry = ''] = /^ENTRYPOINT (.*)$/m.exec(last.join('\n')) ?? [];
  const [node, main = '', command] = JSON.parse(entry) as string[];
  assert.deepEqual([node, command], ['node', 'serve']);
  assert.ok(existsSync(join(root, main.replace('node_modules/tritonts/', ''))), main);
  assert.ok(last.includes('USER 1000:1000'));
  assert.deepEqual(
    last.filter((line) => /^RUN|apt-get|npm|cmake/.test(line)),
    [],
  );
});

test('a process with the flags of the deployment passes its probes, and its metrics are there', async (t) => {
  const models = join(root, 'examples', 'digits', 'models');
  const args = (container?.args ?? []).map((arg) =>
    arg.replace('/models', models).replace(/^(--(http|grpc|metrics)-port)=.*/, '$1=0'),
  );
  const served = runServe(t, ...args);
  const http = await served.place('HTTPService');
  for (const probe of [container?.startupProbe, container?.readinessProbe, container?.livenessProbe]) {
    const path = probe?.httpGet?.path ?? '';
    assert.equal((await ask(http, path)).status, 200, path);
  }
  const client = await foreign(t, await served.place('GRPCInferenceService'));
  assert.equal((await client.call('ServerReady'))['ready'], true);
  const path = deployment.spec?.template.metadata.annotations?.['prometheus.io/path'] ?? '';
  const { text } = await ask(await served.place('Metrics Service'), path);
  assert.match(text, /^nv_inference_queue_duration_us\{/m);
});
