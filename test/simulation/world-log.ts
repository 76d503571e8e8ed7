/** Logs of the processes of a world: they are in its trace, and a defect in them violates an invariant. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { World } from './world.js';

/** Log of the process with this name. */
export function worldLog(world: World, name: string): Logger {
  const line = (level: string) => (first: unknown, second?: unknown) => {
    const error = (first as { err?: unknown }).err;
    if (error instanceof TypeError || error instanceof RangeError) {
      world.violated('no defect', `${name}: ${error.stack}`);
    }
    if (!world.traced) return;
    const words = typeof first === 'string' ? first : `${String(second)} ${fieldsOf(first)}`;
    world.note(name, `${level} ${words}`);
  };
  const silent = () => undefined;
  const log = {
    level: 'info',
    trace: silent,
    debug: silent,
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    fatal: line('fatal'),
    child: () => log,
  };
  return log as unknown as Logger;
}

function fieldsOf(fields: unknown): string {
  return JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? value.message : value));
}
