import { describe, expect, it } from 'vitest';
import { fromStored, toStored } from './stored-text.js';

describe('stored texts', () => {
  it.each(['', 'plain', '\0', 'a\0b\0', '\uFDD0', '\uFDD00', '\uFDD0\0', '\uFDD01\0\uFDD0', '🚀'])(
    'have no NUL, and are read as they were: %j',
    (text) => {
      const stored = toStored(text) as string;
      expect(stored).not.toContain('\0');
      expect(fromStored(stored)).toBe(text);
    },
  );

  it('are changed within arrays, rows and JSON, where other values stay', () => {
    const row = { list: ['\0', null, 7], json: { of: ['\uFDD0', true] }, bytes: Buffer.from('a') };
    expect(toStored(['\0', null, 7])).toEqual(['\uFDD00', null, 7]);
    const stored = { list: ['\uFDD00', null, 7], json: { of: ['\uFDD01', true] }, bytes: row.bytes };
    expect(fromStored(stored)).toEqual(row);
  });
});
