import type { InstanceLogType } from '@workbench-hub/shared/domain/instance';
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { TailBuffer } from '../core/tail-buffer.js';

/** Kept length of each stream in UTF-16 units; each instance may hold it permanently. */
const KEPT_LENGTH = 256 * 1024;

/** Latest output of an instance: `stdout` of scripts, `stderr` of scripts and of the program itself, `console` with both in
 *  order and the agent's own lines about the instance. */
export class InstanceLog {
  readonly #clock: Clock;
  readonly #tails: Readonly<Record<InstanceLogType, TailBuffer>> = {
    stdout: new TailBuffer(KEPT_LENGTH),
    stderr: new TailBuffer(KEPT_LENGTH),
    console: new TailBuffer(KEPT_LENGTH),
  };
  #atLineStart = true;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  print(stream: 'stdout' | 'stderr', text: string): void {
    if (text === '') return;
    this.#tails[stream].push(text);
    this.#tails.console.push(text);
    this.#atLineStart = text.endsWith('\n');
  }

  /** Adds a line of the agent. */
  note(line: string): void {
    const start = this.#atLineStart ? '' : '\n';
    this.#tails.console.push(`${start}${localTimestamp(this.#clock.nowMs())} [agent] ${line}\n`);
    this.#atLineStart = true;
  }

  read(type: InstanceLogType): string {
    return this.#tails[type].lines();
  }

  /** Latest lines, with the position of their first unit. */
  latest(type: InstanceLogType): { readonly text: string; readonly offset: number } {
    const text = this.read(type);
    return { text, offset: this.#tails[type].end - text.length };
  }

  /** Lines on standard error after `position` (an earlier {@link stderrEnd}), at most the last `maxLength` units. */
  lastOfStderr(position: number, maxLength: number): string {
    const { stderr } = this.#tails;
    return stderr.from(Math.max(position, stderr.end - maxLength)).trim();
  }

  get stderrEnd(): number {
    return this.#tails.stderr.end;
  }
}
