import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { expect, it } from 'vitest';
import { type PlannedRecipe, type RecipeToPlan, roomByUser } from '../../core/hosts/plan.js';
import { readWaitingWork } from './waiting-work.js';

const GROUPS = 250;
const HOUR_MS = 3_600_000;

const recipe: RecipeToPlan = {
  name: 'gears',
  wallTimeMs: 24 * HOUR_MS,
  drainBeforeMs: 0,
  limits: {
    ...{ allocations: 9, queued: 9, hostHoursPerDay: null },
    perUser: { allocations: null, hostHoursPerDay: 48 },
  },
  instances: [{ instanceClass: { version: '1', labels: [] }, count: 1, ids: ['sim-1'] }],
};

/** Users of the groups that are considered: all tasks of a group are of one. */
async function usersConsidered(userOf: (groupId: number) => string, hostHoursOf: Map<string, number>) {
  const planned: PlannedRecipe = {
    ...{ recipe, allocations: [], starting: new Map(), isHeld: false, isTried: false },
    ...{ hostHours: 0, hostHoursOf },
  };
  const groups = await readWaitingWork([recipe], {
    queue: {
      waitingGroups: async () => ({
        groups: Array.from({ length: GROUPS }, (_, at) => ({
          groupId: at + 1,
          requirementKey: requirementKey({ version: `1${'*'.repeat(at + 1)}`, labels: [] }),
        })),
        nextAfterGroupId: null,
      }),
      countByCreator: async (groupId) => new Map([[userOf(groupId), 1]]),
      countWithin: async () => 0,
    },
    ends: { expectedMs: () => 0, medianMs: () => null, alsoFor: () => undefined },
    hasRoom: roomByUser([planned]),
  });
  return groups.map(({ forUser }) => forUser);
}

it('requirements whose users get no more hosts do not keep out those of others', async () => {
  const ofVera = (groupId: number) => (groupId === GROUPS ? 'vera' : 'anna');
  const used = await usersConsidered(ofVera, new Map([['anna', 48]]));
  expect(used.filter((user) => user === 'vera')).toHaveLength(1);
  expect(used).toHaveLength(GROUPS);
});

it('200 requirements are considered of users that may get more', async () => {
  expect(await usersConsidered(() => 'anna', new Map())).toHaveLength(200);
});
