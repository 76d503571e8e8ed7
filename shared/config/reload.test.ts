import { describe, expect, it } from 'vitest';
import type { Logger } from '../runtime/logger.js';
import { StartRefused } from '../runtime/run-program.js';
import type { LoadedConfig } from './load.js';
import { reloading } from './reload.js';

interface Config {
  readonly log: { readonly level: string };
  readonly port: number;
}

const START: Config = { log: { level: 'info' }, port: 8080 };

function reloaded(loaded: LoadedConfig<Config>, applied: (config: Config) => string | null) {
  const lines: unknown[][] = [];
  const note = (...line: unknown[]) => void lines.push(line);
  const reload = reloading({
    config: START,
    load: () => loaded,
    reloadable: ['log'],
    steps: [{ run: async (config) => applied(config) }],
    log: { info: note, warn: note, error: note } as unknown as Logger,
  });
  return { reload, lines };
}

describe('a reload', () => {
  it('applies what it can, and says what needs a restart, every time until there is one', async () => {
    const config = { log: { level: 'debug' }, port: 9000 };
    const { reload, lines } = reloaded({ config }, ({ log }) => `level ${log.level}`);
    await reload();
    const expected = [
      [{ done: ['level debug'] }, 'reloaded'],
      [{ keys: ['port'] }, 'these changes of the configuration take effect at the next start'],
    ];
    expect(lines).toEqual(expected);
    await reload();
    expect(lines).toEqual([...expected, ...expected]);
  });

  it('keeps a configuration that was valid, and applies it again', async () => {
    const { reload, lines } = reloaded(
      { faults: ['hub.yaml: port: must be a number'] },
      ({ port }) => `${port}`,
    );
    await reload();
    expect(lines).toEqual([
      ['the former configuration stays in use: hub.yaml: port: must be a number'],
      [{ done: ['8080'] }, 'reloaded'],
    ]);
  });

  it('continues after a part that keeps its former state, or fails', async () => {
    const defect = new Error('nobody expected this');
    const errors = [new StartRefused('the former certificate stays in use'), defect];
    const { reload, lines } = reloaded({ config: START }, () => {
      throw errors.shift();
    });
    await reload();
    await reload();
    expect(lines).toEqual([
      ['the former certificate stays in use'],
      [{ done: [] }, 'reloaded'],
      [{ err: defect }, 'a part could not be reloaded'],
      [{ done: [] }, 'reloaded'],
    ]);
  });
});
