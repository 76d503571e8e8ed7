import type { Hub, TaskFilter } from '@workbench-hub/client';
import { describe, expect, it } from 'vitest';
import { UsageError } from './exit-codes.js';
import { wholeId } from './task-ids.js';

const IDS = ['01a203bb-91c8-77a8-ba09-430317dc43d6', '01a203bb-9f02-76a4-9aaf-110f2026c241'];

/** A hub with these tasks. */
function hub(asked: string[] = []): Hub {
  const window = async ({ id = '' }: TaskFilter) => {
    asked.push(id);
    const pattern = new RegExp(`^${id.replaceAll('*', '.*')}$`);
    return { tasks: IDS.filter((each) => pattern.test(each)).map((each) => ({ id: each })) };
  };
  return { window } as unknown as Hub;
}

describe('the id of a task', () => {
  it.each([
    ['01a203bb-91', IDS[0]],
    ['430317dc43d6', IDS[0]],
    ['2026C241', IDS[1]],
    ['…2026c241', IDS[1]],
    ['01a203bb-9f02...', IDS[1]],
  ])('is found by %s', async (part, id) => {
    expect(await wholeId(hub(), part)).toBe(id);
  });

  it('is not searched for when it is whole, or can be none', async () => {
    const asked: string[] = [];
    for (const given of [IDS[0] as string, 'none', '01', 'a*b*'])
      expect(await wholeId(hub(asked), given)).toBe(given);
    expect(asked).toEqual([]);
  });

  it('stays as it is when nothing matches', async () => {
    expect(await wholeId(hub(), 'abcdef')).toBe('abcdef');
  });

  it('is refused when it is a part of several', async () => {
    await expect(wholeId(hub(), '01a203bb')).rejects.toThrow(UsageError);
    await expect(wholeId(hub(), '01a203bb')).rejects.toThrow(/several tasks: 01a203bb-91c8.*, 01a203bb-9f02/);
  });
});
