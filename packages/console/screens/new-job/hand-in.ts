/** The job that is being handed in: with large files that takes long, and goes on while the reader looks elsewhere. */
import { api, type UploadProgress } from '@workbench-hub/client';
import { LastingAct } from '../../base/lasting-act.js';
import { patientHub, session } from '../../data/hub.js';
import { onOtherPerson } from '../../session/other-person.js';
import { classifiersOf, type Draft, EMPTY_DRAFT, jobOf } from './draft.js';
import { contentOf, draftStore } from './draft-store.js';

export const handIns = new LastingAct<Draft, { readonly id: string }, UploadProgress>();

onOtherPerson(session.state, () => handIns.forget());

/** Hands the draft in, unless one is being handed in. The form is empty afterwards, if nothing was changed meanwhile. */
export function handIn(draft: Draft): void {
  handIns.begin(
    draft,
    async (signal, onUpload) => {
      if (draft.simulatedS !== undefined) return createSimulatedWork(draft, Number(draft.simulatedS), signal);
      const job = await jobOf(draft, (file) => contentOf(file, signal));
      return patientHub.submit(job, { signal, onUpload });
    },
    () => {
      if (draftStore.get() === draft) draftStore.set(EMPTY_DRAFT);
    },
  );
}

async function createSimulatedWork(draft: Draft, duration: number, signal: AbortSignal) {
  const { name, note, timeLimitS } = draft;
  const body = {
    duration,
    classifiers: classifiersOf(draft),
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(note.trim() === '' ? {} : { note: note.trim() }),
    ...(timeLimitS === '' ? {} : { timeLimit: Number(timeLimitS) }),
  };
  return (await api.createSimulateWork({ client: patientHub.client, body, signal, throwOnError: true })).data;
}
