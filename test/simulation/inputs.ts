/** Files of the input storage, as clients of the simulated world see them: uploaded, overwritten, named by tasks, removed. */
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { digestOf } from './agent-disk.js';
import type { SimulatedHub } from './simulated-hub.js';
import type { World } from './world.js';

const CHANGE_EVERY_MS = 60_000;
const LENGTHS = [50, 250, 450];

/** One name. What it may stand for: what was answered last, and what was asked for since and got no answer. */
export class Input {
  readonly name: string;
  readonly #world: World;
  readonly #hub: SimulatedHub;
  #possible = new Set<string | null>([null]);
  #uploads = 0;

  constructor(name: string, world: World, hub: SimulatedHub) {
    this.name = name;
    this.#world = world;
    this.#hub = hub;
  }

  /** One client after the other uploads or removes it from now on. */
  start(): void {
    const world = this.#world;
    world.after(world.between(0, CHANGE_EVERY_MS), () => {
      if (!world.turbulent) return;
      if (world.happens(0.2)) this.#remove();
      else this.#upload();
      this.start();
    });
  }

  /** What it stands for now, given the storage of the hub. */
  async find(storage: { input(name: string): Promise<FileRef | undefined> }): Promise<FileRef | undefined> {
    const before = this.#possible;
    const found = await storage.input(this.name);
    const digest = found?.digest ?? null;
    if (!before.has(digest) && !this.#possible.has(digest))
      this.#world.violated('a name stands for what it was given', `${this.name} is ${digest}`);
    return found;
  }

  #upload(): void {
    const world = this.#world;
    const text = `${this.name} upload ${++this.#uploads} `;
    const content = Buffer.from(text.padEnd(world.chance.of(LENGTHS), '.'));
    const digest = digestOf(content);
    const upload = { name: this.name, owner: null, overwrite: true, encrypt: false };
    this.#asked(digest);
    this.#hub.request(
      async ({ storage }) => storage.name(upload, await storage.take(upload, once(content))),
      () => this.#answered(digest),
    );
  }

  #remove(): void {
    this.#asked(null);
    this.#hub.request(
      ({ storage }) => storage.removeInput(this.name),
      () => this.#answered(null),
    );
  }

  #asked(digest: string | null): void {
    this.#possible = new Set([...this.#possible, digest]);
  }

  #answered(digest: string | null): void {
    this.#world.tell('client', `is told that ${this.name} is ${digest}`);
    this.#possible = new Set([digest]);
  }
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}
