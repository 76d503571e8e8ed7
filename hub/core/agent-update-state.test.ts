import { UNKNOWN_INSTALLATION } from '@workbench-hub/shared/domain/installation';
import { describe, expect, it } from 'vitest';
import type { RolloutMember } from './agent-rollout.js';
import { updateStateOf } from './agent-update-state.js';

const MEMBER: RolloutMember = {
  ...{ agentId: 'host-1', group: 0, progress: 'FAILED', running: '0.1.0-aa', log: 'a long text' },
  ...{ reason: 'it ended with exit code 1', changedAtMs: 7 },
};
const told = (kind: 'FILE' | 'DEBIAN' | null, version = '0.1.0') => ({
  version,
  installation: { ...UNKNOWN_INSTALLATION, kind },
});
const progressOf = (agent: ReturnType<typeof told>) => updateStateOf(agent, undefined, '0.2.0')?.progress;

describe('the update state of an agent', () => {
  it('is that of the rollout, without what the failed version has printed', () => {
    expect(updateStateOf(told('FILE'), MEMBER, '0.2.0')).toEqual({
      ...{ progress: 'FAILED', version: '0.2.0', running: '0.1.0-aa', changedAtMs: 7 },
      reason: 'it ended with exit code 1',
    });
  });

  it('is what its installation and its version say where no rollout has it', () => {
    expect(progressOf(told('DEBIAN'))).toBe('UNABLE');
    expect(progressOf(told('DEBIAN', '0.2.0'))).toBe('UNABLE');
    expect(progressOf(told('FILE'))).toBe('UNKNOWN');
    expect(progressOf(told('FILE', '0.2.0'))).toBe('DONE');
    expect(progressOf(told(null))).toBeUndefined();
  });
});
