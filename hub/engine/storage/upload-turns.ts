/** Turns of those who work on a resumable upload: one at a time for each upload. */
import type { Readable } from 'node:stream';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';

/** Silence after which a sender gives way to another: its connection is probably dead. */
const SILENT_SENDER_MS = 5000;

const RETRY_AFTER_S = 2;

export interface Turn {
  /** Called with each piece that arrives. */
  heard(): void;
  /** Called when the hub works on what has arrived: the sender does not give way any more. */
  finishing(): void;
  end(): void;
}

interface Sender {
  readonly stream: Readable | null;
  readonly done: Promise<void>;
  heardAtMs: number;
}

export class UploadTurns {
  readonly #clock: Clock;
  readonly #senders = new Map<string, Sender>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins the turn of a sender, which must be ended; `stream` is null when nothing is sent. Rejects with UPLOAD_IN_PROGRESS
   *  during the turn of another one, unless that was cut off. */
  async begin(id: string, stream: Readable | null): Promise<Turn> {
    await this.cutOffEnded(id);
    // The check and the claim of the turn happen in the same tick: of several waiting senders one gets it.
    for (let before = this.#senders.get(id); before; before = this.#senders.get(id)) {
      if (this.#clock.monotonicMs() - before.heardAtMs < SILENT_SENDER_MS) throw inProgress();
      await end(before);
    }
    let settle: () => void = () => undefined;
    const done = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const beganAtMs = stream === null ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs();
    const sender: Sender = { stream, done, heardAtMs: beganAtMs };
    this.#senders.set(id, sender);
    return {
      heard: () => {
        sender.heardAtMs = this.#clock.monotonicMs();
      },
      finishing: () => {
        sender.heardAtMs = Number.POSITIVE_INFINITY;
      },
      end: () => {
        this.#senders.delete(id);
        settle();
      },
    };
  }

  /** Resolves when what arrived of a sender that was cut off is kept: its next one would be told an earlier place. */
  async cutOffEnded(id: string): Promise<void> {
    const sender = this.#senders.get(id);
    if (sender?.stream?.destroyed) await sender.done;
  }

  isBegun(id: string): boolean {
    return this.#senders.has(id);
  }

  /** Ends the turn of the present sender, if there is one. */
  async interrupt(id: string): Promise<void> {
    for (let sender = this.#senders.get(id); sender; sender = this.#senders.get(id)) await end(sender);
  }

  /** Resolves when nobody sends any more. */
  async ended(): Promise<void> {
    while (this.#senders.size > 0) await Promise.all([...this.#senders.values()].map(({ done }) => done));
  }
}

async function end({ stream, done }: Sender): Promise<void> {
  stream?.destroy(new Error('another request continues or ends this upload'));
  await done;
}

function inProgress(): HubError {
  return new HubError('UPLOAD_IN_PROGRESS', 'another request sends this upload at present; try again later', {
    retryAfterS: RETRY_AFTER_S,
  });
}
