import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { serveLauncher } from './run-as-service.js';
import type { ServiceProcess } from './running-service.js';

const STOP = 1;
const PRESHUTDOWN = 15;
const PAUSE = 2;
const [STOPPED, STOP_PENDING, RUNNING] = [1, 3, 4];

/** A service manager and a launcher that the test plays. */
function played() {
  const runtime = manualRuntime();
  const reports: Parameters<ServiceProcess['report']>[0][] = [];
  const events: [number, string][] = [];
  let control: (control: number) => number = () => -1;
  let stops = 0;
  let endLauncher: (exitCode: number) => void = () => undefined;
  const launcher = {
    lastLog: 'the end of its output',
    stop: () => void stops++,
    run: () => new Promise<number>((resolve) => (endLauncher = resolve)),
  };
  let release: () => void = () => undefined;
  const service: ServiceProcess = {
    dispatch: (_, main) => {
      queueMicrotask(main);
      return new Promise((resolve) => (release = resolve));
    },
    takeControls: (_, onControl) => {
      control = onControl;
    },
    report: (status) => {
      reports.push(status);
      if (status.state === STOPPED) release();
    },
  };
  const exitCode = serveLauncher(
    'one',
    { service, events: { report: ({ id }, text) => events.push([id, text]) }, runtime },
    () => Promise.resolve(launcher),
  );
  return {
    runtime,
    reports,
    events,
    exitCode,
    control: (number: number) => control(number),
    end: (code: number) => endLauncher(code),
    get stops() {
      return stops;
    },
  };
}

it('a stop is passed on once, and its progress is told until the agent has ended', async () => {
  const service = played();
  await service.runtime.advance(0);
  expect(service.reports).toMatchObject([{ state: RUNNING }]);
  expect([service.control(STOP), service.control(PRESHUTDOWN)]).toEqual([0, 0]);
  expect(service.stops).toBe(1);
  await service.runtime.advance(4000);
  expect(service.reports.slice(1)).toMatchObject(
    [1, 2, 3].map((checkpoint) => ({ state: STOP_PENDING, checkpoint })),
  );
  service.end(0);
  expect(await service.exitCode).toBe(0);
  expect(service.reports.at(-1)).toEqual({ state: STOPPED });
  const told = service.reports.length;
  await service.runtime.advance(10_000);
  expect(service.reports).toHaveLength(told);
  expect(service.events.map(([id]) => id)).toEqual([100, 101]);
});

it('an agent that ends by itself is told with its exit code and the end of its output', async () => {
  const service = played();
  await service.runtime.advance(0);
  service.end(2);
  expect(await service.exitCode).toBe(2);
  expect(service.reports.at(-1)).toEqual({ state: STOPPED, exitCode: 1066, specificExitCode: 2 });
  expect(service.events.at(-1)).toEqual([
    102,
    expect.stringMatching(/exit code 2 .*the end of its output$/s),
  ]);
});

it('requests that it does not know are refused', async () => {
  const service = played();
  await service.runtime.advance(0);
  expect(service.control(PAUSE)).toBe(120);
  expect(service.stops).toBe(0);
  service.end(0);
  await service.exitCode;
});

it('a process that the service manager did not start ends at once', async () => {
  const process: ServiceProcess = {
    dispatch: () => Promise.reject(new Error('not a service')),
    takeControls: () => undefined,
    report: () => undefined,
  };
  const ports = { service: process, events: { report: () => undefined }, runtime: manualRuntime() };
  expect(await serveLauncher('one', ports, () => Promise.reject(new Error('must not be opened')))).toBe(1);
});
