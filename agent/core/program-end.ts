/** Describes how an instance program ended. */
import type { ProgramEnd } from './ports/programs.js';

/** Continues "the instance program …". */
export function describeEnd(end: ProgramEnd): string {
  switch (end.kind) {
    case 'NOT_FOUND':
      return `was not found: there is no program ${JSON.stringify(end.program)}; check "command" of the instance`;
    case 'NOT_STARTED':
      return `could not be started: ${JSON.stringify(end.program)}: ${end.reason}; check "command" of the instance`;
    case 'VIOLATION':
      return `was killed because it broke the instance protocol on its standard output: ${end.fault}`;
    case 'EXITED':
      return end.signal === null
        ? `exited with code ${end.exitCode ?? 'unknown'}`
        : `was ended by ${end.signal}`;
    case 'LEFT':
      return 'has ended this instance, and serves others';
    case 'KILLED_FOR':
      return `was killed to end ${end.instanceId}, another instance of the same process`;
  }
}

/** Number of other instances that worked in the same process when it ended by itself. */
export function othersAtWork(end: ProgramEnd): number {
  return end.kind === 'EXITED' || end.kind === 'VIOLATION' ? (end.othersWorked ?? 0) : 0;
}

/** `30 s`, `0.5 s` */
export function secondsText(durationMs: number): string {
  return `${Math.round(durationMs / 100) / 10} s`;
}
