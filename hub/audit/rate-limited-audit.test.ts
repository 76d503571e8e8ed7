import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AuditEntry } from '../core/ports/audit.js';
import { entry } from './fixtures/entries.js';
import { rateLimitedAudit } from './rate-limited-audit.js';

let recorded: AuditEntry[];
let runtime: ReturnType<typeof manualRuntime>;
let trail: ReturnType<typeof rateLimitedAudit>;
beforeEach(() => {
  recorded = [];
  runtime = manualRuntime();
  trail = rateLimitedAudit({ record: (taken) => recorded.push(taken) }, runtime);
});

const refusal = (address: string) =>
  entry(0, { user: null, by: null, outcome: 'REFUSED', status: 401, address });

describe('the rate-limited audit', () => {
  it('records everything that succeeds', () => {
    for (let n = 0; n < 500; n++) {
      trail.record(entry(n));
      trail.record(entry(n, { user: null, by: null }));
    }
    expect(recorded).toHaveLength(1000);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('counts equal refusals and failures of a known caller beyond the tenth of a minute', async () => {
    const refused = (n: number, rest: Partial<AuditEntry> = {}) =>
      entry(n, { user: 'vera', outcome: 'REFUSED', status: 403, ...rest });
    for (let n = 0; n < 1000; n++) trail.record(refused(n));
    for (let n = 0; n < 1000; n++) trail.record(refused(n, { outcome: 'FAILED', status: 404 }));
    trail.record(refused(0, { action: 'another' }));
    trail.record(refused(0, { user: 'ulla' }));
    expect(recorded).toHaveLength(22);
    await runtime.advance(60_000);
    const { action } = entry(0);
    expect(recorded.slice(22)).toEqual(
      (['REFUSED', 'FAILED'] as const).map((outcome) =>
        expect.objectContaining({
          user: 'vera',
          by: 'SESSION',
          address: '10.0.0.17',
          action: 'MORE_REFUSALS',
          resource: action,
          outcome,
          detail: '990 more within 60 s',
        }),
      ),
    );
    trail.record(refused(0));
    expect(recorded).toHaveLength(25);
  });

  it('is not misled by many actions, kinds of access or callers', async () => {
    for (let n = 0; n < 1000; n++) {
      for (const by of ['SESSION', 'PERSONAL_TOKEN'] as const) {
        trail.record(entry(n, { by, outcome: 'FAILED', action: `action ${n}` }));
      }
    }
    expect(recorded).toHaveLength(60);
    for (let n = 0; n < 6000; n++) trail.record(entry(n, { outcome: 'REFUSED', user: `user ${n}` }));
    expect(recorded).toHaveLength(60 + 4000);
    trail.flush();
    expect(recorded.find(({ resource }) => resource === 'any')).toMatchObject({
      user: null,
      by: null,
      outcome: 'REFUSED',
      detail: '2000 more within 60 s',
    });
  });

  it('keeps refused attempts of administrators with their changes', async () => {
    const kinds: (boolean | undefined)[] = [];
    trail = rateLimitedAudit({ record: (_, isAdministrators) => kinds.push(isAdministrators) }, runtime);
    for (let n = 0; n < 20; n++) trail.record(entry(n, { outcome: 'FAILED' }), true);
    trail.flush();
    expect(kinds).toEqual(Array(11).fill(true));
  });

  it('counts the refusals of an unknown caller beyond the twentieth of a minute', async () => {
    for (let n = 0; n < 1000; n++) trail.record(refusal('10.0.0.66'));
    trail.record(refusal('10.0.0.17'));
    expect(recorded).toHaveLength(21);
    await runtime.advance(60_000);
    expect(recorded.slice(21)).toEqual([
      expect.objectContaining({
        action: 'MORE_REFUSALS',
        address: '10.0.0.66',
        detail: '980 more within 60 s, from 2 addresses; most from this one',
      }),
    ]);
    trail.record(refusal('10.0.0.66'));
    expect(recorded).toHaveLength(23);
  });

  it('is not misled by many addresses', () => {
    for (let n = 0; n < 5000; n++) trail.record(refusal(`2001:db8::${n.toString(16)}`));
    expect(recorded).toHaveLength(200);
    trail.flush();
    expect(recorded[200]?.detail).toMatch(/^4800 more within 60 s, from 1001 addresses/);
  });

  it('does not count refusals that have entries of their own', async () => {
    trail.record(refusal('10.0.0.17'));
    await runtime.advance(60_000);
    expect(recorded).toHaveLength(1);
  });
});
