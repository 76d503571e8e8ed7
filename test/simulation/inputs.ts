/** Files of the input storage, as clients of the simulated world see them: uploaded, overwritten, referenced by tasks, removed. */
import type { Hold } from '@workbench-hub/hub/core/ports/blobs';
import type { Storage } from '@workbench-hub/hub/engine/storage/storage';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { digestOf } from './agent-disk.js';
import type { Process } from './process.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import type { World } from './world.js';

const NOBODY = { owner: null, changesAll: true };
const CHANGE_EVERY_MS = 60_000;
const LENGTHS = [50, 250, 450];

/** One upload or removal. It takes effect at some time between its beginning and its end. */
interface Change {
  digest: string | null;
  begun: number;
  /** Infinity while it is in progress. */
  ended: number;
  /** True if it is known to have taken effect. */
  answered: boolean;
  /** Whether the server may have lost its effect before its response arrived. */
  mayBeLost: boolean;
  hub: Process | undefined;
}

/** One name with all its requested changes. */
export class Input {
  readonly name: string;
  readonly #world: World;
  readonly #hubs: SimulatedHubs;
  readonly #changes: Change[] = [];
  /** Counter of beginnings and ends, in their order. */
  #moment = 0;
  #uploads = 0;
  /** Digests of all blobs that it has referred to. */
  readonly named = new Set<string>();

  constructor(name: string, world: World, hubs: SimulatedHubs) {
    this.name = name;
    this.#world = world;
    this.#hubs = hubs;
  }

  /** Begins a sequence of uploads and removals by clients. */
  start(): void {
    const world = this.#world;
    world.after(world.between(0, CHANGE_EVERY_MS), () => {
      if (!world.turbulent) return;
      this.change();
      this.start();
    });
  }

  /** Uploads or removes it. */
  change(): void {
    if (this.#world.happens(0.2)) this.#remove();
    else this.#upload();
  }

  /** The digest that it refers to now in the storage of the hub. */
  async find(storage: Pick<Storage, 'input'>, hold: Hold): Promise<FileRef | undefined> {
    const begun = ++this.#moment;
    const found = await storage.input(this.name, hold);
    const digest = found?.digest ?? null;
    if (!this.#possible(begun).has(digest))
      this.#world.violated('a name stands for what it was given', `${this.name} is ${digest}`);
    return found;
  }

  #upload(): void {
    const world = this.#world;
    const text = `${this.name} upload ${++this.#uploads} `;
    const content = Buffer.from(text.padEnd(world.random.of(LENGTHS), '.'));
    const digest = digestOf(content);
    const file = { name: this.name, overwrite: true, encrypt: world.happens(0.3) };
    const change = this.#begin(digest);
    change.hub = this.#hubs.request(
      async ({ storage }) => {
        const upload = storage.beginUpload(NOBODY);
        try {
          await upload.take(file, once(content));
          await upload.name(NOBODY);
        } finally {
          await upload.end();
        }
      },
      () => {
        this.named.add(digest);
        this.#answered(change);
      },
      () => this.#end(change),
    );
  }

  #remove(): void {
    const change = this.#begin(null);
    change.hub = this.#hubs.request(
      ({ storage }) => storage.removeInput(this.name, NOBODY),
      () => this.#answered(change),
      () => this.#end(change),
    );
  }

  #begin(digest: string | null): Change {
    const change: Change = {
      digest,
      begun: ++this.#moment,
      ended: Number.POSITIVE_INFINITY,
      answered: false,
      mayBeLost: false,
      hub: undefined,
    };
    this.#changes.push(change);
    return change;
  }

  /** The server has lost what it had acknowledged, and this is the digest that the name has now. */
  wentBackTo(digest: string | null): void {
    for (const change of this.#changes) if (change.ended > this.#moment) change.mayBeLost = true;
    const change = this.#begin(digest);
    this.#end(change);
    change.answered = true;
  }

  #end(change: Change): void {
    change.ended = ++this.#moment;
  }

  #answered(change: Change): void {
    this.#world.tell('client', `is told that ${this.name} is ${change.digest}`);
    this.#end(change);
    change.answered = !change.mayBeLost;
  }

  /** Digests that a read from `begun` until now may see: those of all changes that no later one has certainly
   *  overwritten. */
  #possible(begun: number): Set<string | null> {
    for (const change of this.#changes) {
      if (change.ended > this.#moment && this.#hubs.isOver(change.hub)) this.#end(change);
    }
    const done = this.#changes.filter(({ answered, ended }) => answered && ended < begun);
    const possible = this.#changes.filter(({ ended }) => !done.some((later) => later.begun > ended));
    const digests = new Set(possible.map(({ digest }) => digest));
    if (done.length === 0) digests.add(null);
    return digests;
  }
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}
