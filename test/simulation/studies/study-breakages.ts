/** Defects of studies, each of which the worlds with studies must find. */
import type { Studies } from '@workbench-hub/hub/core/ports/studies';
import type { Breakage } from '../breakages/breakage.js';

const studiesWith =
  (change: (studies: Studies) => Partial<Studies>): NonNullable<Breakage['hub']> =>
  ({ studies }) => ({ studies: { ...studies, ...change(studies) } });

export const STUDY_BREAKAGES: readonly Breakage[] = [
  {
    name: '201 before the study is durable',
    seed: 33,
    hub: studiesWith(({ create }) => ({
      create: (study) => {
        create(study).catch(() => undefined);
        return Promise.resolve(true);
      },
    })),
  },
  {
    name: 'points to be tried again never are',
    seed: 9,
    hub: studiesWith(() => ({ due: () => Promise.resolve([]) })),
  },
  {
    name: 'a hub that starts does not look after the studies of the one before',
    seed: 1,
    hub: ({ studies }) => {
      const own = new Set<string>();
      return {
        studies: {
          ...studies,
          create: (study) => {
            own.add(study.id);
            return studies.create(study);
          },
          active: async () => (await studies.active()).filter(({ id }) => own.has(id)),
        },
      };
    },
  },
  {
    name: 'a study has finished though points have no outcome',
    seed: 1,
    hub: studiesWith(({ setState, open }) => ({
      open: async (id, limit) => {
        const found = await open(id, limit);
        if (found.length !== 1) return found;
        await setState(id, ['RUNNING'], 'FINISHED', { atMs: 0, message: null });
        return [];
      },
    })),
  },
  {
    name: 'a point that failed or was canceled counts as finished',
    seed: 1,
    hub: studiesWith(({ end }) => ({
      end: (id, ended) =>
        end(
          id,
          ended.map((point) => ({ ...point, outcome: 'FINISHED', cause: null })),
        ),
    })),
  },
  {
    name: 'the result of another point is reused',
    seed: 17,
    hub: studiesWith(({ begin }) => ({
      begin: (id, begunCount, points) => {
        const [first] = points.flatMap(({ end }) => end ?? []);
        return begin(
          id,
          begunCount,
          points.map((point) => (point.end && first ? { ...point, end: first } : point)),
        );
      },
    })),
  },
  {
    name: 'points that their bundle has not run count as finished',
    seed: 40,
    hub: studiesWith(({ open, end }) => ({
      unbundle: async (id, bundle) => {
        const left = (await open(id, 1000)).filter((point) => point.bundle === bundle);
        const none = { cause: null, message: null, values: [], source: null, startedAtMs: null };
        const finished = { outcome: 'FINISHED', ...none, endedAtMs: 0 } as const;
        await end(
          id,
          left.map(({ number, tries }) => ({ number, tries, ...finished })),
        );
      },
    })),
  },
  {
    name: 'points of a bundle have the outcome of the first of them',
    seed: 37,
    hub: studiesWith(({ end }) => ({
      end: (id, ended) => {
        const [first] = ended;
        return end(id, first ? ended.map(({ number, tries }) => ({ ...first, number, tries })) : ended);
      },
    })),
  },
];
