// The programs of one quickstart, with their data folder, which has a record of them.
import { rm } from 'node:fs/promises';
import { newDataFolder, record } from './kept.mjs';
import { startProgram, stopProgram } from './programs.mjs';
import { endSlurmJobs } from './slurm.mjs';

export class Run {
  #programs = [];
  #isKept = false;
  #recording = Promise.resolve();

  /** Makes the data folder. */
  static async begin() {
    return new Run(await newDataFolder());
  }

  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
  }

  /** The program that was started last. */
  get latest() {
    return this.#programs.at(-1);
  }

  /** Starts a program as {@link startProgram} does; it ends with the run, unless the run is kept. */
  async start(options) {
    const program = startProgram({ folder: this.folder, ...options });
    await this.add(program);
    return program;
  }

  /** Adds a program that was started otherwise. */
  async add(program) {
    this.#programs.push(program);
    await this.#record();
  }

  /** Lets all programs run on when this process ends. */
  async keep() {
    this.#isKept = true;
    for (const program of this.#programs) program.leaveRunning();
    await this.#record();
  }

  /** Stops all programs, the last started first, and removes their data; nothing when the run is kept. */
  async end() {
    if (this.#isKept) return;
    for (const program of this.#programs.splice(0).reverse()) {
      await stopProgram(program);
      if (program.name === 'hub') await endSlurmJobs(this.folder);
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  /** One after the other, since programs may start at the same time. */
  #record() {
    const write = () =>
      record(this.folder, { isKept: this.#isKept, pids: this.#programs.map(({ pid }) => pid) });
    this.#recording = this.#recording.then(write);
    return this.#recording;
  }
}
