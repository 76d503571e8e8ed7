/** The study that is being started: with large files that takes long, and goes on while the reader looks elsewhere. */
import type { UploadProgress } from '@workbench-hub/client';
import { LastingAct } from '../../../base/lasting-act.js';
import { patientHub, session } from '../../../data/hub.js';
import { onOtherPerson } from '../../../session/other-person.js';
import { type Draft, EMPTY_DRAFT, jobOf } from '../../new-job/draft.js';
import { contentOf, draftStore } from '../../new-job/draft-store.js';
import { baseOf, requestOf } from './planned.js';
import { EMPTY_STUDY, type StudyDraft } from './study-draft.js';
import { studyStore } from './study-store.js';
import { ruleOf, rulesOf, type ValueOffer } from './value-rules.js';

interface Form {
  readonly job: Draft;
  readonly study: StudyDraft;
}

export const studyStarts = new LastingAct<Form, { readonly id: string }, UploadProgress>();

onOtherPerson(session.state, () => studyStarts.forget());

/** Starts the study, unless one is being started. The forms are empty afterwards, if nothing was changed meanwhile. */
export function startStudy(form: Form, offers: readonly ValueOffer[]): void {
  const { job, study } = form;
  studyStarts.begin(
    form,
    async (signal, onUpload) => {
      const isVaried = (key: string) => study.varied.some(({ name }) => name === key);
      const same = { ...job, variables: job.variables.filter(({ key }) => !isVaried(key)) };
      const wanted = offers.flatMap((offer) => {
        const take = study.wanted[offer.key];
        return take === undefined ? [] : [[offer, take] as const];
      });
      const typed = study.rules.flatMap((rule) => ruleOf(rule) ?? []);
      const names = job.variables.map(({ key }) => key);
      const request = {
        ...(await jobOf(same, (file) => contentOf(file, signal))),
        name: study.name.trim(),
        ...requestOf(study, baseOf(study.varied, job.variables)),
        values: rulesOf(wanted, typed, names),
        reuse: study.reuse,
        bundle: study.bundle,
      };
      return patientHub.createStudy(request, { signal, onUpload });
    },
    () => {
      if (draftStore.get() !== job || studyStore.get() !== study) return;
      draftStore.set(EMPTY_DRAFT);
      studyStore.set(EMPTY_STUDY);
    },
  );
}
