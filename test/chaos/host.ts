/** A program of a chaos run that is started again when it ends, as by a service manager. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from '../support/programs/programs.js';

/** Delay before a program that ended by itself is started again, as by a service manager. */
const RESTART_MS = 500;

/** A program that is restarted when it ends. */
export class Host {
  readonly name: string;
  readonly #start: () => Program;
  #program: Program;
  /** False while it is to be down. */
  #isWanted = true;
  #isRetired = false;
  #lastWords = '';

  constructor(name: string, start: () => Program) {
    this.name = name;
    this.#start = start;
    this.#program = this.#started();
  }

  get program(): Program {
    return this.#program;
  }

  get isUp(): boolean {
    return this.#program.process.exitCode === null && this.#program.process.signalCode === null;
  }

  /** Whether it listens. */
  get isServing(): boolean {
    return this.isUp && this.#program.lines.some((line) => typeof line['address'] === 'string');
  }

  /** Its last output before its end. */
  get lastWords(): string {
    return this.#lastWords;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isUp) this.#program.process.kill(signal);
  }

  /** Ends it at once; it is to be started again. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    this.signal('SIGCONT');
    await this.#program.kill();
  }

  /** Starts it, unless it has ended for good. */
  start(): void {
    if (this.#isRetired) return;
    this.#isWanted = true;
    if (!this.isUp) this.#program = this.#started();
  }

  /** Asks it to end; it is to be started again. */
  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.#program.stop();
  }

  /** Ends it for good. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    await this.stop();
  }

  #started(): Program {
    const program = this.#start();
    void program.ended.then(async () => {
      this.#lastWords = String(program.lines.at(-1)?.msg ?? program.printed.at(-1));
      await pause(RESTART_MS);
      if (this.#isWanted && this.#program === program) this.start();
    });
    return program;
  }
}
