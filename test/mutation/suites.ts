/** Suites that a change of a folder can fail, fastest first. */

export interface Suite {
  readonly name: string;
  /** Arguments of Node.js. */
  readonly command: readonly string[];
}

function tests(...filters: readonly string[]): Suite {
  const vitest = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.config.ts',
    '--bail',
    '1',
  ];
  return { name: filters.join(' '), command: [...vitest, ...filters] };
}

function worlds(name: string, ...options: readonly string[]): Suite {
  return { name, command: ['test/dist/simulation/main.js', '--threads', '1', ...options] };
}

const SIMULATION = [
  worlds('simulation', '--from', '1', '--seeds', '60'),
  worlds('simulation of several hubs', '--hubs', 'several', '--from', '1', '--seeds', '15'),
];
const ENGINE = tests('test/engine/');
const CONFORMANCE = tests('test/conformance/');
const CONTRACT = tests('test/contract/');

/** Folders whose code is changed, with their suites. */
export const SUITES_OF: Readonly<Record<string, readonly Suite[]>> = {
  'hub/core': [tests('hub/core/', 'hub/engine/'), ENGINE, ...SIMULATION, CONFORMANCE, CONTRACT],
  'hub/engine': [tests('hub/engine/'), ENGINE, ...SIMULATION, CONFORMANCE, CONTRACT],
  'hub/store': [tests('hub/store/'), CONFORMANCE, ENGINE, ...SIMULATION, CONTRACT],
  'hub/agent-link': [tests('hub/agent-link/'), CONTRACT, tests('test/scenarios/')],
  'agent/engine': [
    tests('agent/engine/'),
    worlds('simulation', '--from', '1', '--seeds', '60'),
    tests('agent/'),
  ],
};
