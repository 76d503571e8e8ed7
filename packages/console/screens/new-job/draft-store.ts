import { Store } from '../../base/store.js';
import { hub, session } from '../../data/hub.js';
import { onOtherPerson } from '../../session/other-person.js';
import { type Draft, type DraftFile, EMPTY_DRAFT } from './draft.js';

/** The job that is being put together; it stays when another screen is opened meanwhile. */
export const draftStore = new Store<Draft>(EMPTY_DRAFT);

// Nothing of another user remains.
onOtherPerson(session.state, () => draftStore.set(EMPTY_DRAFT));

/** Begins another job: what belongs to the former one is given up. */
export function beginDraft(draft: Draft): void {
  draftStore.set(EMPTY_DRAFT);
  draftStore.set(draft);
}

/** Content of a file, from the disk or from the task that it comes from. */
export async function contentOf({ content }: DraftFile, signal?: AbortSignal): Promise<Blob> {
  if (content instanceof Blob) return content;
  return (await hub.task(content.taskId).input(content.inputPath, signal)).blob();
}

/** A name for an element of the page; no secret. */
export function newId(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('-');
}
