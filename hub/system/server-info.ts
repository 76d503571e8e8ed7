/** Machine and runtime, as the server-info endpoint shows them. The Java names are the contract's; the values describe Node.js
 *  and V8 (contract 9.5). */
import os from 'node:os';
import { dirname } from 'node:path';
import process from 'node:process';
import { getHeapStatistics } from 'node:v8';
import { sizeInWords } from '@workbench-hub/shared/domain/size-in-words';
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { BuildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { accountName } from './account-name.js';

export interface Space {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

export function serverInfo(build: BuildInfo, clock: Clock, disk: Space) {
  const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const heap = getHeapStatistics();
  const { heapTotal, heapUsed } = process.memoryUsage();
  return {
    systemInfo: {
      version: build.version,
      revision: build.revision,
      buildDate: build.buildDate,
      serverTime: localTimestamp(clock.nowMs()),
      uptime: formatUptime(process.uptime()),
      javaVersion: process.versions.node,
      javaVendor: 'OpenJS Foundation',
      javaVm: 'V8',
      javaVmVersion: process.versions.v8,
      javaRuntime: 'Node.js',
      javaHome: dirname(process.execPath),
      osName: os.type(),
      osArchitecture: os.arch(),
      osVersion: os.release(),
      fileEncoding: 'UTF-8',
      userName: accountName(),
      userDir: workingFolder(),
      userTimezone: timeZone,
      userLocale: locale,
      inputArguments: [...process.execArgv],
    },
    memoryInfo: {
      ...formatSpace({ totalBytes: heapTotal, freeBytes: heapTotal - heapUsed }),
      max: heap.heap_size_limit,
      maxFormatted: sizeInWords(heap.heap_size_limit),
    },
    diskSpaceInfo: formatSpace(disk),
  };
}

/** Empty when the folder was removed, for which it has no path. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '';
  }
}

function formatSpace({ totalBytes, freeBytes }: Space) {
  const usedBytes = totalBytes - freeBytes;
  return {
    total: totalBytes,
    used: usedBytes,
    free: freeBytes,
    totalFormatted: sizeInWords(totalBytes),
    usedFormatted: sizeInWords(usedBytes),
    freeFormatted: sizeInWords(freeBytes),
    freePercentage: totalBytes === 0 ? 0 : Math.round((freeBytes / totalBytes) * 100),
  };
}

/** `2 d 3 h 4 min 5 s` */
export function formatUptime(seconds: number): string {
  const whole = Math.floor(seconds);
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  return parts
    .slice(first < 0 ? 3 : first)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ');
}
