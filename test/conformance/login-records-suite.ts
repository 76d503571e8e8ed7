import type { LoginRecords } from '@workbench-hub/hub/core/ports/login-records';
import type { ManualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';

export interface LoginRecordsUnderTest {
  readonly records: LoginRecords;
  /** Those of another hub of the store, or the same. */
  readonly others: LoginRecords;
  /** Drives the clock of the store. */
  readonly runtime: ManualRuntime;
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;

export function describeLoginRecords(open: () => Promise<LoginRecordsUnderTest>): void {
  let opened: LoginRecordsUnderTest;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.close());

  /** Attempts at each hub in turn; resolves with their delays. */
  async function begin(times: number, key: string): Promise<number[]> {
    const delays: number[] = [];
    for (let at = 0; at < times; at++) {
      delays.push(await (at % 2 === 0 ? opened.records : opened.others).begin(key));
    }
    return delays;
  }

  it('count ten attempts of a key, of all hubs, and say when one may begin again', async () => {
    const { records, others, runtime } = opened;
    expect(await records.delayMs('anna')).toBe(0);
    await begin(1, 'anna');
    await runtime.advance(MINUTE_MS);
    expect(await begin(9, 'anna')).toEqual(Array(9).fill(0));
    expect(await others.delayMs('anna')).toBe(4 * MINUTE_MS);
    expect(await begin(2, 'anna')).toEqual([4 * MINUTE_MS, 4 * MINUTE_MS]);
    expect(await records.delayMs('ben')).toBe(0);
    await runtime.advance(4 * MINUTE_MS - 1);
    expect(await records.begin('anna')).toBe(1);
    await runtime.advance(1);
    expect(await others.begin('anna')).toBe(0);
    expect(await records.begin('anna')).toBe(MINUTE_MS);
  });

  it('count ten of simultaneous attempts', async () => {
    const { records, others } = opened;
    const delays = await Promise.all(
      Array.from({ length: 30 }, (_, at) => (at % 2 === 0 ? records : others).begin('anna')),
    );
    expect(delays.filter((delay) => delay === 0)).toHaveLength(10);
  });

  it('forget the attempts of a key after a login', async () => {
    const { records, others } = opened;
    await begin(10, 'anna');
    await begin(10, 'ben');
    await records.succeeded('anna', '192.0.2.1', ['anna', 'never tried']);
    expect(await others.delayMs('anna')).toBe(0);
    expect(await others.delayMs('ben')).toBeGreaterThan(0);
  });

  it('remember the location of a login for twelve hours', async () => {
    const { records, others, runtime } = opened;
    await records.succeeded('anna', '192.0.2.1', []);
    expect(await others.isKnown('anna', '192.0.2.1')).toBe(true);
    expect(await others.isKnown('anna', '192.0.2.2')).toBe(false);
    expect(await others.isKnown('ben', '192.0.2.1')).toBe(false);
    await runtime.advance(12 * 60 * MINUTE_MS - 1);
    expect(await records.isKnown('anna', '192.0.2.1')).toBe(true);
    await runtime.advance(1);
    expect(await records.isKnown('anna', '192.0.2.1')).toBe(false);
  });

  it('remember the twenty latest locations of a user', async () => {
    const { records, others, runtime } = opened;
    for (let at = 1; at <= 20; at++) {
      await records.succeeded('anna', `192.0.2.${at}`, []);
      await runtime.advance(1);
    }
    await records.succeeded('anna', '192.0.2.1', []);
    await runtime.advance(1);
    await others.succeeded('anna', '192.0.2.99', []);
    expect(await records.isKnown('anna', '192.0.2.2')).toBe(false);
    for (const at of [1, 3, 20, 99]) expect(await records.isKnown('anna', `192.0.2.${at}`)).toBe(true);
  });

  it('keep after a sweep what counts', async () => {
    const { records, others, runtime } = opened;
    await begin(10, 'old');
    await records.succeeded('old', '192.0.2.1', []);
    await runtime.advance(12 * 60 * MINUTE_MS);
    await begin(10, 'anna');
    await records.succeeded('anna', '192.0.2.1', []);
    await others.sweep();
    expect(await records.delayMs('old')).toBe(0);
    expect(await records.delayMs('anna')).toBe(5 * MINUTE_MS);
    expect(await records.isKnown('anna', '192.0.2.1')).toBe(true);
  });

  it('take any name', async () => {
    const { records } = opened;
    const name = `\u0000 'x' ${'long '.repeat(5000)}`;
    expect(await records.begin(name)).toBe(0);
    await records.succeeded(name, '', [name]);
    expect(await records.isKnown(name, '')).toBe(true);
  });
}
