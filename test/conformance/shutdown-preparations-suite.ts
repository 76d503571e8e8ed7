import type { ShutdownPreparations } from '@workbench-hub/hub/core/ports/shutdown-preparations';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

export interface PreparationsUnderTest {
  readonly preparations: ShutdownPreparations;
  close(): Promise<void>;
}

export function describeShutdownPreparations(open: () => Promise<PreparationsUnderTest>): void {
  let opened: PreparationsUnderTest;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.close());

  describe('a shutdown preparation', () => {
    it('keeps its first time until it ends', async () => {
      const { preparations } = opened;
      expect(await preparations.read()).toEqual({ HUB: null, CLUSTER: null });
      expect(await preparations.change('HUB', 5)).toEqual({ HUB: 5, CLUSTER: null });
      expect(await preparations.change('HUB', 9)).toEqual({ HUB: 5, CLUSTER: null });
      expect(await preparations.read()).toEqual({ HUB: 5, CLUSTER: null });
      expect(await preparations.change('HUB', null)).toEqual({ HUB: null, CLUSTER: null });
      expect(await preparations.change('HUB', 9)).toEqual({ HUB: 9, CLUSTER: null });
    });

    it('of all hubs is independent of that of one', async () => {
      const { preparations } = opened;
      await preparations.change('CLUSTER', 5);
      expect(await preparations.change('HUB', 7)).toEqual({ HUB: 7, CLUSTER: 5 });
      expect(await preparations.change('CLUSTER', null)).toEqual({ HUB: 7, CLUSTER: null });
    });
  });
}
