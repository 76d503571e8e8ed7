import { describe, expect, it } from 'vitest';
import { attemptProofs } from './attempt-proofs.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim-1' };
const proofs = attemptProofs(Buffer.alloc(32, 1));

describe('the proof of an assignment', () => {
  const proof = proofs.of(REF, 'agent-1');

  it('holds for its attempt and agent, at each hub with the same storage key', () => {
    expect(proof).toMatch(/^[\w-]{43}$/);
    expect(proofs.holds(proof, REF, 'agent-1')).toBe(true);
    expect(attemptProofs(Buffer.alloc(32, 1)).holds(proof, REF, 'agent-1')).toBe(true);
  });

  it('holds for no other attempt, agent or storage key', () => {
    const others = [
      [{ ...REF, taskId: '019c0000-0000-7000-8000-000000000002' }, 'agent-1'],
      [{ ...REF, attempt: 2 }, 'agent-1'],
      [{ ...REF, instanceId: 'sim-2' }, 'agent-1'],
      [{ ...REF, instanceId: 'sim-1","agent-1' }, ''],
      [REF, 'agent-2'],
    ] as const;
    for (const [ref, agentId] of others) expect(proofs.holds(proof, ref, agentId)).toBe(false);
    expect(attemptProofs(Buffer.alloc(32, 2)).holds(proof, REF, 'agent-1')).toBe(false);
  });

  it.each(['', 'x', 'A'.repeat(43), 'A'.repeat(1000)])('is not %j', (made) => {
    expect(proofs.holds(made, REF, 'agent-1')).toBe(false);
  });
});
