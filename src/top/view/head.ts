/** The lines above the table: the server, the machine, GPUs. */

import { significant } from '../../perf/plot/numbers.js';
import type { GpuFigures, MachineFigures } from '../figures/metric-figures.js';
import type { TopFigures } from '../figures/top-figures.js';
import { safe } from './cells.js';
import { bytesText, percentText } from './columns.js';

function sum(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, value) => total + value, 0);
}

/** The server in a line. */
export function serverLine({ server, ready, models }: TopFigures, place: string): string {
  const served = models.filter(({ state }) => state === 'READY').length;
  const requests = sum(models.map(({ requestsPerS }) => requestsPerS));
  const failures = sum(
    models.map(({ failuresPerS, refusedPerS }) =>
      failuresPerS === undefined ? undefined : failuresPerS + (refusedPerS ?? 0),
    ),
  );
  const waiting = sum(models.map(({ pending }) => pending));
  return [
    safe(`${server.name} ${server.version}`),
    safe(place),
    ready ? 'ready' : 'not ready',
    `${served} of ${models.length} ready`,
    ...(requests === undefined ? [] : [`${requests === 0 ? '0' : significant(requests)} req/s`]),
    ...(failures === undefined || failures === 0 ? [] : [`${significant(failures)} fail/s`]),
    ...(waiting === undefined ? [] : [`${waiting} waiting`]),
  ].join('  ');
}

function machineLine(machine: MachineFigures): string | undefined {
  const { cpuUtilization, memoryUsedBytes, memoryTotalBytes, inFlightBytes } = machine;
  const { cacheUtilization, cacheEntries, lazyUsedBytes, lazyBudgetBytes } = machine;
  const parts = [
    ...(cpuUtilization === undefined ? [] : [`cpu ${percentText(cpuUtilization)}`]),
    ...(memoryUsedBytes === undefined
      ? []
      : [`memory ${bytesText(memoryUsedBytes)} of ${bytesText(memoryTotalBytes)}`]),
    ...(inFlightBytes === undefined ? [] : [`in flight ${bytesText(inFlightBytes)}`]),
    ...(cacheUtilization === undefined
      ? []
      : [
          `cache ${percentText(cacheUtilization)} full${cacheEntries === undefined ? '' : `, ${cacheEntries} entries`}`,
        ]),
    ...(lazyUsedBytes === undefined
      ? []
      : [
          `lazy models ${bytesText(lazyUsedBytes)}${lazyBudgetBytes === undefined ? '' : ` of ${bytesText(lazyBudgetBytes)}`}`,
        ]),
  ];
  return parts.length === 0 ? undefined : parts.join('  ');
}

function gpuLine({ uuid, utilization, memoryUsedBytes, memoryTotalBytes, powerWatts }: GpuFigures): string {
  return [
    `gpu ${safe(uuid)}`,
    ...(utilization === undefined ? [] : [percentText(utilization)]),
    ...(memoryUsedBytes === undefined
      ? []
      : [`${bytesText(memoryUsedBytes)} of ${bytesText(memoryTotalBytes)}`]),
    ...(powerWatts === undefined ? [] : [`${significant(powerWatts)} W`]),
  ].join('  ');
}

/** The machine, and each GPU. */
export function machineLines({ machine, gpus }: TopFigures): string[] {
  const line = machineLine(machine);
  return [...(line === undefined ? [] : [line]), ...gpus.map(gpuLine)];
}
