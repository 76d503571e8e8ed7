import type { InstanceLogType } from '@workbench-hub/shared/domain/instance';
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { TailBuffer } from '../core/tail-buffer.js';

/** How much of each stream is kept, in UTF-16 units: memory that each instance may hold for good. */
const KEPT_LENGTH = 256 * 1024;

/** What an instance printed last: `stdout` is what scripts print there, `stderr` what scripts and the program itself
 *  print, `console` both in order, with the agent's own lines about the instance. */
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

  /** A line of the agent itself. */
  note(line: string): void {
    const start = this.#atLineStart ? '' : '\n';
    this.#tails.console.push(`${start}${localTimestamp(this.#clock.nowMs())} [agent] ${line}\n`);
    this.#atLineStart = true;
  }

  read(type: InstanceLogType): string {
    return this.#tails[type].lines();
  }

  /** The last lines on standard error after `position` (a former {@link stderrEnd}), at most `maxLength` units. */
  lastOfStderr(position: number, maxLength: number): string {
    const { stderr } = this.#tails;
    return stderr.from(Math.max(position, stderr.end - maxLength)).trim();
  }

  get stderrEnd(): number {
    return this.#tails.stderr.end;
  }
}
