/** Turns of those who work on a resumable upload: one at a time for each upload. */
import type { Readable } from 'node:stream';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';

/** Silence after which a sender gives way to another: its connection is probably dead. */
const SILENT_SENDER_MS = 5000;

/** Time for which others wait for the end of an upload that the hub works on; that of a large one may take minutes. */
const END_WAIT_MS = 5000;

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
  /** Resolves when others are told how the upload stands: at the end of the turn, or when the hub has worked on its end for a while. */
  readonly told: Promise<void>;
  heardAtMs: number;
}

export class UploadTurns {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly #senders = new Map<string, Sender>();

  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>) {
    this.#runtime = runtime;
  }

  /** Begins the turn of a sender, which must be ended; `stream` is null when nothing is sent. Rejects with UPLOAD_IN_PROGRESS
   *  during the turn of another one, unless that was cut off. */
  async begin(id: string, stream: Readable | null): Promise<Turn> {
    const { clock, timers } = this.#runtime;
    await this.cutOffEnded(id);
    // The check and the claim of the turn happen in the same tick: of several waiting senders one gets it.
    for (let before = this.#senders.get(id); before; before = this.#senders.get(id)) {
      if (clock.monotonicMs() - before.heardAtMs < SILENT_SENDER_MS) throw inProgress(before);
      await end(before);
    }
    const [done, settle] = resolvable();
    const [told, tell] = resolvable();
    const beganAtMs = stream === null ? Number.POSITIVE_INFINITY : clock.monotonicMs();
    const sender: Sender = { stream, done, told, heardAtMs: beganAtMs };
    let timer: Timer | undefined;
    this.#senders.set(id, sender);
    return {
      heard: () => {
        sender.heardAtMs = clock.monotonicMs();
      },
      finishing: () => {
        sender.heardAtMs = Number.POSITIVE_INFINITY;
        timer = timers.after(END_WAIT_MS, tell);
      },
      end: () => {
        timer?.cancel();
        this.#senders.delete(id);
        settle();
        tell();
      },
    };
  }

  /** Resolves when what arrived of a sender that was cut off is kept: its next one would be told an earlier place. The end of a large
   *  upload is not waited for. */
  async cutOffEnded(id: string): Promise<void> {
    const sender = this.#senders.get(id);
    if (sender?.stream?.destroyed) await sender.told;
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

function resolvable(): [promise: Promise<void>, resolve: () => void] {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return [promise, resolve];
}

function inProgress({ heardAtMs }: Sender): HubError {
  const isFinishing = heardAtMs === Number.POSITIVE_INFINITY;
  const what = isFinishing ? 'the hub works on the end of this upload' : 'another request sends this upload';
  return new HubError('UPLOAD_IN_PROGRESS', `${what} at present; try again later`, {
    retryAfterS: RETRY_AFTER_S,
  });
}
