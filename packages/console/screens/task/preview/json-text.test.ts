import { expect, it, vi } from 'vitest';

vi.mock('../../../base/preference-store.js', () => ({}));
const { shownOf } = await import('./json-text.js');

it('indents JSON and keeps its numbers as they are written', () => {
  const text = '{"a":[1.50,{"b":"x, {y}: \\"z\\""}],"c":{},"d":[],"long":12345678901234567890}';
  const { text: shown, fault } = shownOf(text);
  expect(fault).toBeUndefined();
  expect(shown).toContain('    1.50,\n');
  expect(shown).toContain('"long": 12345678901234567890');
  expect(shown).toContain('"c": {},\n');
  expect(JSON.parse(shown)).toEqual(JSON.parse(text));
});

it('shows what is not JSON as it is, and says where it ends being JSON', () => {
  const { text, fault } = shownOf('{"mass": NaN}');
  expect(text).toBe('{"mass": NaN}');
  expect(fault).toContain('NaN');
});

it('cuts what is long', () => {
  const { text, isCut } = shownOf(JSON.stringify('x'.repeat(600_000)));
  expect(isCut).toBe(true);
  expect(text.length).toBe(512 * 1024);
});
