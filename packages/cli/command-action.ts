import type { Hub } from '@workbench-hub/client';
import type { Output } from './console.js';
import type { ExitCode } from './exit-codes.js';

/** Wraps the action of a command, which gets the hub, how to print, and its arguments and options. */
export type Run = <Args extends unknown[]>(
  action: (hub: Hub, output: Output, ...args: Args) => Promise<ExitCode>,
) => (...args: unknown[]) => Promise<void>;

/** Wraps the action of a command that may do without a hub. */
export type RunOnDemand = <Args extends unknown[]>(
  action: (hub: () => Promise<Hub>, output: Output, ...args: Args) => Promise<ExitCode>,
) => (...args: unknown[]) => Promise<void>;
