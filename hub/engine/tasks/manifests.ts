/** Manifests: signed statements of what a task got, where it ran, and what came of it (contract 12.46). */
import { hasEnded } from '@workbench-hub/shared/domain/task';
import { HubError } from '../../core/errors.js';
import type { SignedText, TextSigner } from '../../core/ports/text-signer.js';
import { type Manifest, manifestOf, type SigningHub } from './manifest.js';
import type { TaskDetailsReader } from './task-details.js';
import type { Tasks } from './tasks.js';

export interface SignedManifest extends SignedText {
  /** The payload, for people. */
  readonly manifest: Manifest;
}

export interface ManifestsOptions {
  readonly tasks: Pick<Tasks, 'get'>;
  readonly details: Pick<TaskDetailsReader, 'read' | 'inputs'>;
  readonly signer: TextSigner;
  readonly hub: SigningHub;
}

export class Manifests {
  readonly #options: ManifestsOptions;

  constructor(options: ManifestsOptions) {
    this.#options = options;
  }

  /** The manifest of an ended task, in the same bytes each time while nothing of the task changes. Rejects with
   *  TASK_NOT_FOUND, and with TASK_FILE_NOT_FOUND before the end of the task. */
  async of(id: string): Promise<SignedManifest> {
    const { tasks, details, signer, hub } = this.#options;
    const { status } = await tasks.get(id);
    if (!hasEnded(status)) {
      const what = `task ${id} is ${status} and has no manifest yet: only one that is FINISHED, FAILED or CANCELED has one`;
      throw new HubError('TASK_FILE_NOT_FOUND', what);
    }
    const manifest = manifestOf(await details.read(id), await details.inputs(id), hub);
    return { manifest, ...(await signer.sign(JSON.stringify(manifest))) };
  }

  /** Public keys that verify manifests, the newest first. */
  get keys(): TextSigner['publicKeys'] {
    return this.#options.signer.publicKeys;
  }
}
